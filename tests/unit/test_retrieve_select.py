"""The minimum, then one pass that fills k and the budget; everything left out is told why."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.retrieval import RetrievedPassage
from shared.retrieve.policy import POLICIES, Policy, PolicyName
from shared.retrieve.select import passes, select

BASE = RetrievedPassage(
    id="p",
    document_id="d",
    knowledge_base_id="k",
    chunk_id="c",
    version=1,
    title="T",
    heading_path=(),
    pages=None,
    text="text",
    score=1.0,
    similarity=0.5,
    lexical=1.0,
    boost=1.0,
    tokens=100,
)


def passage(n: int, *, chunk: str = "c", text: str | None = None, tokens: int = 100) -> RetrievedPassage:
    return replace(BASE, id=f"p{n}", chunk_id=chunk, text=text or f"text {n}", tokens=tokens)


def test_a_message_takes_five_passages() -> None:
    result = select([passage(n) for n in range(7)], POLICIES[PolicyName.MESSAGE])
    assert [p.id for p in result.chosen] == ["p0", "p1", "p2", "p3", "p4"]
    assert {d.reason for d in result.dropped} == {"beyond the number of passages"}


def test_a_run_takes_five_chunks_and_all_of_their_passages() -> None:
    candidates = [passage(n, chunk=f"c{n % 6}") for n in range(12)]
    result = select(candidates, POLICIES[PolicyName.RUN])
    assert {p.chunk_id for p in result.chosen} == {f"c{n}" for n in range(5)}
    assert len(result.chosen) == 10
    assert {d.passage_id for d in result.dropped} == {"p5", "p11"}


def test_the_same_text_comes_once() -> None:
    result = select(
        [passage(1, text="Same  Text"), passage(2, text="same text")], POLICIES[PolicyName.MESSAGE]
    )
    assert [p.id for p in result.chosen] == ["p1"]
    assert result.dropped[0].reason == "the same text is in the result already"


def test_a_smaller_passage_may_fill_what_a_larger_one_could_not() -> None:
    candidates = [passage(1, tokens=7_000), passage(2, tokens=2_000), passage(3, tokens=900)]
    result = select(candidates, POLICIES[PolicyName.RUN])
    assert [p.id for p in result.chosen] == ["p1", "p3"]
    assert result.tokens == 7_900


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4_000)), max_size=40),
    st.sampled_from(list(POLICIES.values())),
)
def test_no_limit_is_ever_passed_and_nothing_vanishes(shape: list[tuple[int, int]], policy: Policy) -> None:
    candidates = [passage(n, chunk=f"c{c}", tokens=t) for n, (c, t) in enumerate(shape)]
    result = select(candidates, policy)
    assert sum(p.tokens for p in result.chosen) == result.tokens <= policy.max_tokens
    assert policy.max_passages is None or len(result.chosen) <= policy.max_passages
    assert policy.max_chunks is None or len({p.chunk_id for p in result.chosen}) <= policy.max_chunks
    assert len(result.chosen) + len(result.dropped) == len(candidates)


def test_the_minimum_is_on_the_cosine_and_strong_words_are_the_other_way_in() -> None:
    assert passes(0.3, 0.0, minimum=0.3, lexical_bar=0.5)
    assert passes(0.0, 0.5, minimum=0.3, lexical_bar=0.5)
    assert not passes(0.29, 0.49, minimum=0.3, lexical_bar=0.5)
