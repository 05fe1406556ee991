"""The way of a request: match, verify, allow, parse, answer. Every HTTP function is one of these."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from flask import Request, Response
from pydantic import BaseModel

from shared.domain.accounts import Caller
from shared.domain.errors import AlmanacError
from shared.domain.ids import is_id, new_id
from shared.http import idempotency, problems
from shared.http.callers import ACCOUNT_HEADER, acting_as
from shared.http.models import ActingAs
from shared.http.parse import parse_body, parse_query, read_raw
from shared.http.routes import AnyRoute, Call, RawRequest, Reply, Result, Router, UploadedFile
from shared.logs import add_to_log_context, configure, log_context
from shared.ports import Clock, Store
from shared.settings import Settings
from shared.tenancy.authenticate import Authenticator
from shared.tenancy.authorize import act_as, require

log = logging.getLogger(__name__)

S = TypeVar("S")

REQUEST_ID_HEADER = "X-Request-Id"


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A request whose caller may make it."""

    route: AnyRoute
    path: Mapping[str, str]
    caller: Caller | None
    acting_as: ActingAs | None
    query: BaseModel
    body: BaseModel | None
    file: UploadedFile | None
    raw: RawRequest | None


class HttpApp(Generic[S]):
    """Answers Flask requests by a route table. `services` is what every handler gets first.

    `authenticate` turns the headers `Authorization` and `X-Account-Id` into a caller or raises.
    `call_seconds` is longer than any call runs: an idempotency key that is in use for that long has lost its
    call.
    """

    def __init__(
        self,
        routes: Iterable[AnyRoute],
        services: S,
        *,
        authenticate: Callable[[str | None, str | None], Caller],
        store: Store,
        clock: Clock,
        call_seconds: float = 300,
    ) -> None:
        self._router = Router(routes)
        self._services = services
        self._authenticate = authenticate
        self._store = store
        self._clock = clock
        self._running_for = timedelta(seconds=call_seconds)

    def __call__(self, request: Request) -> Response:
        """The response, in every case: what goes wrong becomes a problem document."""
        started = time.monotonic()
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if is_id(given) else new_id("req")
        with log_context(request_id=request_id, **_trace(request)):
            response = self._guarded(request, request_id)
            log.info(
                "request",
                extra={
                    "method": request.method,
                    "path": request.path,
                    "status": response.status_code,
                    "milliseconds": round((time.monotonic() - started) * 1000, 1),
                },
            )
        response.headers[REQUEST_ID_HEADER] = request_id
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def _guarded(self, request: Request, request_id: str) -> Response:
        try:
            return self._answer(request, request_id)
        except AlmanacError as error:
            if error.status >= 500:
                log.warning("request failed", exc_info=True, extra={"code": error.code})
            return problems.respond(error, request_id)
        except Exception:
            log.exception("unexpected error")
            unexpected = problems.InternalError("Something went wrong on our side.")
            return problems.respond(unexpected, request_id)

    def _answer(self, request: Request, request_id: str) -> Response:
        route, path = self._router.match(request.method, request.path)
        caller = None if route.public else self._caller(request)
        if caller is not None:
            add_to_log_context(account_id=caller.account_id, principal=caller.principal, **path)
            require(caller, route.permission)
        return self._run(self._parse(route, path, caller, request), request, request_id)

    def _caller(self, request: Request) -> Caller:
        return self._authenticate(request.headers.get("Authorization"), request.headers.get(ACCOUNT_HEADER))

    def _parse(
        self, route: AnyRoute, path: Mapping[str, str], caller: Caller | None, request: Request
    ) -> _Parsed:
        query = parse_query(route, request)
        body, file = parse_body(route, request)
        acting = acting_as(request, body) if caller is not None else None
        if caller is not None and acting is not None:
            caller = act_as(caller, acting.user_id, acting.department_ids)
            require(caller, route.permission)
        return _Parsed(route, path, caller, acting, query, body, file, read_raw(route, request))

    def _run(self, parsed: _Parsed, request: Request, request_id: str) -> Response:
        def run(origin: str = "") -> Response:
            call = replace(_call(parsed, request_id), origin=origin)
            return render(parsed.route.handler(self._services, call), parsed.route.status)

        key = request.headers.get(idempotency.HEADER)
        if key is None or not parsed.route.writes or parsed.caller is None:
            return run()
        route = f"{parsed.route.method} {parsed.route.path}"
        return idempotency.once(
            self._store.of(parsed.caller.account_id),
            self._clock,
            idempotency.record_id(parsed.caller, route, key),
            _fingerprint(parsed, request),
            lambda origin: self._final(lambda: run(origin), request_id),
            running_for=self._running_for,
            keep=not parsed.route.secret,
            again=self._again(parsed, request_id),
        )

    def _again(self, parsed: _Parsed, request_id: str) -> Callable[[str], Response] | None:
        """Answers a repeat whose first answer was not kept, by the place of what that made."""
        handler = parsed.route.again
        if handler is None:
            return None

        def answer(location: str) -> Response:
            call = replace(
                _call(parsed, request_id), path={**parsed.path, "made": location.rpartition("/")[2]}
            )
            return render(handler(self._services, call), parsed.route.status)

        return answer

    def _final(self, run: Callable[[], Response], request_id: str) -> Response:
        """What a repeat must get too: the answer, or the refusal. What may go better next time is raised."""
        try:
            return run()
        except AlmanacError as error:
            if error.retryable or error.status >= 500:
                raise
            return problems.respond(error, request_id)


def _call(parsed: _Parsed, request_id: str) -> Call[Any, Any]:
    return Call(parsed.caller, parsed.path, parsed.body, parsed.query, request_id, parsed.file, parsed.raw)


def render(result: Result, status: int) -> Response:
    """A handler's result as a response."""
    if isinstance(result, Response):
        return result
    reply = result if isinstance(result, Reply) else Reply(result, status)
    if reply.body is None:
        return Response(status=reply.status, headers=dict(reply.headers))
    text = reply.body.model_dump_json(by_alias=True)
    return Response(text, status=reply.status, headers=dict(reply.headers), content_type="application/json")


def _fingerprint(parsed: _Parsed, request: Request) -> str:
    body = parsed.body.model_dump_json(exclude_unset=True) if parsed.body is not None else ""
    file = parsed.file
    acting = parsed.acting_as.model_dump_json() if parsed.acting_as is not None else ""
    parts = [request.path, parsed.query.model_dump_json(), body, acting]
    if parsed.raw is not None:
        return idempotency.fingerprint(*(part.encode() for part in parts), parsed.raw.data)
    if file is not None:
        return idempotency.fingerprint(*(part.encode() for part in parts), file.filename.encode(), file.data)
    return idempotency.fingerprint(*(part.encode() for part in parts))


def _trace(request: Request) -> dict[str, str]:
    """The trace that Cloud Run's front end started, under the name that Cloud Logging links by."""
    parent = request.headers.get("traceparent", "").split("-")
    return {"trace_id": parent[1]} if len(parent) == 4 and parent[1].isalnum() else {}


class HttpDeps(Protocol):
    """What every HTTP function's container has."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def authenticator(self) -> Authenticator: ...
    @property
    def settings(self) -> Settings: ...


D = TypeVar("D", bound=HttpDeps)


def app_for(routes: Iterable[AnyRoute], deps: D) -> HttpApp[D]:
    """The application of a function: its routes on its container, callers verified by its authenticator."""
    configure()
    return HttpApp(
        routes,
        deps,
        authenticate=deps.authenticator,
        store=deps.store,
        clock=deps.clock,
        call_seconds=deps.settings.call_seconds,
    )
