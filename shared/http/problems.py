"""Errors as RFC 9457 problem details."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flask import Response
from pydantic import ValidationError

from shared.domain.errors import AlmanacError, InvalidRequestError, ModelUnavailableError, RateLimitedError
from shared.http.idempotency import StillRunningError
from shared.http.models import FieldProblem, Problem
from shared.http.routes import MethodNotAllowedError

MEDIA_TYPE = "application/problem+json"
_SAY_WHEN = (RateLimitedError, ModelUnavailableError, StillRunningError)


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
    if isinstance(error, _SAY_WHEN) and error.retry_after is not None:
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, MethodNotAllowedError):
        return {"Allow": ", ".join(error.allowed)}
    if error.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return {}


def invalid(error: ValidationError, where: str, sent: object) -> InvalidRequestError:
    """What a model found wrong with what was `sent`, by field. Values are left out: they may be what must not
    be repeated. `where` stands for the whole (`body`, `query`) when no field is to blame.

    Where a field may be of several kinds, the validator complains for each; what it says of the field as a
    whole is left out when something inside the field is to blame.
    """
    found = [
        (_path(item["loc"], item["type"], sent), item["msg"]) for item in error.errors(include_input=False)
    ]
    within = {path[:depth] for path, _ in found for depth in range(len(path))}
    fields = tuple((".".join(path) or where, text) for path, text in found if path not in within)
    names = ", ".join(dict.fromkeys(name for name, _ in fields))
    return InvalidRequestError(f"The request's {where} is not valid: {names}.", fields=fields)


def _path(location: tuple[int | str, ...], kind: str, sent: object) -> tuple[str, ...]:
    """The field as the client knows it: of the validator's location those steps that are there in what was
    sent, and the last one where it is missing. The others name kinds of values that it tried."""
    path: list[str] = []
    here: Any = sent
    for place, step in enumerate(location, start=1):
        if _holds(here, step):
            here = here[step]
        elif kind != "missing" or place < len(location):
            continue
        path.append(str(step))
    return tuple(path)


def _holds(value: object, step: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, Mapping) and step in value
