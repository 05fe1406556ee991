"""Field transforms: server time, increment, maximum, minimum, array union and removal.

Rules: google/firestore/v1/write.proto, `DocumentTransform.FieldTransform`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.errors import invalid
from emulators.firestore.protos import Value
from emulators.firestore.times import MILLISECOND, to_timestamp
from emulators.firestore.values import NUMBER, key_of

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
MAX_TRANSFORMS = 500

_REQUEST_TIME = 1


def apply(document: Any, transform: Any, request_time: int) -> Any:
    """Changes the document as one transform says and returns its result, a `Value`."""
    path = field_paths.parse(transform.field_path)
    if path == field_paths.NAME:
        raise invalid("__name__ cannot be transformed.")
    kind = transform.WhichOneof("transform_type")
    new = _transformed(transform, kind, field_paths.get(document.fields, path), request_time)
    result = Value(null_value=0)
    if kind not in _ARRAYS:
        result.CopyFrom(new)
    field_paths.put(document.fields, path, new)
    return result


def _transformed(transform: Any, kind: str | None, old: Any | None, request_time: int) -> Any:
    """The new value of the field."""
    if kind == "set_to_server_value":
        if transform.set_to_server_value != _REQUEST_TIME:
            raise invalid("A server value transform must ask for REQUEST_TIME.")
        return Value(timestamp_value=to_timestamp(request_time // MILLISECOND * MILLISECOND))
    if kind in _NUMERIC:
        operand = getattr(transform, kind)
        if key_of(operand)[0] != NUMBER:
            raise invalid(f"The operand of {kind} must be an integer or a double.")
        is_number = old is not None and key_of(old)[0] == NUMBER
        return _NUMERIC[kind](old, operand) if is_number else operand
    if kind in _ARRAYS:
        old_items = list(old.array_value.values) if old is not None and _is_array(old) else []
        new = Value()
        new.array_value.SetInParent()
        new.array_value.values.extend(_ARRAYS[kind](old_items, getattr(transform, kind).values))
        return new
    raise invalid(f'The transform of "{transform.field_path}" says nothing to do.')


def _is_array(value: Any) -> bool:
    return bool(value.WhichOneof("value_type") == "array_value")


def _is_integer(value: Any) -> bool:
    return bool(value.WhichOneof("value_type") == "integer_value")


def _number(value: Any) -> int | float:
    return value.integer_value if _is_integer(value) else value.double_value  # type: ignore[no-any-return]


def _increment(old: Any, operand: Any) -> Any:
    if _is_integer(old) and _is_integer(operand):
        total = old.integer_value + operand.integer_value
        return Value(integer_value=min(max(total, MIN_INT64), MAX_INT64))
    return Value(double_value=float(_number(old)) + float(_number(operand)))


def _extreme(old: Any, operand: Any, *, largest: bool) -> Any:
    """The stored value stays when both are equal (3 and 3.0, 0.0 and -0.0); NaN wins over any number."""
    ours, theirs = _number(old), _number(operand)
    if math.isnan(ours) or math.isnan(theirs):
        return old if math.isnan(ours) else operand
    replace = theirs > ours if largest else theirs < ours
    return operand if replace else old


def _union(old: list[Any], given: Any) -> list[Any]:
    """Appends what is missing, equal numbers of different types being equal; the first of equals counts."""
    items = list(old)
    seen = {key_of(item) for item in items}
    for item in given:
        key = key_of(item)
        if key not in seen:
            seen.add(key)
            items.append(item)
    return items


def _without(old: list[Any], given: Any) -> list[Any]:
    unwanted = {key_of(item) for item in given}
    return [item for item in old if key_of(item) not in unwanted]


_NUMERIC: dict[str, Callable[[Any, Any], Any]] = {
    "increment": _increment,
    "maximum": lambda old, operand: _extreme(old, operand, largest=True),
    "minimum": lambda old, operand: _extreme(old, operand, largest=False),
}
_ARRAYS = {"append_missing_elements": _union, "remove_all_from_array": _without}
