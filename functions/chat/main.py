"""Answering: chat, retrieve, threads, runs."""

from __future__ import annotations

from functools import cache

import flask
import functions_framework

from shared.http.app import HttpApp
from shared.http.chat.routes import ROUTES
from shared.logs import configure
from shared.tenancy.authenticate import Authenticator
from shared.wiring import Container, container


@cache
def _app() -> HttpApp[Container]:
    configure()
    deps = container()
    return HttpApp(
        ROUTES,
        deps,
        authenticate=Authenticator(deps.store, deps.clock),
        store=deps.store,
        clock=deps.clock,
    )


@functions_framework.http
def main(request: flask.Request) -> flask.Response:
    return _app()(request)
