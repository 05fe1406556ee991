"""Conversations and runs, as they may be shown now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from shared.answer import threads
from shared.answer.standing import present, standings
from shared.domain.accounts import Permission
from shared.http.chat.chat import Ids
from shared.http.chat.views import MessageView, RunView, ThreadView
from shared.http.models import Body, Id, Listing, NoParams, PageParams, changes, unchanged
from shared.http.routes import AnyRoute, Call, Reply, Route

if TYPE_CHECKING:
    from shared.http.chat.deps import ChatDeps


Title = Annotated[str, StringConstraints(max_length=200)]

_BASES = "In scope for every message of the thread, beside automatic context."
_REF = "Documents that alone are searched, for every message of the thread."


class ThreadBody(Body):
    title: Title = ""
    knowledge_base_ids: Ids = Field(default=(), description=_BASES)
    space_id: Id | None = Field(default=None, description="The space that it is in, whose knowledge it has.")
    thread_ref: Ids = Field(default=(), description=_REF)


class ThreadChanges(Body):
    """Only the fields given change."""

    title: Title = Field(default_factory=unchanged)
    knowledge_base_ids: Ids = Field(default_factory=unchanged, description=_BASES)
    thread_ref: Ids = Field(default_factory=unchanged, description=_REF)


def create_thread(deps: ChatDeps, call: Call[ThreadBody, NoParams]) -> ThreadView:
    made = threads.new_thread(
        deps.clock,
        call.caller,
        call.body.title,
        knowledge_base_ids=call.body.knowledge_base_ids,
        space_id=call.body.space_id,
        thread_ref=call.body.thread_ref,
    )
    threads.create_thread(deps.store.of(call.caller.account_id), call.caller, made)
    return ThreadView.of(made)


def change_thread(deps: ChatDeps, call: Call[ThreadChanges, NoParams]) -> ThreadView:
    given = changes(call.body)
    changed = threads.change_thread(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        call.path["thread_id"],
        lambda current: replace(current, **given),
    )
    return ThreadView.of(changed)


def list_threads(deps: ChatDeps, call: Call[None, PageParams]) -> Listing[ThreadView]:
    store = deps.store.of(call.caller.account_id)
    page = threads.list_threads(store, call.caller, limit=call.query.limit, cursor=call.query.cursor)
    return Listing[ThreadView](items=tuple(map(ThreadView.of, page.items)), next_cursor=page.next_cursor)


def get_thread(deps: ChatDeps, call: Call[None, NoParams]) -> ThreadView:
    store = deps.store.of(call.caller.account_id)
    return ThreadView.of(threads.get_thread(store, call.caller, call.path["thread_id"]))


def delete_thread(deps: ChatDeps, call: Call[None, NoParams]) -> Reply:
    threads.delete_thread(deps.store.of(call.caller.account_id), call.caller, call.path["thread_id"])
    return Reply(None, 204)


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
        "PATCH",
        "/v1/threads/{thread_id}",
        change_thread,
        "Change the title or the knowledge of a conversation",
        Permission.RUN_CREATE,
        body=ThreadChanges,
        response=ThreadView,
    ),
    Route(
        "DELETE",
        "/v1/threads/{thread_id}",
        delete_thread,
        "Delete a conversation with its messages and runs",
        Permission.RUN_CREATE,
        status=204,
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
