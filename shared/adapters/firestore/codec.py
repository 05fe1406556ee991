"""Dataclasses to Firestore documents and back. The dataclass is the schema; pydantic does the parsing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from shared.ports import Kind

T = TypeVar("T")


@cache
def _adapter(record_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(record_type)


@cache
def _names(record_type: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record_type) if field.name != "id")


def _type(kind: Kind[Any]) -> Any:
    return kind.type


def encode(kind: Kind[T], record: T) -> dict[str, Any]:
    """The document of a record: its fields without `id`, which is the document's name."""
    dumped: dict[str, Any] = _adapter(_type(kind)).dump_python(record)
    return {name: dumped[name] for name in _names(_type(kind))}


def decode(kind: Kind[T], record_id: str, document: Mapping[str, Any]) -> T:
    """Parses a document. Fields that the type does not know are passed over: an older release still reads
    what a newer one wrote."""
    known = {name: document[name] for name in _names(_type(kind)) if name in document}
    parsed: T = _adapter(_type(kind)).validate_python({"id": record_id, **known})
    return parsed


def estimate_size(value: Any) -> int:
    """Bytes of a value in a commit, roughly and rather too many: for splitting commits below their limit."""
    if isinstance(value, bytes):
        return len(value) + 8
    if isinstance(value, str):
        return 3 * len(value) + 8 if not value.isascii() else len(value) + 8
    if isinstance(value, dict):
        return 16 + sum(len(str(key)) * 3 + 8 + estimate_size(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return 16 + sum(estimate_size(item) for item in value)
    return 16
