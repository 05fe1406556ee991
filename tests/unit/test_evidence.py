"""The judgement whether a question is covered: its rule, at its edges. A bench measures it."""

from __future__ import annotations

import pytest

from shared.retrieve.evidence import Found, evidence, mostly_unspaced

QUESTION = "How many days of leave do I have?"
CHINESE = "我有多少天年假？"


@pytest.mark.parametrize(
    ("question", "held", "similarity", "unspaced", "covered"),
    [
        (QUESTION, 1.0, 0.0, False, True),
        (QUESTION, 0.0, 0.71, False, True),
        (QUESTION, 0.5, 0.36, False, True),
        (QUESTION, 0.5, 0.34, False, False),
        (QUESTION, 0.0, 0.5, False, False),
        (QUESTION, 0.4, -0.5, False, False),
        (CHINESE, 0.72, 0.0, True, True),
        (CHINESE, 0.5, 0.22, True, True),
        (CHINESE, 0.0, 0.38, False, True),
        (CHINESE, 0.0, 0.36, False, False),
        (QUESTION, 0.0, 0.38, True, True),
        (QUESTION, 0.0, 0.38, False, False),
    ],
)
def test_words_and_vector_together_decide(
    question: str, held: float, similarity: float, unspaced: bool, covered: bool
) -> None:
    assert evidence(question, [Found(held, similarity, unspaced)], minimum=0.25).covered is covered


def test_the_best_passage_counts_and_not_their_sum() -> None:
    weak = Found(0.3, 0.2, unspaced=False)
    assert not evidence(QUESTION, [weak] * 10, minimum=0.25).covered
    assert evidence(QUESTION, [weak, Found(0.9, 0.3, unspaced=False)], minimum=0.25).covered
    assert evidence(QUESTION, [], minimum=0.25).score == 0.0


def test_the_rule_is_in_units_of_the_models_minimum() -> None:
    assert evidence(QUESTION, [Found(0.5, 0.4, unspaced=False)], minimum=0.25).covered
    assert not evidence(QUESTION, [Found(0.5, 0.4, unspaced=False)], minimum=0.5).covered


@pytest.mark.parametrize(
    ("text", "unspaced"),
    [
        ("年假二十天", True),
        ("SLA 是什么？", True),
        ("The word 年假 means leave", False),
        ("12 %", False),
        ("연차 휴가", False),
    ],
)
def test_script(text: str, unspaced: bool) -> None:
    assert mostly_unspaced(text) is unspaced
