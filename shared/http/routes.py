"""Routes as data: what matches, who may, what goes in and out, and which function answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from flask import Response
from pydantic import BaseModel
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import BaseConverter, Map, Rule

from shared.domain.accounts import Caller, Permission
from shared.domain.errors import InvalidRequestError, NotFoundError, UnauthenticatedError
from shared.domain.ids import ID_REGEX, content_id, new_id
from shared.http.models import NoParams, Params

S = TypeVar("S")
B = TypeVar("B")
Q = TypeVar("Q")
B_co = TypeVar("B_co", covariant=True)
Q_co = TypeVar("Q_co", covariant=True)

MIB = 1024 * 1024
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A part of a multipart body. Name and type are what the client says. `data` holds at most one byte
    more than the route's `max_file`, which tells that the file is larger."""

    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request as it came in, for a route that speaks a protocol of its own."""

    headers: tuple[tuple[str, str], ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Call(Generic[B_co, Q_co]):
    """One request, parsed. `path` holds the ids of the path; `body` is the route's body or form model. `raw`
    is there for routes that say so. `origin` is the same for every try of a write with an idempotency key,
    and empty without one."""

    verified: Caller | None
    path: Mapping[str, str]
    body: B_co
    query: Q_co
    request_id: str
    file: UploadedFile | None = None
    raw: RawRequest | None = None
    origin: str = ""

    def new_id(self, prefix: str) -> str:
        """The id of the one thing of its kind that this call makes; a repeat of the call finds it by it."""
        return content_id(prefix, self.origin) if self.origin else new_id(prefix)

    @property
    def caller(self) -> Caller:
        """Who calls. Only routes marked public are ever reached without."""
        if self.verified is None:
            raise UnauthenticatedError("This call needs a caller.")
        return self.verified


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with another status than the route's, or with headers."""

    body: BaseModel | None
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


Result: TypeAlias = BaseModel | Reply | Response
Handler: TypeAlias = Callable[[S, Call[B, Q]], Result]


@dataclass(frozen=True)
class Route(Generic[S, B, Q]):
    """`path` names ids in braces, `/v1/documents/{document_id}:retry`; `{path:path}` may hold slashes.

    `permission` None asks only for a verified caller, `public` not even that. `body` is the model of a JSON
    body, `form` of a multipart one with a file; a route may take either. `response` documents the answer of
    `status`, `also` those of other statuses; `media_type` is that of the answer. `secret` marks an answer
    that is not kept for repeats; with `raw` the handler reads the body, which is described by `body` but not
    parsed; `again` then answers a repeat from what the first call made, whose id is in
    the call's path as `made`.
    """

    method: str
    path: str
    handler: Handler[S, B, Q]
    summary: str
    permission: Permission | None = None
    public: bool = False
    body: type[BaseModel] | None = None
    form: type[Params] | None = None
    query: type[Params] = NoParams
    response: type[BaseModel] | None = None
    status: int = 200
    also: tuple[tuple[int, type[BaseModel]], ...] = ()
    media_type: str = "application/json"
    secret: bool = False
    raw: bool = False
    again: Handler[S, B, Q] | None = None
    max_body: int = 2 * MIB
    max_file: int = 10 * MIB

    @property
    def writes(self) -> bool:
        return self.method in WRITES

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(name for name, _ in _PARAMETER.findall(self.path))


AnyRoute: TypeAlias = Route[Any, Any, Any]

_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")


class _IdConverter(BaseConverter):
    """What cannot be an id matches no route, so it is never looked up."""

    regex = ID_REGEX


class MethodNotAllowedError(InvalidRequestError):
    status, title = 405, "Method not allowed"
    default_hint = "Use one of the methods in `Allow`."

    def __init__(self, method: str, path: str, allowed: Iterable[str]) -> None:
        self.allowed = tuple(sorted(allowed))
        super().__init__(f"{method} is not a method of {path}.")


class Router:
    """Finds the route of a method and a path."""

    def __init__(self, routes: Iterable[AnyRoute]) -> None:
        rules = [
            Rule(_PARAMETER.sub(_rule_part, route.path), methods=[route.method], endpoint=route)
            for route in routes
        ]
        # Paths are taken as they are: no redirects to a tidier spelling.
        self._map = Map(rules, converters={"id": _IdConverter}, strict_slashes=False, merge_slashes=False)

    def match(self, method: str, path: str) -> tuple[AnyRoute, Mapping[str, str]]:
        """Raises `NotFoundError` for an unknown path, `MethodNotAllowedError` for a known one."""
        try:
            return self._map.bind("").match(path, method)
        except NotFound as error:
            raise NotFoundError(
                "No such path.", hint="GET /openapi.json lists the paths; ids are letters, digits, - and _."
            ) from error
        except MethodNotAllowed as error:
            raise MethodNotAllowedError(method, path, error.valid_methods or ()) from error


def path_template(path: str) -> str:
    """The path with plain names in braces, as OpenAPI writes it."""
    return _PARAMETER.sub(r"{\1}", path)


def _rule_part(match: re.Match[str]) -> str:
    return f"<{match[2] or 'id'}:{match[1]}>"
