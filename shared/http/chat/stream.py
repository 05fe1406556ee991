"""Answers as they are written."""

from __future__ import annotations

import logging
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from flask import Response

from shared.domain.accounts import Permission
from shared.domain.errors import AlmanacError, ModelUnavailableError
from shared.domain.knowledge import Failure
from shared.http import problems
from shared.http.chat.chat import ChatBody, chat_request, made_before, run_path
from shared.http.chat.views import AnswerView, CitationView, SearchedView, SourceView
from shared.http.models import NoParams, Problem, View
from shared.http.routes import AnyRoute, Call, Route
from shared.http.sse import Event, event_stream

if TYPE_CHECKING:
    from shared.answer.record import Prepared
    from shared.domain.conversation import Run
    from shared.http.chat.deps import ChatDeps

log = logging.getLogger(__name__)


class ContextView(View):
    """What the answer will be made from: comes first, before the model has said a word."""

    id: str
    thread_id: str
    retrieval: SearchedView
    sources: tuple[SourceView, ...]

    @classmethod
    def of(cls, prepared: Prepared) -> ContextView:
        from shared.answer.record import context_of, retrieval_of

        return cls(
            id=prepared.run_id,
            thread_id=prepared.thread.id,
            retrieval=SearchedView.of(retrieval_of(prepared)),
            sources=tuple(map(SourceView.of, context_of(prepared))),
        )

    @classmethod
    def of_run(cls, run: Run) -> ContextView:
        """The same, when the run is over."""
        return cls(
            id=run.id,
            thread_id=run.thread_id,
            retrieval=SearchedView.of(run.retrieval),
            sources=tuple(map(SourceView.of, run.context)),
        )


class DeltaView(View):
    text: str


class CitationsView(View):
    citations: tuple[CitationView, ...]


class BrokenView(Problem):
    """Why the answer broke off; what was written until then is kept under /v1/runs/{id}."""

    id: str | None


class ChatEvents(View):
    """The events by name: `context` first, `delta` many times, then `citations` and `done`; or `error`."""

    context: ContextView
    delta: DeltaView
    citations: CitationsView
    done: AnswerView
    error: BrokenView


def post_chat_stream(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> Response:
    from shared.answer.flow import prepare
    from shared.retrieve.flow import retrieve

    prepared = prepare(deps, call.caller, chat_request(call.body), partial(retrieve, deps))
    response = event_stream(_events(deps, prepared, call.request_id))
    response.headers["Content-Location"] = run_path(prepared.run_id)
    return response


def stream_again(deps: ChatDeps, call: Call[ChatBody, NoParams]) -> Response:
    """The events of a run that is over, its text in one piece."""
    run, answer, cited = made_before(deps, call)
    response = event_stream(_past_events(run, AnswerView.now(run, answer, cited), call.request_id))
    response.headers["Content-Location"] = run_path(run.id)
    return response


def _past_events(run: Run, view: AnswerView, request_id: str) -> Generator[Event, None, None]:
    yield Event("context", ContextView.of_run(run))
    if view.answer:
        yield Event("delta", DeltaView(text=view.answer))
    if run.error is not None:
        yield Event("error", _broken(_error_of(run.error), request_id, run.id))
        return
    yield Event("citations", CitationsView(citations=view.citations))
    yield Event("done", view)


def _events(deps: ChatDeps, prepared: Prepared, request_id: str) -> Generator[Event, None, None]:
    from shared.answer.flow import Broken, stream

    yield Event("context", ContextView.of(prepared))
    parts = stream(deps, prepared)
    try:
        for part in parts:
            if isinstance(part, str):
                yield Event("delta", DeltaView(text=part))
            elif isinstance(part, Broken):
                yield Event("error", _broken(part.error, request_id, part.run.id))
            else:
                yield from _ended(part)
    except Exception:
        # The status is long sent: the boundary's catch has to be here.
        log.exception("unexpected error in a stream")
        unexpected = problems.InternalError("Something went wrong on our side.")
        yield Event("error", _broken(unexpected, request_id, None))
    finally:
        parts.close()


def _broken(error: AlmanacError, request_id: str, run_id: str | None) -> BrokenView:
    return BrokenView(**problems.describe(error, request_id).model_dump(), id=run_id)


def _error_of(failure: Failure) -> AlmanacError:
    """The error that a run keeps, as it was raised: nearly always the model's."""
    kind = ModelUnavailableError if failure.code == ModelUnavailableError.code else AlmanacError
    return kind(failure.message, hint=failure.hint)


def _ended(run: Run) -> Generator[Event, None, None]:
    view = AnswerView.of(run)
    yield Event("citations", CitationsView(citations=view.citations))
    yield Event("done", view)


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/v1/chat/stream",
        post_chat_stream,
        "Answer a message as it is written, in server-sent events",
        Permission.RUN_CREATE,
        body=ChatBody,
        response=ChatEvents,
        media_type="text/event-stream",
        secret=True,
        again=stream_again,
    ),
)
