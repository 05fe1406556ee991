"""The OpenAPI 3.1 document of a route table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from shared.http.callers import ACCOUNT_HEADER, ACTING_HEADER
from shared.http.idempotency import HEADER
from shared.http.models import ActingAs, Problem
from shared.http.problems import MEDIA_TYPE
from shared.http.routes import AnyRoute, path_template

VERSION = "1.0.0"
_REF = "#/components/schemas/{model}"

Schema = dict[str, Any]
_Key = tuple[type[Any], JsonSchemaMode]


def document(routes: Sequence[AnyRoute]) -> dict[str, Any]:
    """The whole document. Raises `ValueError` when two routes share a name."""
    refs, definitions = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    names: set[str] = set()
    for route in routes:
        operation = _operation(route, refs)
        if operation["operationId"] in names:
            raise ValueError(f"Two routes are called {operation['operationId']}")
        names.add(operation["operationId"])
        paths.setdefault(path_template(route.path), {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Almanac",
            "version": VERSION,
            "summary": "Knowledge bases that agents really use.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `alm_…`, or an ID token of Firebase Authentication.",
                }
            },
        },
    }


def _models(route: AnyRoute) -> Iterable[_Key]:
    if route.body is not None:
        yield route.body, "validation"
    for _, model in _answers(route):
        if model is not None:
            yield model, "serialization"


def _answers(route: AnyRoute) -> tuple[tuple[int, type[BaseModel] | None], ...]:
    return ((route.status, route.response), *route.also)


def _schemas(routes: Sequence[AnyRoute]) -> tuple[dict[_Key, Schema], dict[str, Schema]]:
    wanted: dict[_Key, None] = {(Problem, "serialization"): None}
    for route in routes:
        wanted |= dict.fromkeys(_models(route))
    refs, schema = models_json_schema(list(wanted), ref_template=_REF)
    return dict(refs), schema.get("$defs", {})


def _operation(route: AnyRoute, refs: dict[_Key, Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route), *_headers(route)],
        "responses": _responses(route, refs),
    }
    content = _request_content(route, refs)
    if content:
        operation["requestBody"] = {"content": content, "required": True}
    if route.permission is not None:
        operation["description"] = f"Needs the permission `{route.permission.value}`."
    if route.public:
        operation["security"] = []
    return operation


def _path_parameters(route: AnyRoute) -> Iterable[Schema]:
    for name in route.parameters:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query_parameters(route: AnyRoute) -> Iterable[Schema]:
    schema = route.query.model_json_schema(ref_template=_REF)
    nested = schema.get("$defs", {})
    for name, inner in schema.get("properties", {}).items():
        described = {key: value for key, value in inner.items() if key != "title"}
        parameter: Schema = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _inlined(described, nested),
        }
        if "description" in inner:
            parameter["description"] = inner["description"]
        yield parameter


def _inlined(schema: Any, nested: dict[str, Schema]) -> Any:
    """A small schema without references to the model that it was part of."""
    if isinstance(schema, list):
        return [_inlined(item, nested) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(nested[schema["$ref"].rsplit("/", 1)[-1]], nested)
    return {key: _inlined(value, nested) for key, value in schema.items()}


_IDEMPOTENCY: Schema = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 255},
    "description": "A repeat of the request with the same key gets the first answer.",
}
_ACCOUNT: Schema = {
    "name": ACCOUNT_HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 64},
    "description": "Which account a person with an ID token acts in; needed only by one who joined several.",
}


def _headers(route: AnyRoute) -> Iterable[Schema]:
    if route.public:
        return
    if route.writes:
        yield _IDEMPOTENCY
    yield _ACCOUNT
    yield {
        "name": ACTING_HEADER,
        "in": "header",
        "required": False,
        "content": {"application/json": {"schema": ActingAs.model_json_schema()}},
        "description": (
            "On whose behalf a key with the permission `act_as` calls, as JSON: the same as `acting_as` in a "
            "JSON body, for every request, those without a body too."
        ),
    }


def _request_content(route: AnyRoute, refs: dict[_Key, Schema]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if route.form is not None:
        form = route.form.model_json_schema(ref_template=_REF)
        fields = _inlined(form.get("properties", {}), form.get("$defs", {}))
        content["multipart/form-data"] = {
            "schema": {
                "type": "object",
                "properties": {"file": {"contentMediaType": "application/octet-stream"}, **fields},
                "required": ["file", *form.get("required", ())],
            }
        }
    if route.body is not None:
        content["application/json"] = {"schema": refs[(route.body, "validation")]}
    return content


def _responses(route: AnyRoute, refs: dict[_Key, Schema]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, model in _answers(route):
        responses[str(status)] = {"description": route.summary}
        if model is not None:
            schema = refs[(model, "serialization")]
            responses[str(status)]["content"] = {route.media_type: {"schema": schema}}
    problem = {"schema": refs[(Problem, "serialization")]}
    responses["default"] = {"description": "A problem.", "content": {MEDIA_TYPE: problem}}
    return responses
