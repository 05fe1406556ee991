"""Search over the passages in scope: by vector and by words, exact scores for the best of either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from shared.index.bm25 import DEFAULT, Lexical, Parameters, bm25
from shared.index.cosine import approximate, exact
from shared.index.loaded import LoadedSegment
from shared.index.postings import postings
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import QueryTerm, stemmer_of

_S = TypeVar("_S", bound=np.generic)
Vector = npt.NDArray[np.float32]

# Twice the error of the approximate cosine: what comes this close to the last of the best may belong to them.
_MARGIN = 1e-4
_UNSEEN = -2.0


class Hit(NamedTuple):
    """A passage that matches. `similarity` is the cosine (0 where its vector is of another model, or there is
    none), `lexical` the BM25 score, `held` the share of the question's idf whose terms the passage holds.

    The fields before the scores are those of `rows.Where`, in its order; `ordinal` is its chunk's place in
    the document; `start`, `end` and `header` count in the chunk's text.
    """

    passage_id: str
    document_id: str
    revision: int
    chunk_id: str
    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None
    header: tuple[int, int] | None
    knowledge_base_id: str
    similarity: float
    lexical: float
    held: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of the question's cosine with the `passages` in scope that have vectors of
    its model."""

    passages: int = 0
    mean: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """`hits` are ordered by similarity, then by lexical score. `idf` has one value a term of the question,
    over the passages in scope; `idf_mass` is their sum without stop words that nothing holds, and more than
    any `lexical` score can reach. `unseen` counts the other terms that nothing in scope holds.

    `vectors` are the hits', float16 [hits, dimensions]; a row of zeros where there is none to compare.
    """

    hits: tuple[Hit, ...]
    idf: tuple[float, ...]
    idf_mass: float
    unseen: int
    spread: Spread
    vectors: npt.NDArray[np.float16]

    def likeness(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """The cosines of some hits with all, [rows, hits]; 0 where there is no vector."""
        if not len(rows) or not self.vectors.size:
            return np.zeros((len(rows), len(self.hits)), dtype=np.float32)
        return np.stack([approximate(self.vectors, self.vectors[row]) for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class ScopePart:
    """The index of one knowledge base; `only` narrows it to some documents."""

    index: KnowledgeBaseIndex
    only: frozenset[str] | None = None


class SearchScope:
    """The passages that one question may find, as they were when the scope was taken. Safe to share."""

    def __init__(self, parts: Sequence[ScopePart]) -> None:
        self._parts = tuple(parts)
        self._segments = [segment for part in parts for segment in part.index.segments]
        sizes = [segment.rows for segment in self._segments]
        self._ends = np.cumsum(sizes, dtype=np.intp)
        self._starts = [int(end) - size for end, size in zip(self._ends, sizes, strict=True)]
        self._part_starts = list(accumulate((part.index.rows for part in parts), initial=0))[:-1]

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages that passages in scope were stemmed by, for `query_terms`."""
        return frozenset(language for segment in self._segments for language in segment.languages)

    @cached_property
    def passages(self) -> int:
        """How many passages are in scope."""
        return int(np.count_nonzero(self._alive))

    def search(
        self,
        vector: Vector | None,
        terms: Sequence[QueryTerm],
        *,
        fingerprint: str,
        limit: int,
        exclude: Collection[str] = (),
        parameters: Parameters = DEFAULT,
    ) -> Found:
        """The best `limit` by cosine and the best `limit` by BM25, together, each with both scores.

        `vector` is float32 of length 1, made by the model that `fingerprint` names; vectors of other models
        are not compared. `exclude` names documents that are left out.
        """
        alive = self._alive_without(exclude)
        found = postings([part.index for part in self._parts], self._part_starts, terms)
        lexical = bm25(
            found,
            terms,
            self._lengths,
            alive,
            stopped=self._stopped(terms, alive),
            parameters=parameters,
        )
        similar = self._similar(vector, fingerprint, alive)
        by_words = _best(lexical.scores, limit, above=0.0)
        by_vector = _best(similar, limit, above=_UNSEEN, margin=_MARGIN)
        near = self._near(np.union1d(by_vector, by_words), vector, fingerprint)
        nearest = sorted(by_vector.tolist(), key=lambda row: -near.similarities[row])[:limit]
        hits = self._hits(sorted({*nearest, *by_words.tolist()}), near.similarities, lexical)
        hits.sort(key=lambda row_hit: (-row_hit[1].similarity, -row_hit[1].lexical, row_hit[1].passage_id))
        return Found(
            tuple(hit for _, hit in hits),
            tuple(lexical.idf.tolist()),
            lexical.mass,
            lexical.unseen,
            _spread(similar),
            near.of([row for row, _ in hits]),
        )

    @cached_property
    def _lengths(self) -> npt.NDArray[np.uint32]:
        return _joined([part.index.lengths for part in self._parts], np.uint32)

    @cached_property
    def _alive(self) -> npt.NDArray[np.bool_]:
        alive = [
            part.index.alive if part.only is None else part.index.alive & part.index.of_documents(part.only)
            for part in self._parts
        ]
        return _joined(alive, np.bool_)

    def _alive_without(self, document_ids: Collection[str]) -> npt.NDArray[np.bool_]:
        if not document_ids:
            return self._alive
        excluded = [part.index.of_documents(document_ids) for part in self._parts]
        return self._alive & ~_joined(excluded, np.bool_)

    def _similar(
        self, vector: Vector | None, fingerprint: str, alive: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float32]:
        similar = np.full(len(alive), _UNSEEN, dtype=np.float32)
        if vector is None:
            return similar
        query = vector.astype(np.float16)
        for segment, start in zip(self._segments, self._starts, strict=True):
            if _comparable(segment, fingerprint):
                similar[start : start + segment.rows] = approximate(segment.vectors, query)
        similar[~alive] = _UNSEEN
        return similar

    def _stopped(
        self, terms: Sequence[QueryTerm], alive: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.intp] | None:
        """How many passages leave out each term as a stop word; None where no term is one."""
        if not any(term.stop_in for term in terms):
            return None
        passages: Counter[str] = Counter()
        for part, first in zip(self._parts, self._part_starts, strict=True):
            live = part.index.languages_of[alive[first : first + part.index.rows]]
            counts = np.bincount(live, minlength=len(part.index.languages)).tolist()
            for language, count in zip(part.index.languages, counts, strict=True):
                passages[stemmer_of(language)] += count
        return np.array([sum(passages[name] for name in term.stop_in) for term in terms], dtype=np.intp)

    def _near(self, rows: npt.NDArray[np.intp], vector: Vector | None, fingerprint: str) -> _Near:
        similarities = dict.fromkeys(rows.tolist(), 0.0)
        chosen: list[int] = []
        vectors: list[npt.NDArray[np.float16]] = []
        for row, place in zip(similarities, self._places(rows), strict=True):
            segment = self._segments[place]
            if _comparable(segment, fingerprint):
                chosen.append(row)
                vectors.append(segment.vectors[row - self._starts[place]])
        if vector is None or not chosen:
            return _Near(similarities, {}, np.zeros((0, 0), dtype=np.float16))
        stacked = np.stack(vectors)
        similarities.update(zip(chosen, exact(stacked, vector).tolist(), strict=True))
        return _Near(similarities, {row: place for place, row in enumerate(chosen)}, stacked)

    def _hits(
        self, rows: Sequence[int], similarities: Mapping[int, float], lexical: Lexical
    ) -> list[tuple[int, Hit]]:
        """Each with its row."""
        mass = lexical.mass or 1.0
        scores = zip(lexical.scores[rows].tolist(), (lexical.held[rows] / mass).tolist(), strict=True)
        return [
            (
                row,
                Hit(
                    *self._segments[place].where(row - self._starts[place]),
                    knowledge_base_id=self._knowledge_base_ids[place],
                    similarity=min(similarities[row], 1.0),  # float16 lengthens a vector by some millionths
                    lexical=score,
                    held=held,
                ),
            )
            for row, place, (score, held) in zip(rows, self._places(rows), scores, strict=True)
        ]

    def _places(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> list[int]:
        """The segment of each row."""
        places: list[int] = self._ends.searchsorted(rows, side="right").tolist()
        return places

    @cached_property
    def _knowledge_base_ids(self) -> tuple[str, ...]:
        return tuple(part.index.knowledge_base_id for part in self._parts for _ in part.index.segments)


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """Rows with their exact cosines, and the vectors of those that have one, `places` in `vectors` by row."""

    similarities: Mapping[int, float]
    places: Mapping[int, int]
    vectors: npt.NDArray[np.float16]

    def of(self, rows: Sequence[int]) -> npt.NDArray[np.float16]:
        """The vectors of some rows, in their order; zeros where there is none."""
        if len(self.places) == len(self.similarities):
            return self.vectors[[self.places[row] for row in rows]]
        found = np.zeros((len(rows), self.vectors.shape[1]), dtype=np.float16)
        here = [(n, self.places[row]) for n, row in enumerate(rows) if row in self.places]
        if here:
            at, places = np.array(here).T
            found[at] = self.vectors[places]
        return found


def _spread(similar: npt.NDArray[np.float32]) -> Spread:
    compared = similar[similar > _UNSEEN]
    if not len(compared):
        return Spread()
    return Spread(len(compared), float(compared.mean()), float(compared.std()))


def _comparable(segment: LoadedSegment, fingerprint: str) -> bool:
    return segment.fingerprint == fingerprint and segment.vectors.size > 0


def _best(
    scores: npt.NDArray[np.floating[Any]], limit: int, *, above: float, margin: float = 0.0
) -> npt.NDArray[np.intp]:
    """The rows with the `limit` highest scores above a bound, in no order; with a margin also those that come
    so close to the last of them."""
    count = min(limit, len(scores))
    if count <= 0:
        return np.zeros(0, dtype=np.intp)
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    last = float(scores[best].min())
    if margin and last > above:
        return np.flatnonzero(scores >= last - margin)
    return best[scores[best] > above]


def _joined(arrays: Sequence[npt.NDArray[_S]], dtype: type[_S]) -> npt.NDArray[_S]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)
