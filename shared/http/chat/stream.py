"""Answers as they are written."""

from __future__ import annotations

import logging
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from flask import Response

from shared.domain.accounts import Permission
from shared.http import problems
from shared.http.chat.chat import ChatBody, chat_request
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
    return event_stream(_events(deps, prepared, call.request_id))


def _events(deps: ChatDeps, prepared: Prepared, request_id: str) -> Generator[Event, None, None]:
    from shared.answer.flow import Broken, stream

    yield Event("context", ContextView.of(prepared))
    parts = stream(deps, prepared)
    try:
        for part in parts:
            if isinstance(part, str):
                yield Event("delta", DeltaView(text=part))
            elif isinstance(part, Broken):
                problem = problems.describe(part.error, request_id)
                yield Event("error", BrokenView(**problem.model_dump(), id=part.run.id))
            else:
                yield from _ended(part)
    except Exception:
        # The status is long sent: the boundary's catch has to be here.
        log.exception("unexpected error in a stream")
        unexpected = problems.InternalError("Something went wrong on our side.")
        yield Event("error", BrokenView(**problems.describe(unexpected, request_id).model_dump(), id=None))
    finally:
        parts.close()


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
    ),
)
