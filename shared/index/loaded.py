"""A segment in memory: views of its payload, with access by row and by term."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from shared.index.dictionary import Dictionary
from shared.index.fences import Fence
from shared.index.layout import COLUMN, COLUMNS, read
from shared.index.rows import Keys, Row, Where

# What Python needs for the objects around the arrays, and for one decoded document id.
_OBJECT_BYTES, _STRING_BYTES = 4_000, 100


class LoadedSegment:
    """Arrays of one segment, read-only. Strings are decoded when they are asked for.

    `vectors` is float16 [rows, dimensions]; `lengths` counts the terms of each passage.
    """

    def __init__(self, segment_id: str, fingerprint: str, payload: bytes) -> None:
        sizes, arrays = read(payload)
        self.id = segment_id
        self.fingerprint = fingerprint
        self.rows = sizes.rows
        self.vectors: npt.NDArray[np.float16] = arrays["vectors"].reshape(sizes.rows, sizes.dimensions)
        self._sizes = sizes
        self._columns: npt.NDArray[np.uint32] = arrays["columns"].reshape(len(COLUMNS), sizes.rows)
        # A memory view gives a Python number at a third of what an array takes for one.
        self._ends = arrays["ends"].astype(np.uint32, copy=False).data
        self._payload = payload
        self._text = sizes.text_start
        self.posting_rows: npt.NDArray[np.uint8] = arrays["posting_rows"]
        self.posting_counts: npt.NDArray[np.uint8] = arrays["posting_counts"]
        self.dictionary = Dictionary(arrays)
        self.nbytes = len(payload) + _OBJECT_BYTES + _STRING_BYTES * sizes.documents

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        return self.column("length")

    def column(self, name: str) -> npt.NDArray[np.uint32]:
        view: npt.NDArray[np.uint32] = self._columns[COLUMN[name]]
        return view

    @cached_property
    def document_ids(self) -> tuple[str, ...]:
        """The documents in it, in the order that the column `document` counts."""
        first = self.rows
        return tuple(self._string(place) for place in range(first, first + self._sizes.documents))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that its passages were stemmed by."""
        last = self._sizes.strings
        return tuple(self._string(place) for place in range(last - self._sizes.languages, last))

    def alive(self, fences: Mapping[str, Fence]) -> npt.NDArray[np.bool_] | None:
        """Which rows count; None for all of them, the usual case."""
        fenced = [place for place, name in enumerate(self.document_ids) if name in fences]
        if not fenced:
            return None
        lowest = np.zeros(len(self.document_ids), dtype=np.uint32)
        lowest[fenced] = [fences[self.document_ids[place]].revision for place in fenced]
        alive: npt.NDArray[np.bool_] = self.column("revision") >= lowest[self.column("document")]
        return None if alive.all() else alive

    def of_documents(self, document_ids: Container[str]) -> npt.NDArray[np.bool_] | None:
        """Which rows are of these documents; None when there are none."""
        wanted = np.array([name in document_ids for name in self.document_ids], dtype=np.bool_)
        return wanted[self.column("document")] if wanted.any() else None

    def document_id(self, row: int) -> str:
        return self.document_ids[int(self.column("document")[row])]

    def where(self, row: int) -> Where:
        """What the passage of a row is and where it stands."""
        (revision, ordinal, start, end, header_start, header_end, first_page, last_page, _, document, chunk,
         heading, _) = self._columns[:, row].tolist()  # fmt: skip
        chunks = self.rows + self._sizes.documents
        return Where(
            self._string(row),
            self.document_ids[document],
            revision,
            self._string(chunks + chunk),
            ordinal,
            start,
            end,
            _heading_path(self._string(chunks + self._sizes.chunks + heading)),
            (first_page, last_page) if first_page else None,
            (header_start, header_end) if header_end > header_start else None,
        )

    def row(self, row: int) -> Row:
        """One passage as it was packed."""
        keys, counts = self._terms_of_rows[row]
        language = int(self.column("language")[row])
        return Row(
            where=self.where(row),
            language=self.languages[language - 1] if language else None,
            length=int(self.lengths[row]),
            vector=self.vectors[row],
            keys=keys,
            counts=counts,
        )

    @cached_property
    def _terms_of_rows(self) -> tuple[tuple[Keys, npt.NDArray[np.uint8]], ...]:
        """Postings by row instead of by term; only a merge needs them."""
        of_posting = self.dictionary.keys()
        order = np.argsort(self.posting_rows, kind="stable")
        bounds = np.searchsorted(self.posting_rows[order], np.arange(1, self.rows))
        return tuple(
            zip(
                np.split(of_posting[order], bounds), np.split(self.posting_counts[order], bounds), strict=True
            )
        )

    def _string(self, place: int) -> str:
        start = self._text + (self._ends[place - 1] if place else 0)
        return self._payload[start : self._text + self._ends[place]].decode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _heading_path(packed: str) -> tuple[str, ...]:
    return tuple(json.loads(packed))
