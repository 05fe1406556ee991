"""The judged sets beside the checkout, indexed and searched as the product does it.

Vectors are kept under `.almanac/bench`, by model: a first run embeds for some minutes, later ones for none.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shared.adapters.local.embedder import local_embedder
from shared.index.rows import IndexPassage
from shared.index.search import Found, ScopePart, SearchScope
from shared.index.segment import pack, unpack
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import query_terms, terms
from shared.ports import Embedder

ROOT = Path(__file__).resolve().parents[2]
SETS = ROOT.parent / "shared" / "retrieval"
CACHE = ROOT / ".almanac" / "bench"

Vectors = npt.NDArray[np.float32]
# Questions of one set on the passages of another.
_BORROWED = {"xquad-zh2en": ("xquad-zh", "xquad-en")}


@dataclass(frozen=True)
class Text:
    id: str
    heading: str
    text: str


@dataclass(frozen=True)
class Judged:
    """`relevant` maps a question's id to the passages that answer it, with their grades."""

    name: str
    questions: Sequence[Text]
    passages: Sequence[Text]
    relevant: Mapping[str, Mapping[str, int]]
    question_vectors: Vectors
    passage_vectors: Vectors
    fingerprint: str

    def scope(self, only: Collection[str] | None = None) -> SearchScope:
        """The passages (some of them) as one knowledge base."""
        chosen = [
            (passage, vector)
            for passage, vector in zip(self.passages, self.passage_vectors, strict=True)
            if only is None or passage.id in only
        ]
        rows = [
            IndexPassage(
                passage_id=passage.id,
                document_id="corpus",
                revision=1,
                chunk_id=passage.id,
                ordinal=0,
                start=0,
                end=len(passage.text),
                heading_path=(passage.heading,),
                pages=None,
                terms=terms(passage.text),
                vector=vector,
                heading_terms=terms(passage.heading),
            )
            for passage, vector in chosen
        ]
        segments = [unpack(segment) for segment in pack(rows, "kb", self.fingerprint)]
        return SearchScope([ScopePart(KnowledgeBaseIndex("kb", 1, segments, {}))])

    def search(self, scope: SearchScope, question: str, vector: Vectors) -> Found:
        words = query_terms(question, scope.languages)
        return scope.search(vector, words, fingerprint=self.fingerprint, limit=50)

    @cached_property
    def text_of(self) -> Mapping[str, str]:
        return {passage.id: passage.text for passage in self.passages}


def load(name: str, embedder: Embedder | None = None, files: Collection[str] | None = None) -> Judged:
    """`files` narrows the passages to those of some files. Raises `FileNotFoundError` where the sets are not
    beside the checkout."""
    embedder = embedder or local_embedder()
    asked, held = _BORROWED.get(name, (name, name))
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (SETS / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, grade = line.split("\t")
        if int(grade) > 0:
            relevant[question][passage] = int(grade)
    passages = [
        text for text in _texts(held, "corpus") if files is None or text.id.rpartition("#")[0] in files
    ]
    return Judged(
        name,
        questions(asked),
        passages,
        relevant,
        _vectors(embedder, f"{asked}-queries", [q.text for q in questions(asked)], as_query=True),
        _vectors(
            embedder, f"{held}-corpus", [f"{p.heading}\n{p.text}".strip() for p in passages], as_query=False
        ),
        embedder.profile.fingerprint,
    )


def questions(name: str) -> list[Text]:
    """The questions of a set."""
    return _texts(name, "queries")


def _texts(name: str, kind: str) -> list[Text]:
    lines = (SETS / name / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Text(row["id"], row.get("title") or "", row["text"]) for row in rows]


def _vectors(embedder: Embedder, name: str, texts: Sequence[str], *, as_query: bool) -> Vectors:
    mark = hashlib.sha256("\0".join([embedder.profile.fingerprint, *texts]).encode()).hexdigest()[:12]
    path = CACHE / f"{name}-{mark}.npy"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        if as_query:
            rows = [embedder.query(text).vectors for text in texts]
        else:
            starts = range(0, len(texts), embedder.batch_size)
            rows = [embedder.passages(texts[at : at + embedder.batch_size]).vectors for at in starts]
        np.save(path, np.concatenate(rows).astype(np.float16))
    made: Vectors = np.load(path).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)
