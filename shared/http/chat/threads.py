"""Conversations and runs, as they may be shown now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from shared.answer import threads
from shared.answer.standing import present, standings
from shared.domain.accounts import Permission
from shared.http.chat.chat import Ids
from shared.http.chat.views import MessageView, RunView, ThreadView
from shared.http.models import Body, Listing, NoParams, PageParams
from shared.http.routes import AnyRoute, Call, Route

if TYPE_CHECKING:
    from shared.http.chat.deps import ChatDeps


class ThreadBody(Body):
    """`knowledge_base_ids` are searched for every message of the thread, beside automatic context."""

    title: Annotated[str, StringConstraints(max_length=200)] = ""
    knowledge_base_ids: Ids = Field(default=())


def create_thread(deps: ChatDeps, call: Call[ThreadBody, NoParams]) -> ThreadView:
    store = deps.store.of(call.caller.account_id)
    made = threads.create_thread(
        store, deps.clock, call.caller, call.body.title, call.body.knowledge_base_ids
    )
    return ThreadView.of(made)


def list_threads(deps: ChatDeps, call: Call[None, PageParams]) -> Listing[ThreadView]:
    store = deps.store.of(call.caller.account_id)
    page = threads.list_threads(store, call.caller, limit=call.query.limit, cursor=call.query.cursor)
    return Listing[ThreadView](items=tuple(map(ThreadView.of, page.items)), next_cursor=page.next_cursor)


def get_thread(deps: ChatDeps, call: Call[None, NoParams]) -> ThreadView:
    store = deps.store.of(call.caller.account_id)
    return ThreadView.of(threads.get_thread(store, call.caller, call.path["thread_id"]))


def list_messages(deps: ChatDeps, call: Call[None, PageParams]) -> Listing[MessageView]:
    store = deps.store.of(call.caller.account_id)
    page = threads.list_messages(
        store, call.caller, call.path["thread_id"], limit=call.query.limit, cursor=call.query.cursor
    )
    found = standings(store, call.caller, [one for message in page.items for one in message.citations])
    items = (
        MessageView.now(message, *present(message.text, message.citations, found)) for message in page.items
    )
    return Listing[MessageView](items=tuple(items), next_cursor=page.next_cursor)


def get_run(deps: ChatDeps, call: Call[None, NoParams]) -> RunView:
    store = deps.store.of(call.caller.account_id)
    run = threads.get_run(store, call.caller, call.path["run_id"])
    found = standings(store, call.caller, run.citations)
    return RunView.now(run, *present(run.answer, run.citations, found))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/v1/threads",
        create_thread,
        "Begin a conversation",
        Permission.RUN_CREATE,
        body=ThreadBody,
        response=ThreadView,
        status=201,
    ),
    Route(
        "GET",
        "/v1/threads",
        list_threads,
        "The caller's conversations, the one used last first",
        Permission.RUN_CREATE,
        query=PageParams,
        response=Listing[ThreadView],
    ),
    Route(
        "GET",
        "/v1/threads/{thread_id}",
        get_thread,
        "One conversation",
        Permission.RUN_CREATE,
        response=ThreadView,
    ),
    Route(
        "GET",
        "/v1/threads/{thread_id}/messages",
        list_messages,
        "The messages of a conversation, oldest first",
        Permission.RUN_CREATE,
        query=PageParams,
        response=Listing[MessageView],
    ),
    Route(
        "GET",
        "/v1/runs/{run_id}",
        get_run,
        "What one answer was made from, and what has become of its sources",
        Permission.RUN_CREATE,
        response=RunView,
    ),
)
