"""What has become of the sources of an old answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.accounts import Caller
from shared.domain.conversation import Citation
from shared.domain.knowledge import Document, DocumentStatus
from shared.domain.redaction import redacted, without_quote
from shared.ports import AccountStore, Query
from shared.records import DOCUMENTS, KNOWLEDGE_BASES, OUTLINES


class Standing(StrEnum):
    """`changed`: the document has a newer version in which the cited section is not as it was. `gone`: the
    document was deleted, or the caller may not see it any more."""

    CURRENT = "current"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Cited:
    citation: Citation
    standing: Standing


def standings(
    store: AccountStore, caller: Caller, citations: Sequence[Citation]
) -> Mapping[tuple[str, str, int], Standing]:
    """By (document, chunk, version). One batch read of documents and one of knowledge bases, and the outline
    of each document that has a newer version."""
    if not citations:
        return {}
    documents = store.get_many(DOCUMENTS, sorted({one.document_id for one in citations}))
    bases = store.get_many(KNOWLEDGE_BASES, sorted({one.knowledge_base_id for one in citations}))
    visible = {
        base.id for base in bases.values() if not base.deleting and caller.reaches(base.department_ids)
    }
    outlines: dict[str, frozenset[str]] = {}
    found: dict[tuple[str, str, int], Standing] = {}
    for one in citations:
        document = documents.get(one.document_id)
        if (
            document is None
            or document.status is DocumentStatus.DELETING
            or one.knowledge_base_id not in visible
        ):
            found[_key(one)] = Standing.GONE
        elif document.published is None or document.published.revision == one.version:
            found[_key(one)] = Standing.CURRENT
        else:
            if document.id not in outlines:
                outlines[document.id] = _chunk_ids(store, document)
            same = one.chunk_id in outlines[document.id]
            found[_key(one)] = Standing.CURRENT if same else Standing.CHANGED
    return found


def present(
    text: str, citations: Sequence[Citation], found: Mapping[tuple[str, str, int], Standing]
) -> tuple[str, tuple[Cited, ...]]:
    """An answer as it may be shown now: what quotes a source that is gone has lost the quotation."""
    cited = tuple(Cited(one, found[_key(one)]) for one in citations)
    gone = {one.citation.n for one in cited if one.standing is Standing.GONE}
    shown = tuple(
        Cited(without_quote(one.citation), one.standing) if one.citation.n in gone else one for one in cited
    )
    return (redacted(text, gone) if gone else text), shown


def _key(citation: Citation) -> tuple[str, str, int]:
    return citation.document_id, citation.chunk_id, citation.version


def _chunk_ids(store: AccountStore, document: Document) -> frozenset[str]:
    if document.published is None:
        return frozenset()
    where = (("document_id", "==", document.id), ("revision", "==", document.published.revision))
    outlines = store.find(OUTLINES, Query(where=where, limit=1)).items
    return frozenset(entry.chunk_id for outline in outlines for entry in outline.entries)
