"""What answers keep of a document goes with it: quotes in citations, quoted lines, the context of runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from shared.domain.conversation import Citation, Message, Run
from shared.domain.redaction import redacted, without_quote
from shared.ports import AccountStore, Kind, Query, Transaction
from shared.records import MESSAGES, RUNS, THREADS

_BATCH = 100


def forget_document(store: AccountStore, document_id: str) -> int:
    """Removes every stored quote of a document from runs and messages; how many citations lost theirs.

    Safe to run again: what is done already is not found.
    """
    where = (("document_ids", "array_contains", document_id),)
    forgotten = 0
    while runs := store.find(RUNS, Query(where=where, limit=_BATCH)).items:
        for run in runs:
            kind = MESSAGES.below(THREADS, run.thread_id)
            ids = [m.id for m in store.find(kind, Query(where=(("run_id", "==", run.id),))).items]
            forgotten += store.transact(
                partial(_forget, kind=kind, message_ids=ids, run_id=run.id, document_id=document_id)
            )
    _forget_summaries(store, document_id)
    return forgotten


def _forget_summaries(store: AccountStore, document_id: str) -> None:
    """A thread's summary of turns that quoted the document goes as a whole; it is made anew from what is left
    of them."""
    where = (("earlier_documents", "array_contains", document_id),)
    while threads := store.find(THREADS, Query(where=where, limit=_BATCH)).items:
        for thread in threads:
            store.transact(partial(_forget_summary, thread_id=thread.id))


def _forget_summary(tx: Transaction, *, thread_id: str) -> None:
    thread = tx.get(THREADS, thread_id)
    if thread is not None:
        tx.put(THREADS, replace(thread, earlier="", earlier_count=0, earlier_documents=()))


def _forget(
    tx: Transaction, *, kind: Kind[Message], message_ids: list[str], run_id: str, document_id: str
) -> int:
    run = tx.get(RUNS, run_id)
    messages = tx.get_many(kind, message_ids)
    if run is None:
        return 0
    for message in messages.values():
        if document_id in message.document_ids:
            tx.put(kind, _message_without(message, document_id))
    tx.put(RUNS, _run_without(run, document_id))
    return len(_numbers(run.citations, document_id))


def _message_without(message: Message, document_id: str) -> Message:
    return replace(
        message,
        text=redacted(message.text, _numbers(message.citations, document_id)),
        citations=_without_quotes(message.citations, document_id),
        document_ids=tuple(one for one in message.document_ids if one != document_id),
    )


def _run_without(run: Run, document_id: str) -> Run:
    return replace(
        run,
        answer=redacted(run.answer, _numbers(run.citations, document_id)),
        citations=_without_quotes(run.citations, document_id),
        context=tuple(item for item in run.context if item.document_id != document_id),
        document_ids=tuple(one for one in run.document_ids if one != document_id),
    )


def _numbers(citations: tuple[Citation, ...], document_id: str) -> set[int]:
    return {citation.n for citation in citations if citation.document_id == document_id}


def _without_quotes(citations: tuple[Citation, ...], document_id: str) -> tuple[Citation, ...]:
    return tuple(without_quote(one) if one.document_id == document_id else one for one in citations)
