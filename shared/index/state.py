"""The index of one knowledge base in memory, as of one version. It never changes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shared.index.fences import Fence
from shared.index.lexicon import Lexicon
from shared.index.loaded import LoadedSegment


class KnowledgeBaseIndex:
    """`alive`, `lengths` and `languages_of` have one entry a row, over all segments in order; the last one
    counts in `languages`, where the first is none. `segment_starts` says at which row each segment begins.
    `nbytes` is what it holds in memory."""

    def __init__(
        self,
        knowledge_base_id: str,
        version: int,
        segments: Sequence[LoadedSegment],
        fences: Mapping[str, Fence],
    ) -> None:
        self.knowledge_base_id = knowledge_base_id
        self.version = version
        self.segments = tuple(segments)
        self.rows = sum(segment.rows for segment in segments)
        self.lengths = np.zeros(self.rows, dtype=np.uint32)
        self.alive = np.ones(self.rows, dtype=np.bool_)
        self.languages: tuple[str | None, ...] = (None, *_languages(segments))
        self.languages_of = np.zeros(self.rows, dtype=np.uint8)
        self.lexicon = Lexicon([segment.dictionary for segment in segments])
        starts: list[int] = []
        start = 0
        for segment in segments:
            starts.append(start)
            end = start + segment.rows
            self.lengths[start:end] = segment.lengths
            places = [0, *map(self.languages.index, segment.languages)]
            self.languages_of[start:end] = np.array(places, dtype=np.uint8)[segment.column("language")]
            alive = segment.alive(fences) if fences else None
            if alive is not None:
                self.alive[start:end] = alive
            start = end
        self.segment_starts = np.array(starts, dtype=np.intp)
        arrays = (self.lengths, self.alive, self.languages_of, self.segment_starts)
        for array in arrays:
            array.setflags(write=False)
        own = self.lexicon.nbytes + sum(array.nbytes for array in arrays)
        self.nbytes = own + sum(segment.nbytes for segment in segments)

    def of_documents(self, document_ids: Container[str]) -> npt.NDArray[np.bool_]:
        """Which rows are of these documents."""
        found = np.zeros(self.rows, dtype=np.bool_)
        start = 0
        for segment in self.segments:
            rows = segment.of_documents(document_ids)
            if rows is not None:
                found[start : start + segment.rows] = rows
            start += segment.rows
        return found


def _languages(segments: Sequence[LoadedSegment]) -> list[str]:
    return sorted({language for segment in segments for language in segment.languages})
