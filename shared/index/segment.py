"""Segments: what a published revision writes for search, about 180 to 256 passages in one immutable record.

Reading one record per passage costs one billed read each and, in Python, two milliseconds to parse 1,536
numbers. A segment costs one read and is usable as it comes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shared.domain.ids import content_id
from shared.index.dictionary import pack_dictionary
from shared.index.layout import COLUMNS, MAX_ROWS, Sizes, write
from shared.index.loaded import LoadedSegment
from shared.index.rows import IndexPassage, Row, is_exact, row_of
from shared.ports import Kind

__all__ = [
    "SEGMENTS",
    "IndexPassage",
    "LoadedSegment",
    "Segment",
    "SegmentRef",
    "pack",
    "pack_rows",
    "unpack",
]

# A document of Firestore holds 1 MiB (1,048,576 bytes) with its name and its fields' names and values.
MAX_PAYLOAD = 1_048_576 - 4_096


@dataclass(frozen=True, slots=True)
class Segment:
    """As it is stored. `owner` names the document and revision that it was written for (see `owner_of`), and
    is empty where a merge made it. `fingerprint` is the embedding model's."""

    id: str
    knowledge_base_id: str
    owner: str
    fingerprint: str
    rows: int
    payload: bytes

    @property
    def ref(self) -> SegmentRef:
        return SegmentRef(self.id, self.rows, len(self.payload), self.fingerprint, merged=not self.owner)


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """What the manifest keeps of a segment. `merged` says that it no longer belongs to one revision."""

    id: str
    rows: int
    bytes: int
    fingerprint: str
    merged: bool = False


SEGMENTS = Kind("segments", Segment)


def owner_of(document_id: str, revision: int) -> str:
    """Sorts by document, then by revision: one range of an index finds a document's older segments."""
    return f"{document_id}:{revision:010d}"


def pack(passages: Sequence[IndexPassage], knowledge_base_id: str, fingerprint: str) -> tuple[Segment, ...]:
    """Segments of one revision's passages, in order, each as full as the store allows.

    The same passages give the same bytes and ids, so writing them twice does no harm. Raises `ValueError`
    when passages of several revisions, or vectors of several sizes, come together.
    """
    owners = {owner_of(passage.document_id, passage.revision) for passage in passages}
    if len(owners) > 1:
        raise ValueError(f"Passages of one revision are packed together, not of {sorted(owners)}")
    return pack_rows(
        [row_of(passage) for passage in passages], knowledge_base_id, fingerprint, "".join(owners)
    )


def unpack(segment: Segment) -> LoadedSegment:
    """Arrays over the segment's bytes. Raises `CorruptSegmentError`."""
    return LoadedSegment(segment.id, segment.fingerprint, segment.payload)


def pack_rows(
    rows: Sequence[Row], knowledge_base_id: str, fingerprint: str, owner: str
) -> tuple[Segment, ...]:
    """The same from rows that are packed already; a merge has no owner."""
    dimensions = {row.vector.size for row in rows}
    if len(dimensions) > 1:
        raise ValueError(f"Vectors of {sorted(dimensions)} numbers do not fit into one segment")
    return tuple(_segment(group, knowledge_base_id, fingerprint, owner) for group in _groups(rows))


def _segment(rows: Sequence[Row], knowledge_base_id: str, fingerprint: str, owner: str) -> Segment:
    payload = _payload(rows)
    name = content_id("seg", knowledge_base_id, owner, fingerprint, hashlib.sha256(payload).hexdigest())
    return Segment(name, knowledge_base_id, owner, fingerprint, len(rows), payload)


def _groups(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Runs of rows that each fit into one record."""
    start, tally = 0, _Tally()
    for place, row in enumerate(rows):
        tally.add(row)
        if place > start and (place - start >= MAX_ROWS or tally.sizes().payload_bytes > MAX_PAYLOAD):
            yield rows[start:place]
            start, tally = place, _Tally()
            tally.add(row)
    if rows:
        yield rows[start:]


class _Table:
    """Distinct strings with their places."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.bytes = 0

    def place(self, value: str) -> int:
        if value not in self.places:
            self.places[value] = len(self.places)
            self.bytes += len(_utf8(value))
        return self.places[value]


class _Tally:
    """The strings and counts of the rows so far; knows how large a segment of them is."""

    def __init__(self) -> None:
        self.passages: list[str] = []
        self.documents, self.chunks, self.headings, self.languages = (_Table() for _ in range(4))
        self._passage_bytes = 0
        self._dimensions = 0
        self._postings = 0
        self._short: set[int] = set()
        self._long: set[int] = set()
        self._leads: set[int] = set()
        self._several: set[int] = set()

    def add(self, row: Row) -> tuple[int, int, int, int]:
        """Places of the row's document, chunk, heading path and language (from 1; 0 for none)."""
        where = row.where
        self.passages.append(where.passage_id)
        self._passage_bytes += len(_utf8(where.passage_id))
        self._dimensions = row.vector.size
        self._postings += len(row.keys)
        exact = int(np.count_nonzero(is_exact(row.keys)))  # the keys are sorted
        for known, keys in (
            (self._short, row.keys[:exact].tolist()),
            (self._long, row.keys[exact:].tolist()),
        ):
            self._several |= known.intersection(keys)
            known.update(keys)
        self._leads.update((row.keys[:exact] >> np.uint64(16)).tolist())
        return (
            self.documents.place(where.document_id),
            self.chunks.place(where.chunk_id),
            self.headings.place(json.dumps(where.heading_path, ensure_ascii=False)),
            self.languages.place(row.language) + 1 if row.language else 0,
        )

    def sizes(self) -> Sizes:
        tables = (self.documents, self.chunks, self.headings, self.languages)
        return Sizes(
            len(self.passages),
            self._dimensions,
            len(self._long),
            len(self._short),
            len(self._leads),
            len(self._several),
            self._postings,
            len(self.documents.places),
            len(self.chunks.places),
            len(self.headings.places),
            len(self.languages.places),
            self._passage_bytes + sum(table.bytes for table in tables),
        )

    def strings(self) -> Iterator[str]:
        yield from self.passages
        for table in (self.documents, self.chunks, self.headings, self.languages):
            yield from table.places


def _payload(rows: Sequence[Row]) -> bytes:
    tally = _Tally()
    columns = np.array([_columns(row, tally.add(row)) for row in rows], dtype=np.uint32).T
    strings = [_utf8(string) for string in tally.strings()]
    keys = np.concatenate([row.keys for row in rows])
    counts = np.concatenate([row.counts for row in rows])
    owners = np.repeat(np.arange(len(rows), dtype=np.uint8), [len(row.keys) for row in rows])
    order = np.argsort(keys, kind="stable")  # by term; rows stay in order
    return write(
        tally.sizes(),
        {
            "vectors": np.concatenate([row.vector for row in rows]),
            **pack_dictionary(keys),
            "columns": columns,
            "ends": np.cumsum([len(string) for string in strings], dtype=np.uint32),
            "posting_rows": owners[order],
            "posting_counts": counts[order],
            "text": np.frombuffer(b"".join(strings), np.uint8),
        },
    )


def _columns(row: Row, places: Iterable[int]) -> tuple[int, ...]:
    """In the order of `layout.COLUMNS`. Page 0 says that there are no pages."""
    where = row.where
    header, pages = where.header or (0, 0), where.pages or (0, 0)
    values = (where.revision, where.ordinal, where.start, where.end, *header, *pages, row.length, *places)
    if len(values) != len(COLUMNS):
        raise ValueError(f"{len(values)} values for {len(COLUMNS)} columns")
    return values


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
