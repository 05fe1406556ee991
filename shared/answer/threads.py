"""Threads and what is kept in them. A thread is its owner's alone: to others it does not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shared.agents.spaces import get_space
from shared.domain.accounts import Caller
from shared.domain.conversation import Message, Run, Thread
from shared.domain.errors import NotFoundError
from shared.domain.ids import new_id
from shared.domain.models import Turn, TurnRole
from shared.library.documents import get_document
from shared.ports import AccountStore, Clock, Kind, Page, Query, Transaction
from shared.records import MESSAGES, RUNS, THREADS
from shared.tenancy.usage import count_run

_TITLE_CHARACTERS = 80
# Older turns than these are not read for an answer.
_HISTORY_MESSAGES = 60
_BATCH = 300


def new_thread(
    clock: Clock,
    caller: Caller,
    title: str,
    *,
    knowledge_base_ids: Sequence[str] = (),
    space_id: str | None = None,
    thread_ref: Sequence[str] = (),
) -> Thread:
    """A thread that is not stored yet."""
    now = clock.now()
    return Thread(
        id=new_id("thr"),
        owner=caller.principal,
        title=thread_title(title),
        created_at=now,
        updated_at=now,
        knowledge_base_ids=tuple(dict.fromkeys(knowledge_base_ids)),
        space_id=space_id,
        thread_ref=tuple(dict.fromkeys(thread_ref)),
    )


def create_thread(store: AccountStore, caller: Caller, thread: Thread) -> None:
    """Raises `NotFoundError` for a space or a document that the caller may not see."""
    _require_reachable(store, caller, thread)
    store.create(THREADS, thread)


def change_thread(
    store: AccountStore, clock: Clock, caller: Caller, thread_id: str, change: Callable[[Thread], Thread]
) -> Thread:
    """Applies `change` to title or knowledge. Raises `NotFoundError` as `create_thread`."""
    before = get_thread(store, caller, thread_id)
    wanted = change(before)
    if (wanted.space_id, wanted.thread_ref) != (before.space_id, before.thread_ref):
        _require_reachable(store, caller, wanted)

    def body(tx: Transaction) -> Thread:
        current = tx.get(THREADS, thread_id)
        if current is None:
            raise NotFoundError(f"There is no thread {thread_id}.")
        changed = replace(change(current), updated_at=clock.now())
        tx.put(THREADS, changed)
        return changed

    return store.transact(body)


def _require_reachable(store: AccountStore, caller: Caller, thread: Thread) -> None:
    if thread.space_id is not None:
        get_space(store, caller, thread.space_id)
    for document_id in thread.thread_ref:
        get_document(store, caller, document_id)


def get_thread(store: AccountStore, caller: Caller, thread_id: str) -> Thread:
    """Raises `NotFoundError` for what is absent or somebody else's."""
    thread = store.get(THREADS, thread_id)
    if thread is None or thread.owner != caller.principal:
        raise NotFoundError(f"There is no thread {thread_id}.")
    return thread


def list_threads(store: AccountStore, caller: Caller, *, limit: int, cursor: str | None) -> Page[Thread]:
    """The caller's own, the one used last first."""
    where = (("owner", "==", caller.principal),)
    return store.find(THREADS, Query(where=where, order_by="-updated_at", limit=limit, cursor=cursor))


def list_messages(
    store: AccountStore, caller: Caller, thread_id: str, *, limit: int, cursor: str | None
) -> Page[Message]:
    """Oldest first. Raises `NotFoundError` as `get_thread`."""
    thread = get_thread(store, caller, thread_id)
    kind = MESSAGES.below(THREADS, thread.id)
    return store.find(kind, Query(order_by="number", limit=limit, cursor=cursor))


@dataclass(frozen=True, slots=True)
class Recalled:
    """What an answer remembers of its thread: the latest turns, oldest first, their questions as they were
    searched, and in short what was said before them."""

    turns: tuple[Turn, ...] = ()
    searched: tuple[str, ...] = ()
    earlier: str = ""


def recall(store: AccountStore, thread: Thread) -> Recalled:
    if not thread.message_count:
        return Recalled()
    kind = MESSAGES.below(THREADS, thread.id)
    unfolded = (("number", ">=", thread.earlier_count),)
    query = Query(where=unfolded, order_by="-number", limit=_HISTORY_MESSAGES)
    latest = store.find(kind, query).items[::-1]
    return Recalled(
        tuple(Turn(message.role, message.text) for message in latest),
        tuple(message.searched or message.text for message in latest if message.role is TurnRole.USER),
        thread.earlier,
    )


def delete_thread(store: AccountStore, caller: Caller, thread_id: str) -> None:
    """Deletes a thread with its messages, its runs and its summary. Cut off in the middle it can be asked for
    again: the thread's record goes last. Raises `NotFoundError`."""
    thread = get_thread(store, caller, thread_id)
    gone = False
    while not gone:
        _delete_every(store, MESSAGES.below(THREADS, thread.id), Query(limit=_BATCH))
        _delete_every(store, RUNS, Query(where=(("thread_id", "==", thread.id),), limit=_BATCH))
        gone = store.transact(partial(_delete_if_empty, thread_id=thread.id))


def _delete_every(store: AccountStore, kind: Kind[Any], query: Query) -> None:
    while found := store.find(kind, query).items:
        store.delete_many(kind, [record.id for record in found])


def _delete_if_empty(tx: Transaction, *, thread_id: str) -> bool:
    """False where an answer came in between."""
    if tx.find(MESSAGES.below(THREADS, thread_id), Query(limit=1)):
        return False
    tx.delete(THREADS, thread_id)
    return True


def get_run(store: AccountStore, caller: Caller, run_id: str) -> Run:
    """Raises `NotFoundError` for what is absent or somebody else's."""
    run = store.get(RUNS, run_id)
    if run is None or run.owner != caller.principal:
        raise NotFoundError(f"There is no run {run_id}.")
    return run


def record_run(
    store: AccountStore, thread: Thread, run: Run, messages: Sequence[Message], *, is_new: bool
) -> None:
    """Stores a run with the messages that it adds, and counts what it cost, all or nothing. The messages'
    numbers are given here, so two answers in one thread at once get places of their own. Of a thread that was
    deleted meanwhile nothing comes back; what the run cost counts all the same."""
    kind = MESSAGES.below(THREADS, thread.id)
    shares = Counter[str]()
    for item in run.context:
        shares[item.knowledge_base_id] += item.tokens

    def body(tx: Transaction) -> None:
        current = tx.get(THREADS, thread.id)
        if current is None and not is_new:
            count_run(tx, run.id, run.spent, shares, run.finished_at)
            return
        if not messages:  # a run that failed leaves no trace in the conversation
            tx.put(RUNS, run)
            count_run(tx, run.id, run.spent, shares, run.finished_at)
            return
        current = current or thread
        for offset, message in enumerate(messages):
            tx.put(kind, replace(message, number=current.message_count + offset))
        count = current.message_count + len(messages)
        tx.put(THREADS, replace(current, message_count=count, updated_at=run.finished_at))
        tx.put(RUNS, run)
        count_run(tx, run.id, run.spent, shares, run.finished_at)

    store.transact(body)


def thread_title(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARACTERS else line[: _TITLE_CHARACTERS - 1].rstrip() + "…"
