"""Citations name the heading and the page of what they rest on, not of the passage that it stands in: a
passage may begin in one section, or on one page, and end in the next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shared.answer.statements import place_of, statements
from shared.domain.conversation import Citation
from shared.domain.retrieval import Retrieval, RetrievedPassage
from shared.domain.text import Outline, OutlineEntry, StoredChunk
from shared.ingest.chunk import shared_path
from shared.ingest.passages import path_at
from shared.ingest.publish import outline_id
from shared.ports import AccountStore
from shared.records import CHUNKS, OUTLINES

_HEADING_INSIDE = re.compile(r"\n {0,3}(?:#{1,6}[ \t]|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)


def placed(
    store: AccountStore, citations: Sequence[Citation], answer: str, retrieval: Retrieval
) -> tuple[Citation, ...]:
    """The citations with the place of what `answer` says with them. Reads the chunks and outlines of passages
    that have more than one heading or page in them; a citation whose words are not found stays as it is."""
    passages = {passage.id: passage for passage in retrieval.passages}
    spread = [
        passages[one.passage_id]
        for one in citations
        if one.passage_id in passages and _is_spread(passages[one.passage_id])
    ]
    if not spread:
        return tuple(citations)
    chunks = store.get_many(CHUNKS, list({passage.chunk_id: None for passage in spread}))
    names = {outline_id(passage.document_id, passage.version): None for passage in spread}
    outlines = store.get_many(OUTLINES, list(names))
    said = statements(answer)
    places = {
        passage.id: (passage, chunks[passage.chunk_id], entry)
        for passage in spread
        if passage.chunk_id in chunks and (entry := _entry(outlines, passage)) is not None
    }
    return tuple(
        _placed(one, said.get(one.n, ()), *places[one.passage_id]) if one.passage_id in places else one
        for one in citations
    )


def _is_spread(passage: RetrievedPassage) -> bool:
    pages = passage.pages
    return (pages is not None and pages[0] != pages[1]) or bool(_HEADING_INSIDE.search(passage.text))


def _entry(outlines: Mapping[str, Outline], passage: RetrievedPassage) -> OutlineEntry | None:
    outline = outlines.get(outline_id(passage.document_id, passage.version))
    entries = outline.entries if outline is not None else ()
    return next((entry for entry in entries if entry.chunk_id == passage.chunk_id), None)


def _placed(
    citation: Citation,
    said: Sequence[str],
    passage: RetrievedPassage,
    chunk: StoredChunk,
    entry: OutlineEntry,
) -> Citation:
    found = [place for statement in said if (place := place_of(statement, passage.text)) is not None]
    at = [passage.start + max(0, place - passage.lead) for place in found]
    if not at:
        return citation
    outer = tuple((heading.level, heading.title) for heading in entry.outer)
    path = shared_path([path_at(chunk.text, outer, place) for place in at])
    pages = [page for place in at if (page := _page_at(entry, place)) is not None]
    return replace(
        citation,
        heading_path=path or citation.heading_path,
        pages=(min(pages), max(pages)) if pages else citation.pages,
    )


def _page_at(entry: OutlineEntry, place: int) -> int | None:
    return next((start.page for start in reversed(entry.page_starts) if start.at <= place), None)
