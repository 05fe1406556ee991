"""After a publication: what only the revisions before it needed goes, copies of what it replaced are made
whole, and small segments are merged.

Runs as a task of its own, so that nobody waits for it; repeating it does no harm.
"""

from __future__ import annotations

from shared.domain.knowledge import Document, DocumentStatus
from shared.domain.text import Outline
from shared.index.merge import merge
from shared.index.publish import drop_segments
from shared.library.contents import release_content
from shared.library.deps import LibraryDeps
from shared.library.objects import RevisionRef, prefix
from shared.ports import Query, Transaction
from shared.records import CHUNKS, DOCUMENTS, OUTLINES


def tidy(deps: LibraryDeps, ref: RevisionRef) -> str:
    """Tidies behind the document's published revision; says what it did in a word."""
    store = deps.store.of(ref.account_id)
    outlines = list(store.every(OUTLINES, Query(where=(("document_id", "==", ref.document_id),))))
    document = store.transact(lambda transaction: _drop_old(transaction, ref.document_id, outlines))
    if document is None or document.published is None:
        return "nothing"
    published = document.published.revision
    drop_segments(store, document.id, below=published)
    lowest = min((outline.revision for outline in outlines), default=published - 1)
    for revision in range(max(1, lowest), published):
        start = prefix(ref.account_id, document.id, revision)
        deps.uploads.delete_prefix(start)
        deps.derived.delete_prefix(start)
    if published > 1:
        release_content(deps, ref.account_id, document.id)  # bytes of the past may be another document's now
    while merge(store, document.knowledge_base_id):
        pass
    return "tidied"


def _drop_old(transaction: Transaction, document_id: str, outlines: list[Outline]) -> Document | None:
    """Deletes chunks and outlines that the published revision does not have.

    Only while no newer revision is on its way: that one may have written the same chunks again, and its own
    tidying comes. The transaction reads the document, so a claim that comes in between makes it start over.
    """
    document = transaction.get(DOCUMENTS, document_id)
    if document is None or document.published is None or document.status is DocumentStatus.DELETING:
        return None
    published = document.published.revision
    if document.latest_revision != published:
        return None
    needed = {e.chunk_id for outline in outlines if outline.revision >= published for e in outline.entries}
    for outline in outlines:
        if outline.revision < published:
            for chunk_id in {entry.chunk_id for entry in outline.entries} - needed:
                transaction.delete(CHUNKS, chunk_id)
            transaction.delete(OUTLINES, outline.id)
    return document
