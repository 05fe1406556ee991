"""The management API: accounts, knowledge bases, documents, records."""

from __future__ import annotations

import os
from functools import cache

import flask
import functions_framework

from shared.http.api.routes import ROUTES
from shared.http.app import HttpApp, app_for
from shared.settings import refuse_emulators
from shared.wiring import Container, container

# A revision that was told of an emulator must not even start: the one before keeps serving.
refuse_emulators(os.environ)


@cache
def _app() -> HttpApp[Container]:
    return app_for(ROUTES, container())


@functions_framework.http
def main(request: flask.Request) -> flask.Response:
    return _app()(request)
