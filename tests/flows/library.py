"""Documents and knowledge bases for flow tests, made as the API makes them."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.accounts import Caller, Permission, Plan
from shared.domain.knowledge import Document, KnowledgeBase, KnowledgeBaseType
from shared.ingest.flow import Outcome, advance
from shared.library.knowledge_bases import NewKnowledgeBase, create_knowledge_base
from shared.library.objects import RevisionRef
from shared.library.uploads import FileInfo, create_from_bytes, replace_content
from shared.records import DOCUMENTS
from tests.flows.workbench import Workbench


def caller(account_id: str, *departments: str) -> Caller:
    """A caller with every permission: of these departments, or of all where none is named."""
    limited = frozenset(departments) if departments else None
    return Caller(account_id, Plan.PRO, "key_test", frozenset(Permission), limited)


def make_base(bench: Workbench, who: Caller, name: str = "Handbook", **changes: object) -> KnowledgeBase:
    new = replace(NewKnowledgeBase(name, KnowledgeBaseType.FILES, is_auto_context=True), **changes)  # type: ignore[arg-type]
    return create_knowledge_base(bench.store.of(who.account_id), bench.clock, who, new)


def upload(bench: Workbench, who: Caller, base: KnowledgeBase, text: str, name: str = "a.md") -> Document:
    data = text.encode()
    return create_from_bytes(bench, who, base.id, FileInfo(name, "text/markdown", len(data)), data)


def change(bench: Workbench, who: Caller, document: Document, text: str) -> Document:
    data = text.encode()
    return replace_content(bench, who, document.id, FileInfo("a.md", "text/markdown", len(data)), data)


def ref_of(who: Caller, document: Document, revision: int | None = None) -> RevisionRef:
    return RevisionRef(who.account_id, document.id, revision or document.latest_revision)


def ingest(bench: Workbench, who: Caller, document: Document) -> Document:
    """Advances until the revision is settled, emptying the queue as Cloud Tasks would."""
    ref = ref_of(who, document)
    outcome = advance(bench, ref)
    for _ in range(200):
        if outcome not in (Outcome.PARKED, Outcome.RETRY):
            return read(bench, who, document)
        tasks = bench.queue.take("/advance")
        assert len(tasks) == 1
        bench.clock.time = max(bench.clock.time, tasks[0].at or bench.clock.time)
        outcome = advance(bench, ref)
    raise AssertionError("the work does not end")


def read(bench: Workbench, who: Caller, document: Document) -> Document:
    found = bench.store.of(who.account_id).get(DOCUMENTS, document.id)
    assert found is not None
    return found
