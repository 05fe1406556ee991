"""What stands once in ten thousand passages is found first, although no vector is near it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shared.domain.models import EmbeddingProfile
from shared.index.rows import IndexPassage
from shared.index.search import ScopePart, SearchScope
from shared.index.segment import pack, unpack
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import query_terms, terms
from shared.retrieve.fuse import STRONG_LEXICAL_SHARE, rank
from shared.retrieve.select import passes
from tests.unit.index_passages import FINGERPRINT

PASSAGES = 10_000
DIMENSIONS = 32
PROFILE = EmbeddingProfile(FINGERPRINT, DIMENSIONS, 0.0, (("run", 0.3), ("message", 0.2)), 512)
NEEDLES = {
    "part": "Order the gasket as part QX-99-4711-B, together with two clamps.",
    "error": "When the log shows E_CONN_RESET_52, restart the pump controller.",
    "person": "Siobhan Oyelaran keeps the keys of the cold store and of the workshop.",
    "chinese": "阀门卡住时，控制器会报告故障 KZ-3380，请联系值班员欧阳靖。",
}
_WORDS = (
    *(
        "pump",
        "valve",
        "gasket",
        "controller",
        "log",
        "restart",
        "order",
        "part",
        "workshop",
        "keys",
        "store",
    ),
    *("error", "code", "report", "clamp", "filter", "shift", "crew", "manual", "pressure", "oil", "service"),
    *("motor", "sensor", "panel", "cable", "fuse", "drain", "inlet", "outlet", "safety", "check"),
)


@cache
def haystack() -> SearchScope:
    rng = np.random.default_rng(11)
    texts = {f"hay{n}": _hay(rng, n) for n in range(PASSAGES - len(NEEDLES))} | NEEDLES
    vectors = rng.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        IndexPassage(name, "doc", 1, name, 0, 0, len(text), (), None, terms(text), vector, language="en")
        for (name, text), vector in zip(texts.items(), vectors, strict=True)
    ]
    segments = [unpack(segment) for segment in pack(rows, "kb", FINGERPRINT)]
    return SearchScope([ScopePart(KnowledgeBaseIndex("kb", 1, segments, {}))])


def _hay(rng: np.random.Generator, number: int) -> str:
    """A dozen words, with codes and names that are near those that are asked for."""
    words = " ".join(rng.choice(_WORDS, 12))
    return (
        f"{words} QX-{number % 90:02}-{number} E_CONN_{number % 50} Siobhan Murphy{number} 控制器 KZ-{number}"
    )


@pytest.mark.parametrize(
    ("question", "needle"),
    [
        ("QX-99-4711-B", "part"),
        ("Which gasket is part qx-99-4711-b?", "part"),
        ("What do I do about E_CONN_RESET_52?", "error"),
        ("Who is Siobhan Oyelaran?", "person"),
        ("oyelaran", "person"),
        ("欧阳靖是谁？", "chinese"),
    ],
)
def test_a_needle_is_first_and_passes_without_a_near_vector(question: str, needle: str) -> None:
    scope = haystack()
    # A vector right on another passage: the cosine alone would answer with that one.
    decoy = scope.search(None, query_terms("pump"), fingerprint=FINGERPRINT, limit=1).hits[0]
    vector = next(
        segment.vectors[row].astype(np.float32)
        for segment in scope._segments
        for row in range(segment.rows)
        if segment.where(row).passage_id == decoy.passage_id
    )
    vector /= np.linalg.norm(vector)
    found = scope.search(vector, query_terms(question, scope.languages), fingerprint=FINGERPRINT, limit=50)
    assert max(hit.similarity for hit in found.hits) > 0.99
    eligible = [
        ranked.hit
        for ranked in rank(found, PROFILE)
        if passes(ranked.hit.similarity, ranked.hit.held, minimum=0.3, lexical_bar=STRONG_LEXICAL_SHARE)
    ]
    assert eligible[0].passage_id == needle
