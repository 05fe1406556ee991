"""Errors as RFC 9457 problem details."""

from __future__ import annotations

import math

from flask import Response
from pydantic import ValidationError

from shared.domain.errors import AlmanacError, InvalidRequestError, ModelUnavailableError, RateLimitedError
from shared.http.models import FieldProblem, Problem
from shared.http.routes import MethodNotAllowedError

MEDIA_TYPE = "application/problem+json"


class InternalError(AlmanacError):
    """What is shown of an error that nobody expected: nothing."""


def describe(error: AlmanacError, request_id: str) -> Problem:
    """What a client is told of an error."""
    fields = error.fields if isinstance(error, InvalidRequestError) else ()
    return Problem(
        type=f"urn:almanac:problem:{error.code}",
        title=error.title,
        status=error.status,
        code=error.code,
        detail=error.message,
        hint=error.hint,
        request_id=request_id,
        errors=tuple(FieldProblem(field=name, message=text) for name, text in fields) or None,
    )


def respond(error: AlmanacError, request_id: str) -> Response:
    """The response that tells a client of an error."""
    problem = describe(error, request_id)
    response = Response(
        problem.model_dump_json(exclude_none=True), status=error.status, content_type=MEDIA_TYPE
    )
    response.headers.update(_headers(error))
    return response


def _headers(error: AlmanacError) -> dict[str, str]:
    if isinstance(error, RateLimitedError | ModelUnavailableError) and error.retry_after is not None:
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, MethodNotAllowedError):
        return {"Allow": ", ".join(error.allowed)}
    if error.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return {}


def invalid(error: ValidationError, where: str) -> InvalidRequestError:
    """What a model found wrong, by field. Values are left out: they may be what must not be repeated.

    `where` stands for the whole (`body`, `query`) when no field is to blame.
    """
    fields = tuple((_name(item["loc"]) or where, item["msg"]) for item in error.errors(include_input=False))
    names = ", ".join(dict.fromkeys(name for name, _ in fields))
    return InvalidRequestError(f"The request's {where} is not valid: {names}.", fields=fields)


def _name(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)
