"""What production checks on every document that is written: size, depth, names, and what its indexes can
hold.

Limits: https://firebase.google.com/docs/firestore/quotas; sizes:
https://firebase.google.com/docs/firestore/storage-size. Values longer than 1,500 bytes in an index are an
error here, as https://cloud.google.com/firestore/docs/understand-error-codes says, not silently truncated.
"""

from __future__ import annotations

from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.errors import invalid
from emulators.firestore.fields import FieldPath
from emulators.firestore.indexes import CONTAINS, GroupIndexes, Indexes, Modes
from emulators.firestore.names import parse_document
from emulators.firestore.values import is_vector, key_of

MAX_DOCUMENT_BYTES = 1_048_576
MAX_VALUE_BYTES = 1_048_576 - 89
MAX_INDEXED_BYTES = 1_500
MAX_INDEX_ENTRIES = 40_000
MAX_DEPTH = 20
MAX_DIMENSIONS = 2_048

_NAME_OVERHEAD, _DOCUMENT_OVERHEAD = 16, 32
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""0001-01-01 to 9999-12-31, the range of `google.protobuf.Timestamp`."""

_FIXED = {"null_value": 1, "boolean_value": 1, "integer_value": 8, "double_value": 8}


class DocumentLimits:
    """`check` also cuts timestamps to microseconds, as storing does."""

    def __init__(self, indexes: Indexes, *, indexed_bytes: int | None = MAX_INDEXED_BYTES) -> None:
        self._indexes = indexes
        self._indexed_bytes = indexed_bytes

    def check(self, path: str, message: Any) -> None:
        """INVALID_ARGUMENT when the document is more than production stores."""
        group = self._indexes.group(path.split("/")[-2])
        walk = _Walk(group, self._indexed_bytes)
        size = name_size(path) + _DOCUMENT_OVERHEAD + walk.fields(message.fields, (), 0)
        if size > MAX_DOCUMENT_BYTES:
            raise invalid(
                f"Document {path} is {size} bytes, more than the maximum of {MAX_DOCUMENT_BYTES} bytes."
            )
        entries = walk.entries + _composite_entries(group, message)
        if entries > MAX_INDEX_ENTRIES:
            raise invalid(f"Document {path} has {entries} index entries, more than {MAX_INDEX_ENTRIES}.")


def name_size(path: str) -> int:
    return sum(len(segment.encode()) + 1 for segment in path.split("/")) + _NAME_OVERHEAD


class _Walk:
    """One pass over a document: adds up sizes and index entries, and checks what it meets."""

    def __init__(self, group: GroupIndexes, indexed_bytes: int | None) -> None:
        self._group = group
        self._indexed_bytes = indexed_bytes
        self.entries = 0

    def fields(self, fields: Any, path: FieldPath, depth: int) -> int:
        size = 0
        for name in fields:
            field_paths.check_name(name)
            size += len(name.encode()) + 1 + self._field(fields[name], (*path, name), depth)
        return size

    def _field(self, value: Any, path: FieldPath, depth: int) -> int:
        modes = self._group.modes(path)
        kind = value.WhichOneof("value_type")
        if kind == "map_value" and not is_vector(value):
            self._check_depth(path, depth + 1)
            return self.fields(value.map_value.fields, path, depth + 1)
        if kind == "array_value":
            return self._array(value.array_value.values, path, depth + 1, modes)
        size = self._leaf(value, kind, path, indexed=bool(modes))
        self.entries += sum(mode != CONTAINS for _, mode in modes)
        return size

    def _array(self, items: Any, path: FieldPath, depth: int, modes: Modes) -> int:
        self._check_depth(path, depth)
        scopes = sum(mode == CONTAINS for _, mode in modes)
        if scopes:
            self.entries += scopes * len({key_of(item) for item in items})
        return sum(self._element(item, path, depth, indexed=bool(scopes)) for item in items)

    def _element(self, value: Any, path: FieldPath, depth: int, *, indexed: bool) -> int:
        kind = value.WhichOneof("value_type")
        if kind == "array_value":
            raise invalid(f'The array "{field_paths.text(path)}" holds an array directly.')
        if kind == "map_value" and not is_vector(value):
            self._check_depth(path, depth + 1)
            return self._map_in_array(value.map_value.fields, path, depth + 1, indexed=indexed)
        return self._leaf(value, kind, path, indexed=indexed)

    def _map_in_array(self, fields: Any, path: FieldPath, depth: int, *, indexed: bool) -> int:
        """Fields of a map in an array have no index of their own; they are part of the element's entry."""
        size = 0
        for name in fields:
            field_paths.check_name(name)
            value = fields[name]
            size += len(name.encode()) + 1
            if value.WhichOneof("value_type") == "array_value":
                self._check_depth(path, depth + 1)
                items = value.array_value.values
                size += sum(self._element(item, path, depth + 1, indexed=indexed) for item in items)
            else:
                size += self._element(value, path, depth, indexed=indexed)
        return size

    def _leaf(self, value: Any, kind: str | None, path: FieldPath, *, indexed: bool) -> int:
        fixed = _FIXED.get(kind or "")
        if fixed is not None:
            return fixed
        measure = _MEASURES.get(kind or "")
        if measure is None:
            raise invalid(f'The field "{field_paths.text(path)}" has a value that cannot be stored: {kind}.')
        size = measure(value)
        if size > MAX_VALUE_BYTES:
            raise invalid(f'The value of "{field_paths.text(path)}" is longer than {MAX_VALUE_BYTES} bytes.')
        limit = self._indexed_bytes
        if limit is not None and indexed and kind in {"string_value", "bytes_value"}:
            length = size - 1 if kind == "string_value" else size
            if length > limit:
                text = field_paths.text(path)
                raise invalid(
                    f'The value of property "{text}" is longer than {limit} bytes.'
                    f" Exempt the field from indexing, or shorten it from {length} bytes."
                )
        return size

    def _check_depth(self, path: FieldPath, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise invalid(f'"{field_paths.text(path[:1])}" is nested deeper than {MAX_DEPTH} levels.')


def _timestamp(value: Any) -> int:
    stamp = value.timestamp_value
    if not _FIRST_SECOND <= stamp.seconds <= _LAST_SECOND or not 0 <= stamp.nanos < 10**9:
        raise invalid(f"The timestamp {stamp.seconds} s, {stamp.nanos} ns is outside the years 1 to 9999.")
    stamp.nanos -= stamp.nanos % 1_000
    return 8


def _geo_point(value: Any) -> int:
    point = value.geo_point_value
    if not (-90 <= point.latitude <= 90 and -180 <= point.longitude <= 180):
        raise invalid(f"The point ({point.latitude}, {point.longitude}) is not on Earth.")
    return 16


def _vector(value: Any) -> int:
    fields = value.map_value.fields
    numbers = fields["value"].array_value.values if set(fields) == {"__type__", "value"} else ()
    if not 1 <= len(numbers) <= MAX_DIMENSIONS:
        raise invalid(f"A vector must have 1 to {MAX_DIMENSIONS} dimensions, got {len(numbers)}.")
    if any(number.WhichOneof("value_type") not in {"double_value", "integer_value"} for number in numbers):
        raise invalid("A vector holds only numbers.")
    return 8 * len(numbers)


_MEASURES = {
    "string_value": lambda value: len(value.string_value.encode()) + 1,
    "bytes_value": lambda value: len(value.bytes_value),
    "timestamp_value": _timestamp,
    "reference_value": lambda value: name_size(parse_document(value.reference_value)[1]),
    "geo_point_value": _geo_point,
    "map_value": _vector,
}


def _composite_entries(group: GroupIndexes, message: Any) -> int:
    """A composite index has an entry for a document with all its fields; one an element of an array."""
    entries = 0
    for index in group.composite:
        count = 1
        for field in index.fields:
            value = None if field.path == field_paths.NAME else field_paths.get(message.fields, field.path)
            if field.path != field_paths.NAME and value is None:
                count = 0
                break
            if field.mode == CONTAINS and value is not None:
                count *= len({key_of(item) for item in value.array_value.values})
        entries += count
    return entries
