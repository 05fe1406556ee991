"""Every route of the `chat` function."""

from __future__ import annotations

from shared.http.chat import chat, retrieve, stream, threads
from shared.http.health import HEALTH
from shared.http.routes import AnyRoute

ROUTES: tuple[AnyRoute, ...] = (HEALTH, *chat.ROUTES, *stream.ROUTES, *retrieve.ROUTES, *threads.ROUTES)
