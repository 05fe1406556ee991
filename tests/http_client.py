"""An `HttpApp` behind Flask's test client, on every path and method as the functions framework does it."""

from __future__ import annotations

from typing import Any

from flask import Flask, request
from flask.testing import FlaskClient

from shared.http.app import HttpApp

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def client_of(app: HttpApp[Any]) -> FlaskClient:
    flask = Flask("test")

    def answer(path: str = "") -> Any:
        response = app(request)
        request.get_data()  # the framework reads what is left of the body
        return response

    flask.add_url_rule("/", "root", answer, methods=METHODS)
    flask.add_url_rule("/<path:path>", "any", answer, methods=METHODS)
    return flask.test_client()
