"""Order and equality of values: one Python key a value, compared as tuples.

Types order as documented (https://firebase.google.com/docs/firestore/manage-data/data-types): null, boolean,
number, timestamp, string, bytes, reference, geographical point, array, vector, map.
"""

from __future__ import annotations

import math
from typing import Any

from emulators.firestore.names import path_key, segment_key

NULL, BOOLEAN, NUMBER, TIMESTAMP, STRING, BYTES, REFERENCE, GEO_POINT, ARRAY, VECTOR, MAP = range(11)

Key = tuple[Any, ...]
"""(type, content). Keys of equal types compare by content; a type decides before content is looked at."""

NULL_KEY: Key = (NULL,)
NAN_KEY: Key = (NUMBER, 0, 0)
_NOT_NAN = 1


def key_of(value: Any) -> Key:
    """The key of a `google.firestore.v1.Value`."""
    return _KEYS[value.WhichOneof("value_type") or "null_value"](value)


def is_vector(value: Any) -> bool:
    if value.WhichOneof("value_type") != "map_value":
        return False
    fields = value.map_value.fields
    return "__type__" in fields and fields["__type__"].string_value == "__vector__"


def vector_of(value: Any) -> tuple[float, ...]:
    """The components of a vector value."""
    return tuple(_component(item) for item in value.map_value.fields["value"].array_value.values)


def reference_key(path: str) -> Key:
    """The key of a document's own name, and of references into the same database."""
    return (REFERENCE, *path_key(path))


def _component(item: Any) -> float:
    return item.double_value if item.WhichOneof("value_type") == "double_value" else float(item.integer_value)


def _number(number: float) -> Key:
    # Python compares int with float exactly, so 2**53 and 2.0**53 + 1 order as they should; -0.0 equals 0.
    return NAN_KEY if math.isnan(number) else (NUMBER, _NOT_NAN, number)


def _map(value: Any) -> Key:
    if is_vector(value):
        numbers = tuple(_number(item) for item in vector_of(value))
        return (VECTOR, len(numbers), numbers)
    fields = value.map_value.fields
    return (MAP, tuple((name, key_of(fields[name])) for name in sorted(fields)))


_KEYS = {
    "null_value": lambda _: NULL_KEY,
    "boolean_value": lambda v: (BOOLEAN, v.boolean_value),
    "integer_value": lambda v: (NUMBER, _NOT_NAN, v.integer_value),
    "double_value": lambda v: _number(v.double_value),
    "timestamp_value": lambda v: (TIMESTAMP, v.timestamp_value.seconds, v.timestamp_value.nanos),
    "string_value": lambda v: (STRING, v.string_value),
    "bytes_value": lambda v: (BYTES, v.bytes_value),
    "reference_value": lambda v: (REFERENCE, *map(segment_key, v.reference_value.split("/"))),
    "geo_point_value": lambda v: (GEO_POINT, v.geo_point_value.latitude, v.geo_point_value.longitude),
    "array_value": lambda v: (ARRAY, tuple(key_of(item) for item in v.array_value.values)),
    "map_value": _map,
}
