"""The management API: accounts, knowledge bases, documents, records."""

from __future__ import annotations

from functools import cache

import flask
import functions_framework

from shared.http.api.routes import ROUTES
from shared.http.app import HttpApp, app_for
from shared.wiring import Container, container


@cache
def _app() -> HttpApp[Container]:
    return app_for(ROUTES, container())


@functions_framework.http
def main(request: flask.Request) -> flask.Response:
    return _app()(request)
