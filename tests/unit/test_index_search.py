"""Search against the plainest way to compute the same."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.index.bm25 import Parameters
from shared.index.fences import Fence
from shared.index.rows import IndexPassage
from shared.index.search import ScopePart, SearchScope
from shared.index.segment import pack, unpack
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import QueryTerm, query_terms, terms
from tests.unit.index_passages import FINGERPRINT, VOCABULARY, passage, passages, unit


def index_of(
    groups: Sequence[Sequence[IndexPassage]],
    fences: dict[str, Fence] | None = None,
    *,
    fingerprint: str = FINGERPRINT,
    name: str = "kb",
) -> KnowledgeBaseIndex:
    segments = [unpack(s) for group in groups for s in pack(group, name, fingerprint)]
    return KnowledgeBaseIndex(name, 1, segments, fences or {})


def scope_of(*indexes: KnowledgeBaseIndex) -> SearchScope:
    return SearchScope([ScopePart(index) for index in indexes])


def plain_bm25(
    given_passages: Sequence[IndexPassage], question: Sequence[QueryTerm], heading: float
) -> dict[int, float]:
    """Straight from the formula."""
    lengths = [sum(p.terms.values()) for p in given_passages]
    mean = max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0
    scores = dict.fromkeys(range(len(given_passages)), 0.0)
    for term in question:
        frequency = [
            sum(
                min(p.terms.get(s, 0), 63) + heading * min(p.heading_terms.get(s, 0), 3)
                for s in term.spellings
            )
            for p in given_passages
        ]
        having = sum(
            any(s in p.terms or s in p.heading_terms for s in term.spellings) for p in given_passages
        )
        idf = math.log(1 + (len(given_passages) - having + 0.5) / (having + 0.5))
        for n, tf in enumerate(frequency):
            scores[n] += idf * tf / (tf + 1.2 * (0.5 + 0.5 * lengths[n] / mean)) if tf else 0.0
    return scores


questions = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=2, unique=True).map(
        lambda spellings: QueryTerm(tuple(spellings))
    ),
    max_size=4,
    unique=True,
)


@given(st.lists(passages(), max_size=4), questions, st.integers(1, 6), st.sampled_from([0.0, 1.0, 2.5]))
@settings(max_examples=120)
def test_the_best_by_either_score_with_both_scores(
    groups: list[list[IndexPassage]], question: list[QueryTerm], limit: int, heading: float
) -> None:
    flat = [p for group in groups for p in group]
    vector = unit([1.0, -1.0, 0.5, 0.25, 0.0, 0.0, 2.0, -0.125])
    found = scope_of(index_of(groups)).search(
        vector, question, fingerprint=FINGERPRINT, limit=limit, parameters=Parameters(heading=heading)
    )
    cosines = [float(p.vector.astype(np.float16).astype(np.float32) @ vector) for p in flat]
    lexical = plain_bm25(flat, question, heading)

    best_cosine = sorted(cosines, reverse=True)[:limit]
    best_lexical = sorted((s for s in lexical.values() if s > 0), reverse=True)[:limit]
    by_cosine = sorted((hit.similarity for hit in found.hits), reverse=True)[:limit]
    by_lexical = sorted((hit.lexical for hit in found.hits if hit.lexical > 0), reverse=True)[:limit]
    np.testing.assert_allclose(by_cosine, best_cosine, atol=1e-6)
    np.testing.assert_allclose(by_lexical, best_lexical, rtol=1e-5)
    assert len(found.hits) <= 2 * limit
    scored = {(round(c, 5), round(lexical[n], 5)) for n, c in enumerate(cosines)}
    assert all(
        any(
            math.isclose(hit.similarity, c, abs_tol=2e-5) and math.isclose(hit.lexical, s, abs_tol=2e-5)
            for c, s in scored
        )
        for hit in found.hits
    )
    assert all(left.similarity >= right.similarity for left, right in pairwise(found.hits))


@given(st.lists(passages(), min_size=1, max_size=4), questions, st.data())
@settings(max_examples=60)
def test_what_is_out_of_scope_counts_nowhere(
    groups: list[list[IndexPassage]], question: list[QueryTerm], data: st.DataObject
) -> None:
    """Fenced rows, documents that are not meant and excluded documents change no score: the result is that of
    an index that never had them."""
    documents = sorted({p.document_id for group in groups for p in group})
    fences = data.draw(
        st.dictionaries(st.sampled_from(documents), st.integers(1, 10).map(lambda r: Fence(r, 1)))
    )
    only = data.draw(st.none() | st.frozensets(st.sampled_from(documents)))
    excluded = data.draw(st.frozensets(st.sampled_from(documents)))

    def kept(p: IndexPassage) -> bool:
        fence = fences.get(p.document_id)
        alive = fence is None or p.revision >= fence.revision
        return alive and p.document_id not in excluded and (only is None or p.document_id in only)

    vector = unit([1.0] * 8)

    def search(scope: SearchScope, exclude: Collection[str] = ()) -> object:
        found = scope.search(vector, question, fingerprint=FINGERPRINT, limit=50, exclude=exclude)
        return sorted(found.hits, key=repr), found.idf

    narrowed = SearchScope([ScopePart(index_of(groups, fences), only)])
    plain = scope_of(index_of([[p for p in group if kept(p)] for group in groups]))
    assert search(narrowed, excluded) == search(plain)
    assert narrowed.passages >= plain.passages


def test_knowledge_bases_are_searched_together() -> None:
    left = index_of([[passage("l", "doc-l", text="shared rare", vector=(1, 0))]], name="kb-l")
    right = index_of([[passage("r", "doc-r", text="shared", vector=(0, 1))]], name="kb-r")
    found = scope_of(left, right).search(
        unit([3.0, 4.0]), query_terms("rare shared"), fingerprint=FINGERPRINT, limit=5
    )
    assert [(hit.passage_id, hit.knowledge_base_id) for hit in found.hits] == [("r", "kb-r"), ("l", "kb-l")]
    assert found.idf[0] > found.idf[1]


def test_vectors_of_another_model_are_not_compared_but_words_are() -> None:
    old = index_of([[passage("old", "doc-o", text="alpha", vector=(1, 0))]], fingerprint="old/2")
    new = index_of([[passage("new", "doc-n", text="beta", vector=(1, 0))]])
    found = scope_of(old, new).search(
        unit([1.0, 0.0]), query_terms("alpha"), fingerprint=FINGERPRINT, limit=5
    )
    assert {hit.passage_id: (hit.similarity, hit.lexical > 0) for hit in found.hits} == {
        "new": (1.0, False),
        "old": (0.0, True),
    }


def test_without_a_vector_only_words_decide() -> None:
    index = index_of([[passage("a", text="alpha"), passage("b", text="beta")]])
    found = scope_of(index).search(None, query_terms("beta"), fingerprint="", limit=5)
    assert [hit.passage_id for hit in found.hits] == ["b"]


def test_share_of_the_question_that_a_passage_holds() -> None:
    index = index_of(
        [[passage("a", text="pump valve"), passage("b", text="pump"), passage("c", text="other")]]
    )
    found = scope_of(index).search(None, query_terms("pump valve gasket"), fingerprint="", limit=5)
    held = {hit.passage_id: hit.held for hit in found.hits}
    assert held["a"] == pytest.approx((found.idf[0] + found.idf[1]) / found.idf_mass)
    assert held["b"] == pytest.approx(found.idf[0] / found.idf_mass)
    assert sum(found.idf) == pytest.approx(found.idf_mass)


def test_a_stop_word_of_another_language_that_nothing_holds_takes_no_share() -> None:
    index = index_of([[passage("a", text="pumpe", language="de"), passage("b", text="pump", language="en")]])
    scope = scope_of(index)
    assert scope.languages == {"de", "en"}
    found = scope.search(None, query_terms("die pumpe", scope.languages), fingerprint="", limit=5)
    assert next(hit.held for hit in found.hits if hit.passage_id == "a") == pytest.approx(1.0)


def test_an_exact_identifier_is_found_among_many() -> None:
    many = [passage(f"p{n}", text=f"unit {n} of part PX-{n:04d} ok") for n in range(250)]
    found = scope_of(index_of([many])).search(None, query_terms("Where is PX-0107?"), fingerprint="", limit=3)
    assert max(found.hits, key=lambda hit: hit.lexical).passage_id == "p107"


def test_nothing_in_scope_finds_nothing() -> None:
    for scope in (SearchScope([]), scope_of(index_of([]))):
        found = scope.search(unit([1.0, 0.0]), query_terms("alpha"), fingerprint=FINGERPRINT, limit=5)
        assert found.hits == ()
        assert scope.passages == 0


def test_a_stop_word_of_one_language_is_no_rare_word_in_a_scope_of_two() -> None:
    """Portuguese passages keep the English "what": it must not outweigh what the question is about."""
    english = [
        passage(f"e{n}", f"e{n}", text=f"what the pump {n} does", counts=terms(f"pump {n}"), language="en")
        for n in range(40)
    ]
    english.append(passage("best", "best", counts=terms("drainage pump"), language="en"))
    other = passage("pt", "pt", counts=terms("what is what", "pt"), language="pt")
    scope = scope_of(index_of([[p] for p in (*english, other)]))
    question = query_terms("what drainage pump", scope.languages)
    found = scope.search(None, question, fingerprint=FINGERPRINT, limit=50)
    by_name = {hit.passage_id: hit.lexical for hit in found.hits}
    assert by_name["best"] > 5 * by_name["pt"]


def test_the_spread_and_the_likeness_are_those_of_the_vectors() -> None:
    vectors = np.eye(4, dtype=np.float32)
    rows = [passage(str(n), str(n), counts={"alpha": 1}, vector=row) for n, row in enumerate(vectors)]
    rows.append(passage("near", "near", counts={}, vector=(1.0, 0.1, 0.0, 0.0)))
    found = scope_of(index_of([[row] for row in rows])).search(
        vectors[0], [], fingerprint=FINGERPRINT, limit=5
    )
    cosines = [hit.similarity for hit in found.hits]
    assert found.spread.passages == 5
    assert found.spread.mean == pytest.approx(np.mean(cosines), abs=1e-3)
    assert found.spread.deviation == pytest.approx(np.std(cosines), abs=1e-3)
    names = [hit.passage_id for hit in found.hits]
    likeness = found.likeness(np.arange(len(names)))
    assert likeness[names.index("0"), names.index("near")] == pytest.approx(0.995, abs=1e-3)
    assert np.allclose(np.diagonal(likeness), 1.0, atol=1e-2)
