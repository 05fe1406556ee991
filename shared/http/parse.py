"""From a request to the route's models."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import closing

from flask import Request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from shared.domain.errors import BodyTooLargeError, InvalidRequestError, TooLargeError
from shared.http.models import Body
from shared.http.problems import invalid
from shared.http.routes import MIB, AnyRoute, RawRequest, UploadedFile

# Cloud Run takes no larger request, so a file over its own limit still arrives and gets its own error.
_MULTIPART_LIMIT = 32 * MIB
_DRAIN_LIMIT = 64 * MIB
_DRAIN_STEP = 64 * 1024


def parse_query(route: AnyRoute, request: Request) -> BaseModel:
    """Raises `InvalidRequestError` for unknown, repeated or wrong parameters."""
    repeated = tuple(name for name, values in request.args.lists() if len(values) > 1)
    if repeated:
        raise InvalidRequestError(
            f"Query parameters are given more than once: {', '.join(repeated)}.",
            fields=tuple((name, "given more than once") for name in repeated),
        )
    return validated(route.query, request.args.to_dict(), "query")


def parse_body(route: AnyRoute, request: Request) -> tuple[BaseModel | None, UploadedFile | None]:
    """The body or form model, and the file of a multipart body. Raises `InvalidRequestError`, and
    `BodyTooLargeError` or `TooLargeError` when there is more than the route takes."""
    if not route.writes or route.raw:
        return None, None
    multipart = request.mimetype == "multipart/form-data"
    limit = _MULTIPART_LIMIT if multipart and route.form is not None else route.max_body
    request.max_content_length = limit
    try:
        if multipart:
            with closing(request):  # closes the files that it spooled to disk
                return _parse_form(route, request)
        return _parse_json(route, request), None
    except RequestEntityTooLarge as error:
        _drain(request)
        if multipart:
            raise TooLargeError(f"The file and its fields are over {limit} bytes together.") from error
        raise BodyTooLargeError(f"The request's body is over {limit} bytes.") from error
    except HTTPException as error:
        raise InvalidRequestError("The request's body could not be read.") from error


def read_raw(route: AnyRoute, request: Request) -> RawRequest | None:
    """The request as it came in, where the route reads it itself. Raises `BodyTooLargeError`."""
    if not route.raw:
        return None
    request.max_content_length = route.max_body
    try:
        data = request.get_data(cache=True, parse_form_data=False)
    except RequestEntityTooLarge as error:
        _drain(request)
        raise BodyTooLargeError(f"The request's body is over {route.max_body} bytes.") from error
    except HTTPException as error:
        raise InvalidRequestError("The request's body could not be read.") from error
    return RawRequest(tuple(request.headers.items()), data)


def _parse_json(route: AnyRoute, request: Request) -> BaseModel | None:
    data = request.get_data(cache=True, parse_form_data=False)
    model = route.body or Body
    if not data.strip():
        if route.body is None:
            return None
        data = b"{}"
    elif not request.is_json:
        kinds = ["application/json"] * (route.body is not None) + ["multipart/form-data"] * bool(route.form)
        wanted = " or ".join(kinds or ["application/json"])
        raise InvalidRequestError(
            f"The body's type is {request.mimetype or 'missing'}.",
            fields=(("Content-Type", f"must be {wanted}"),),
        )
    elif route.body is None and route.form is not None:
        raise InvalidRequestError(
            "This call takes a file.", fields=(("Content-Type", "must be multipart/form-data"),)
        )
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise invalid(error, "body", _json(data)) from error


def _json(data: bytes) -> object:
    """What the client sent, to name its fields by; nothing where that is no JSON."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found


def _parse_form(route: AnyRoute, request: Request) -> tuple[BaseModel, UploadedFile]:
    if route.form is None:
        raise InvalidRequestError(
            "This call takes no files.", fields=(("Content-Type", "must be application/json"),)
        )
    files = request.files.to_dict(flat=False)
    if list(files) != ["file"] or len(files["file"]) != 1:
        raise InvalidRequestError(
            "The form does not hold exactly one file.",
            fields=(("file", "one file, in the field `file`"),),
        )
    part = files["file"][0]
    upload = UploadedFile(
        filename=part.filename or "",
        content_type=part.mimetype or "application/octet-stream",
        data=part.stream.read(route.max_file + 1),
    )
    return validated(route.form, request.form.to_dict(), "form"), upload


def validated(model: type[BaseModel], values: Mapping[str, str], where: str) -> BaseModel:
    """Text values as a model; raises `InvalidRequestError`."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid(error, where, values) from error


def _drain(request: Request) -> None:
    """Reads what the client still sends and forgets it: a client that is cut off while it sends may never
    read the answer, and the framework reads the body once more afterwards."""
    stream = request.environ["wsgi.input"]
    left = min(request.content_length or 0, _DRAIN_LIMIT)
    while left > 0 and (step := stream.read(min(left, _DRAIN_STEP))):
        left -= len(step)
    request.environ["wsgi.input"] = io.BytesIO()
    request.environ["CONTENT_LENGTH"] = "0"
