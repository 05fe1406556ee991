"""The API about itself."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from flask import Response

from shared.http import openapi
from shared.http.docs import PAGE, POLICY
from shared.http.models import NoParams
from shared.http.routes import AnyRoute, Call, Route


@cache
def openapi_text() -> str:
    """The OpenAPI document of the whole API, all functions together."""
    from shared.http.api.routes import ROUTES as API
    from shared.http.chat.routes import ROUTES as CHAT

    described = {(route.method, route.path): route for route in (*API, *CHAT)}
    return json.dumps(openapi.document(tuple(described.values())), ensure_ascii=False)


def get_openapi(_services: Any, _call: Call[None, NoParams]) -> Response:
    return Response(openapi_text(), content_type="application/json")


def get_docs(_services: Any, _call: Call[None, NoParams]) -> Response:
    response = Response(PAGE, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = POLICY
    return response


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/openapi.json", get_openapi, "This description, OpenAPI 3.1", public=True),
    Route("GET", "/docs", get_docs, "This description as a page", public=True),
)
