"""Metadata, times and form values as they come in: flat, typed, bounded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

_INT64 = 2**63


def _in_utc(given: datetime) -> datetime:
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be between the years 1 and 9999 in UTC, too") from None


# A time with its zone, shown and kept in UTC.
Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]


def _not_reserved(name: str) -> str:
    if name.startswith("__"):
        raise ValueError("must not begin with two underscores")
    return name


def _printable(name: str) -> str:
    if not name.isprintable() or name != name.strip():
        raise ValueError("must be printable, without spaces at its ends")
    return _not_reserved(name)


def _from_text(value: Any) -> Any:
    """A form's field is text: the JSON in it."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be a JSON object") from None


def _fits(value: Any) -> Any:
    """A larger whole number would be kept as a fraction, and come back as another number."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise ValueError("must be between -2^63 and 2^63 - 1")
    return value


# Booleans first: in Python they are whole numbers too.
_Scalar = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
)


MetadataKey = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"), AfterValidator(_not_reserved)
]
_MetadataValue = Annotated[
    _Scalar | Annotated[str, Field(strict=True, max_length=1_000)], BeforeValidator(_fits)
]
Metadata = Annotated[dict[MetadataKey, _MetadataValue], Field(max_length=64)]
MetadataText = Annotated[Metadata, BeforeValidator(_from_text)]

FormKey = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_printable)]
_FormValue = Annotated[
    _Scalar | Annotated[str, Field(strict=True, max_length=10_000)], BeforeValidator(_fits)
]
FormValues = Annotated[dict[FormKey, _FormValue], Field(min_length=1, max_length=100)]
