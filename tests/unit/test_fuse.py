"""One order out of two scores: neither leg is lost, boosts stay small, and tiny scopes do not run wild."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.models import EmbeddingProfile
from shared.index.search import Found, Hit, Spread
from shared.retrieve.fuse import Ranked, fuse, ordered, rank

PROFILE = EmbeddingProfile("test/8", 8, 0.0, (("run", 0.3), ("message", 0.2)), 512)
UNRELATED = Spread(1_000, 0.2, 0.06)


def hit(name: str, similarity: float, lexical: float = 0.0) -> Hit:
    return Hit(name, "d", 1, "c", 0, 0, 1, (), None, None, "kb", similarity, lexical, 0.0)


def found(*hits: Hit, spread: Spread = UNRELATED, vectors: np.ndarray | None = None) -> Found:
    """Of vectors that have nothing in common, unless others are given."""
    each = np.eye(len(hits), max(len(hits), 8)) if vectors is None else vectors
    return Found(hits, (), 10.0, 0, spread, each.astype(np.float16))


def order(of: Found) -> list[str]:
    return [ranked.hit.passage_id for ranked in rank(of, PROFILE)]


def test_words_decide_where_vectors_do_not_and_the_other_way_round() -> None:
    assert order(found(hit("a", 0.3), hit("b", 0.3, 9.0))) == ["b", "a"]
    assert order(found(hit("a", 0.3, 4.0), hit("b", 0.6, 4.0))) == ["b", "a"]
    # No vector at all (by words only), and no word in common (a question in another script).
    dark = found(hit("a", 0.0, 3.0), hit("b", 0.0, 5.0), spread=Spread(), vectors=np.zeros((2, 8)))
    assert order(dark) == ["b", "a"]
    assert order(found(hit("a", 0.3), hit("b", 0.5))) == ["b", "a"]


def test_a_passage_whose_vector_is_of_another_model_is_not_held_against_it() -> None:
    vectors = np.diag([1.0, 0.0])
    scores = fuse(found(hit("near", 0.21, 6.0), hit("other", 0.0, 6.0), vectors=vectors), PROFILE)
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


def test_likeness_to_the_best_lifts_what_says_the_same() -> None:
    hits = (hit("a", 0.6, 9.0), hit("b", 0.55, 8.0), hit("c", 0.5, 8.0), hit("d", 0.3), hit("e", 0.3))
    vectors = np.eye(5)
    vectors[4, :3] = 0.7
    assert order(found(*hits, vectors=vectors)).index("e") < order(found(*hits, vectors=vectors)).index("d")


def test_a_handful_of_passages_has_the_spread_of_unrelated_text_not_its_own() -> None:
    near, far = fuse(found(hit("a", 0.62), hit("b", 0.61), spread=Spread(2, 0.615, 0.005)), PROFILE)
    assert near - far < 0.05, "a hundredth of cosine is no difference"


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 200)), max_size=12),
    st.integers(0, 10_000),
    st.floats(-0.5, 0.9),
    st.floats(0, 0.3),
)
def test_scores_are_chances_and_more_evidence_is_never_worse(
    pairs: list[tuple[float, float]], passages: int, mean: float, deviation: float
) -> None:
    hits = [hit(str(n), similarity, lexical) for n, (similarity, lexical) in enumerate(pairs)]
    of = found(*hits, spread=Spread(passages, mean, deviation))
    scores = fuse(of, PROFILE)
    assert all(0 <= score <= 1 for score in scores)
    for one, score in zip(hits, scores, strict=True):
        for other, others in zip(hits, scores, strict=True):
            if one.similarity <= other.similarity and one.lexical <= other.lexical and len(hits) <= 3:
                assert score <= others + 1e-9


@given(st.floats(0.01, 0.99), st.floats(0.5, 1.5), st.floats(0.5, 1.5))
def test_a_boost_moves_with_votes_and_keeps_a_chance_a_chance(fused: float, low: float, high: float) -> None:
    base = Ranked(hit("a", 0.5), fused)
    assert base.score == pytest.approx(fused)
    low, high = sorted((low, high))
    assert 0 < replace(base, boost=low).score <= replace(base, boost=high).score < 1


def test_no_boost_lifts_a_passage_over_one_that_is_clearly_better() -> None:
    clear, weak = Ranked(hit("clear", 0.6), 0.9, boost=0.5), Ranked(hit("weak", 0.3), 0.5, boost=1.5)
    assert ordered([weak, clear])[0] is clear
    alike = [Ranked(hit("a", 0.5), 0.70), Ranked(hit("b", 0.5), 0.68, boost=1.5)]
    assert ordered(alike)[0].hit.passage_id == "b"
