"""What Cloud Tasks calls: each path is one kind of work, its body names what to work on.

The function is private: only the service account of the queue and the scheduler may call it. Either the
platform checks that, or the function does. A 2xx ends the task, anything else
makes the queue try again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

import flask
import functions_framework

from shared.domain.errors import AlmanacError
from shared.logs import configure, log_context
from shared.settings import refuse_emulators
from shared.wiring import Container, container

# A revision that was told of an emulator must not even start: the one before keeps serving.
refuse_emulators(os.environ)

log = logging.getLogger(__name__)

Body = Mapping[str, Any]


def _advance(deps: Container, body: Body) -> str:
    from shared.ingest.flow import advance
    from shared.library.objects import RevisionRef

    return advance(deps, RevisionRef(body["account"], body["document"], int(body["revision"])))


def _tidy(deps: Container, body: Body) -> str:
    from shared.ingest.tidy import tidy
    from shared.library.objects import RevisionRef

    return tidy(deps, RevisionRef(body["account"], body["document"], int(body["revision"])))


def _purge(deps: Container, body: Body) -> str:
    from shared.library.purge import purge

    return purge(deps, body["account"], body["receipt"])


def _farewell(deps: Container, body: Body) -> str:
    from shared.library.closing import farewell

    return farewell(deps, body["account"])


def _refresh(deps: Container, body: Body) -> str:
    from shared.refresh.flow import refresh_document

    return refresh_document(deps, body["account"], body["document"], int(body["window"]))


def _due(deps: Container, _: Body) -> str:
    from shared.refresh.due import find_due

    return find_due(deps)


def _sweep(deps: Container, _: Body) -> str:
    from shared.ingest.sweep import sweep

    return sweep(deps)


def _fold(deps: Container, body: Body) -> str:
    from shared.answer.fold import fold

    return fold(deps, body["account"], body["thread"])


_WORK: dict[str, Callable[[Container, Body], str]] = {
    "/advance": _advance,
    "/tidy": _tidy,
    "/purge": _purge,
    "/farewell": _farewell,
    "/refresh": _refresh,
    "/due": _due,
    "/sweep": _sweep,
    "/fold": _fold,
}


@functions_framework.http
def main(request: flask.Request) -> tuple[dict[str, str], int]:
    configure()
    work = _WORK.get(request.path)
    if work is None:
        return {"error": f"no work is called {request.path}"}, 404
    deps = container()
    try:
        if deps.task_callers is not None:
            deps.task_callers.check(request.headers.get("Authorization"))
        # The scheduler names no type of content unless it is told to, and need not send any.
        body = request.get_json(force=True) if request.get_data() else {}
        with log_context(account_id=body.get("account"), task=request.headers.get("X-CloudTasks-TaskName")):
            return {"outcome": work(deps, body)}, 200
    except AlmanacError as error:
        log.warning("task failed", extra={"path": request.path, "code": error.code})
        if error.retryable:
            return {"error": error.code}, 503
        if error.status in {401, 403}:
            return {"error": error.code}, error.status
        raise
