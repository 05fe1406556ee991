"""The one error tree. Each class says its code, its HTTP status and whether a retry can help.

A message says what failed and with which value; the hint says what to do about it.
"""

from __future__ import annotations

from typing import ClassVar


class AlmanacError(Exception):
    """Base of everything that the product raises on purpose."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = "Try again; if it stays, report the request id."

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint


# --- the caller and what it may do -------------------------------------------------------------


class UnauthenticatedError(AlmanacError):
    code, status, title = "unauthenticated", 401, "Not signed in"
    default_hint = "Send `Authorization: Bearer` with an API key or an ID token."


class PermissionDeniedError(AlmanacError):
    code, status, title = "permission_denied", 403, "Not allowed"
    default_hint = "Use a key that holds the permission named here."


class PlanRequiredError(AlmanacError):
    code, status, title = "plan_required", 403, "Plan does not include this"
    default_hint = "Move the account to the plan named here."


class NotFoundError(AlmanacError):
    """Absent and forbidden look alike, so that an id tells nothing to a stranger."""

    code, status, title = "not_found", 404, "Not found"
    default_hint = "Check the id, and that the caller's departments include it."


class ConflictError(AlmanacError):
    code, status, title = "conflict", 409, "Conflict"
    default_hint = "Read the current state and try again."


class QuotaExceededError(AlmanacError):
    code, status, title = "quota_exceeded", 403, "Quota exceeded"
    default_hint = "Delete what is not needed, or move the account to a larger plan."


class RateLimitedError(AlmanacError):
    code, status, title, retryable = "rate_limited", 429, "Too many requests", True
    default_hint = "Wait for the seconds in `Retry-After`."

    def __init__(self, message: str, *, retry_after: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class InvalidRequestError(AlmanacError):
    """`fields` pairs a field's path with what is wrong with it."""

    code, status, title = "invalid_request", 400, "Invalid request"
    default_hint = "Correct the fields listed under `errors`."

    def __init__(
        self, message: str, *, fields: tuple[tuple[str, str], ...] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.fields = fields


class BodyTooLargeError(AlmanacError):
    """A body that holds no file; a file has limits and an error of its own."""

    code, status, title = "too_large", 413, "The request is too large"
    default_hint = "Send less in one request."


# --- a file that cannot become a document ------------------------------------------------------


class RefusedFileError(AlmanacError):
    """Base of the permanent refusals of a file: recorded on the document, never tried again by itself."""

    status = 422


class EmptyFileError(RefusedFileError):
    code, status, title = "empty_file", 400, "The file is empty"
    default_hint = "Upload the file again; nothing arrived of this one."


class TooLargeError(RefusedFileError):
    code, status, title = "too_large", 413, "The file is too large"
    default_hint = "Split the file; at most 10 MB each."


class TextTooLargeError(RefusedFileError):
    code, status, title = "text_too_large", 413, "The text in the file is too large"
    default_hint = "Split the file; at most 1 MB of text each."


class UnsupportedTypeError(RefusedFileError):
    code, status, title = "unsupported_type", 415, "Unsupported type of file"
    default_hint = "Upload PDF, DOCX, XLSX, CSV, HTML, Markdown or plain text."


class EncryptedFileError(RefusedFileError):
    code, title = "encrypted", "The file is protected with a password"
    default_hint = "Remove the password and upload the file again."


class CorruptFileError(RefusedFileError):
    code, title = "corrupt", "The file is damaged"
    default_hint = "Open the file in its own program, save it again and upload that."


class UnsafeFileError(RefusedFileError):
    code, title = "unsafe_file", "The file is not safe to open"
    default_hint = "The file expands far beyond its size or reaches outside itself; upload a plain copy."


class ExtractionTimeoutError(RefusedFileError):
    code, title = "extraction_timeout", "Reading the file took too long"
    default_hint = "Split the file or save it in a simpler form."


class NoTextError(RefusedFileError):
    code, title = "no_text", "The file holds no text"
    default_hint = "A scan has to go through text recognition (OCR) first."


class UrlForbiddenError(AlmanacError):
    code, status, title = "url_forbidden", 422, "This address may not be fetched"
    default_hint = "Use a public http or https address on port 80 or 443."


class FetchFailedError(AlmanacError):
    code, status, title, retryable = "fetch_failed", 502, "The address could not be fetched", True
    default_hint = "Check that the address answers; then have it read again."


# --- what the product stands on ----------------------------------------------------------------


class ModelUnavailableError(AlmanacError):
    """A model provider that is down, overloaded or refuses; `retry_after` in seconds where it said so."""

    code, status, title, retryable = "model_unavailable", 503, "The model did not answer", True
    default_hint = "Try again in a moment."

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ModelOverloadedError(ModelUnavailableError):
    """A provider that has too much to do, or that we may not ask more of for now. Nothing was paid."""

    title = "The model has too much to do"


class ModelRejectedError(ModelUnavailableError):
    """A provider that understood the call and will not take it: a bad key, an unknown model, a request that
    is malformed. The same call fails again, so nothing retries it."""

    retryable = False
    default_hint = "Check the model's key and name in the deployment's settings."


class ModelContentError(ModelRejectedError):
    """A call whose content the model does not take: it is longer than the model reads, or not to its liking.
    The same content fails again."""

    title = "The model does not take this content"
    default_hint = "Send less text, or other text."


class TransientError(AlmanacError):
    """Contention or an outage below us: raising it makes the platform deliver again."""

    code, status, title, retryable = "internal", 503, "Temporarily unavailable", True
    default_hint = "Try again in a moment."


class MisconfiguredError(AlmanacError):
    """The deployment's settings cannot be meant; nothing runs until they are put right."""

    default_hint = "Correct the deployment's settings."


class LeaseLostError(AlmanacError):
    """Another worker has taken the document over; this one must stop and write nothing more."""

    code, status, title = "conflict", 409, "The work was taken over"
