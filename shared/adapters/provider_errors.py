"""What a provider's HTTP answer means to us. Both SDKs are built alike, so one mapping serves them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from shared.domain.errors import (
    ModelContentError,
    ModelOverloadedError,
    ModelRejectedError,
    ModelUnavailableError,
)

# Request time-out, conflict (the SDKs retry it too), rate limit, and everything that is the server's fault.
_PASSING = frozenset({408, 409, 429})
_OVERLOADED = frozenset({429, 503, 529})
# What depends on the content of a call and not on the deployment. OpenAI's codes come with the status 400.
_CONTENT = frozenset({400, 413, 422})
_CONTENT_HINTS = {
    "context_length_exceeded": "The text is longer than the model reads.",
    "content_filter": "The provider does not take this text.",
    "content_policy_violation": "The provider does not take this text.",
}

_HINTS = {
    400: "The provider calls the request malformed; check the model's name and limits.",
    401: "Check the provider's API key in the deployment's settings.",
    403: "Check that the provider's API key may use this model.",
    404: "Check the model's name in the deployment's settings.",
    413: "The request is larger than the provider takes.",
}


def from_status(
    provider: str, status: int, headers: Mapping[str, str], code: str | None = None
) -> ModelUnavailableError:
    """Our error for an HTTP status of 400 or more. The provider's words stay out: they may quote content."""
    message = f"{provider} answered with HTTP status {status}."
    if code == "insufficient_quota":  # a 429 by its status, but waiting does not fill the account
        return ModelRejectedError(message, hint="The provider's account is out of credit.")
    if status in _OVERLOADED:
        return ModelOverloadedError(message, retry_after=retry_after(headers))
    if status in _PASSING or status >= 500:
        return ModelUnavailableError(message, retry_after=retry_after(headers))
    if status in _CONTENT:
        return ModelContentError(message, hint=_CONTENT_HINTS.get(code or "", _HINTS.get(status)))
    return ModelRejectedError(message, hint=_HINTS.get(status))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (seconds or an HTTP date); None where neither is
    usable."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None
