"""Field paths, and reading and changing values inside a document by them.

Syntax: google/firestore/v1/document.proto, "Field paths": segments joined by dots, each simple or in
backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from functools import lru_cache
from typing import Any

from emulators.firestore.errors import invalid

FieldPath = tuple[str, ...]
NAME: FieldPath = ("__name__",)

MAX_FIELD_NAME_BYTES = 1_500

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_RESERVED = re.compile(r"__.*__", re.DOTALL)
_SEGMENT = re.compile(r"`((?:[^`\\]|\\.)*)`|([A-Za-z_][A-Za-z_0-9]*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

Fields = MutableMapping[str, Any]


@lru_cache(maxsize=16_384)
def parse(path: str) -> FieldPath:
    """The segments of a field path; INVALID_ARGUMENT when it is malformed or names a reserved field."""
    if path == "__name__":
        return NAME
    segments: list[str] = []
    position = 0
    while True:
        match = _SEGMENT.match(path, position)
        if match is None:
            raise invalid(
                f'Invalid field path "{path}": a segment is neither a simple name nor in backticks.'
            )
        quoted, simple = match.groups()
        segments.append(_ESCAPE.sub(r"\1", quoted) if simple is None else simple)
        position = match.end()
        if position == len(path):
            break
        if path[position] != ".":
            raise invalid(f'Invalid field path "{path}": expected a dot at position {position}.')
        position += 1
    for segment in segments:
        check_name(segment)
    return tuple(segments)


def check_name(name: str) -> None:
    if not name:
        raise invalid("A field name must not be empty.")
    if len(name.encode()) > MAX_FIELD_NAME_BYTES:
        raise invalid(f'The field name "{name[:60]}..." is longer than {MAX_FIELD_NAME_BYTES} bytes.')
    if _RESERVED.fullmatch(name):
        raise invalid(f'The field name "{name}" is reserved: names must not match __.*__.')


def text(path: FieldPath) -> str:
    """The path as the API writes it."""
    return ".".join(
        part if _SIMPLE.fullmatch(part) else "`" + part.replace("\\", "\\\\").replace("`", "\\`") + "`"
        for part in path
    )


def get(fields: Fields, path: FieldPath) -> Any | None:
    """The value at a path, or None. Looks first: indexing a protobuf map would create a missing key."""
    for name in path[:-1]:
        if name not in fields:
            return None
        value = fields[name]
        if value.WhichOneof("value_type") != "map_value":
            return None
        fields = value.map_value.fields
    return fields.get(path[-1])


def put(fields: Fields, path: FieldPath, value: Any) -> None:
    """Sets a copy of a value; whatever stands in the way and is not a map becomes one."""
    for name in path[:-1]:
        step = fields[name]
        if step.WhichOneof("value_type") != "map_value":
            step.map_value.SetInParent()
        fields = step.map_value.fields
    fields[path[-1]].CopyFrom(value)


def remove(fields: Fields, path: FieldPath) -> None:
    for name in path[:-1]:
        if name not in fields:
            return
        value = fields[name]
        if value.WhichOneof("value_type") != "map_value":
            return
        fields = value.map_value.fields
    if path[-1] in fields:
        del fields[path[-1]]


def masked(source: Any, target: Any, paths: Iterable[FieldPath]) -> None:
    """Copies the fields at the paths of one document into another that is empty."""
    for path in paths:
        if path == NAME:
            continue
        value = get(source.fields, path)
        if value is not None:
            put(target.fields, path, value)
