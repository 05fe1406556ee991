"""The rolling summary of a thread: turns that have left the window of the latest ones are folded into it,
each of them once.

Runs as a task after an answer, so that nobody waits for it. Cut off anywhere it runs again: the summary and
how far it reaches change in one transaction, and messages stay. Two at once: the second finds that the
summary has moved on, and starts from there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from shared.context.earlier import remembered
from shared.context.history import shortened, spoken
from shared.context.sections import BUDGETS, FOLD_ABOVE, FOLD_DOWN_TO, SectionKind
from shared.domain.conversation import Message, Thread
from shared.domain.errors import AlmanacError, ModelUnavailableError
from shared.domain.models import Fold, TokenUse, Turn
from shared.domain.plaintext import visible
from shared.domain.spending import Purpose, Spending, spent
from shared.ports import (
    AccountStore,
    Clock,
    ConversationModel,
    Query,
    Store,
    Task,
    TaskQueue,
    TokenCounter,
    Transaction,
)
from shared.records import MESSAGES, THREADS
from shared.tenancy.usage import count_search

log = logging.getLogger(__name__)

_MESSAGES = 60
_ROUNDS = 20
_AROUND = 100  # tokens of the block that the summary stands in, and of what escaping adds to it


class FoldDeps(Protocol):
    """What folding needs of the container."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def conversation_model(self) -> ConversationModel | None: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


def enqueue_fold(queue: TaskQueue, account_id: str, thread: Thread) -> None:
    """Sees to it that a thread whose window is full is folded. Never raises: the next answer tries again, and
    until then prompts make do without."""
    name = f"fold-{account_id}-{thread.id}-{thread.message_count}"
    try:
        queue.enqueue(Task("/fold", {"account": account_id, "thread": thread.id}, name=name))
    except AlmanacError:
        log.warning("folding not enqueued", exc_info=True, extra={"thread_id": thread.id})


def is_full(turns: Sequence[Turn], count_tokens: TokenCounter) -> bool:
    """Whether the turns that are not folded take more room than the window is to have."""
    return sum(count_tokens(spoken(turn)) for turn in turns) > FOLD_ABOVE


def fold(deps: FoldDeps, account_id: str, thread_id: str) -> str:
    """Folds what has left the window; says in a word what it did. Called by task, any number of times."""
    store = deps.store.of(account_id)
    done = "nothing"
    for _ in range(_ROUNDS):
        thread = store.get(THREADS, thread_id)
        if thread is None:
            return done
        leaving = _leaving(store, thread, deps.count_tokens)
        if not leaving:
            return done
        turns = [Turn(message.role, message.text) for message in leaving]
        text, use = _folded(deps, thread.earlier, turns)
        count_search(store, spent(Spending(Purpose.HISTORY, use)), {}, deps.clock.now())
        if store.transact(partial(_store, before=thread, folded=leaving, text=text)):
            done = "folded"
    return done


def _leaving(store: AccountStore, thread: Thread, count_tokens: TokenCounter) -> list[Message]:
    """The oldest exchanges that are not folded yet, as many as make the rest fit the window again."""
    kind = MESSAGES.below(THREADS, thread.id)
    query = Query(where=(("number", ">=", thread.earlier_count),), order_by="number", limit=_MESSAGES)
    waiting = list(store.find(kind, query).items)
    sizes = [count_tokens(spoken(Turn(message.role, message.text))) for message in waiting]
    if sum(sizes) <= FOLD_ABOVE and len(waiting) < _MESSAGES:
        return []
    left, cut = sum(sizes), 0
    while left > FOLD_DOWN_TO and cut + 2 < len(waiting):  # the latest exchange stays whole
        left -= sum(sizes[cut : cut + 2])
        cut += 2
    return waiting[:cut]


def _folded(deps: FoldDeps, earlier: str, turns: Sequence[Turn]) -> tuple[str, TokenUse]:
    """The new summary, and what a model took for it."""
    budget = (BUDGETS[SectionKind.EARLIER] or 0) - _AROUND
    use = TokenUse()
    if deps.conversation_model is not None:
        try:
            written = deps.conversation_model.fold(Fold(earlier, tuple(turns), budget))
            use = written.use
            text = visible(written.text).strip()
            if text:
                return shortened(text, budget, deps.count_tokens), use
        except ModelUnavailableError as error:
            log.warning("folding without the model", extra={"code": error.code})
    return remembered(earlier, turns, budget=budget, count_tokens=deps.count_tokens), use


def _store(tx: Transaction, *, before: Thread, folded: Sequence[Message], text: str) -> bool:
    """False where the thread went, was folded by somebody else, or a message lost a quotation meanwhile."""
    thread = tx.get(THREADS, before.id)
    kind = MESSAGES.below(THREADS, before.id)
    if thread is None or (thread.earlier, thread.earlier_count) != (before.earlier, before.earlier_count):
        return False
    found = tx.get_many(kind, [message.id for message in folded])
    if any(found.get(message.id) != message for message in folded):
        return False
    documents = dict.fromkeys(thread.earlier_documents)
    documents.update(dict.fromkeys(name for message in folded for name in message.document_ids))
    count = folded[-1].number + 1
    tx.put(THREADS, replace(thread, earlier=text, earlier_count=count, earlier_documents=tuple(documents)))
    return True
