"""Values that fit a JSON schema, for answers that are to have a shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulators.models.http import Refused

_PLAIN: Mapping[str, Any] = {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "null": None}


def example_of(schema: Mapping[str, Any]) -> Any:
    """The simplest value with something in every part. Refuses what the API refuses."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        if schema.get("additionalProperties") is not False:
            raise Refused(400, "output_config.format.schema: additionalProperties must be false")
        return {name: example_of(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [example_of(schema["items"])]
    if kind not in _PLAIN:
        raise Refused(400, f"output_config.format.schema: type {kind!r} is not supported")
    return _PLAIN[kind]
