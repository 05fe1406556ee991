"""The route that says whether a function runs."""

from __future__ import annotations

from typing import Any, Literal

from shared.http.models import NoParams, View
from shared.http.routes import AnyRoute, Call, Route


class Health(View):
    status: Literal["ok"] = "ok"


def get_health(_services: Any, _call: Call[None, NoParams]) -> Health:
    return Health()


HEALTH: AnyRoute = Route(
    "GET", "/health", get_health, "Whether the service runs", public=True, response=Health
)
