"""The description of the API, as it is served."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from shared.http.api.meta import openapi_text
from shared.http.api.routes import ROUTES as API
from shared.http.chat.routes import ROUTES as CHAT
from shared.http.docs import PAGE, POLICY

ROUTES = {(route.method, route.path): route for route in (*API, *CHAT)}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openapi_text())
    return found


def test_every_route_is_described(document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, ops in document["paths"].items() for method in ops}
    assert described == {(method, re.sub(r":\w+}", "}", path)) for method, path in ROUTES}


def test_it_is_valid_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    validate(document)  # against the specification's schema, references included


def test_every_path_parameter_is_declared(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            declared = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert declared == set(re.findall(r"\{(\w+)\}", path)), path


def test_every_answer_and_every_body_has_a_model(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path in {"/openapi.json", "/docs"}:
                continue
            answers = {status: a for status, a in operation["responses"].items() if status != "default"}
            for status, answer in answers.items():
                assert ("content" in answer) == (status != "204"), (method, path, status)
            if method in {"put", "patch"}:
                assert "requestBody" in operation, (method, path)


def test_bodies_refuse_unknown_fields(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for operations in document["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                name = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
                assert schemas[name]["additionalProperties"] is False, name


def test_the_contract_of_a_document(document: dict[str, Any]) -> None:
    names = set(document["components"]["schemas"]["DocumentView"]["properties"])
    assert names >= {
        "id", "knowledge_base_id", "title", "source", "status", "progress", "attempts", "error", "coverage",
        "sha256", "text_sha256", "bytes", "characters", "version", "duplicate_of", "refresh_interval_days",
        "last_refreshed_at", "next_refresh_at", "last_refresh", "archived", "effective_from", "effective_to",
        "supersedes",
    }  # fmt: skip


def test_the_page_needs_nothing_from_elsewhere() -> None:
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", PAGE)
    assert POLICY.startswith("default-src 'none'")
    assert "unsafe" not in POLICY
