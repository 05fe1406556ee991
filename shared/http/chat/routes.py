"""Every route of the `chat` function."""

from __future__ import annotations

from shared.http.chat import agents, chat, mcp, preview, retrieve, spaces, stream, threads
from shared.http.health import HEALTH
from shared.http.routes import AnyRoute

ROUTES: tuple[AnyRoute, ...] = (
    HEALTH,
    *chat.ROUTES,
    *stream.ROUTES,
    *retrieve.ROUTES,
    *agents.ROUTES,
    *preview.ROUTES,
    *spaces.ROUTES,
    *threads.ROUTES,
    *mcp.ROUTES,
)
