"""What is remembered of older turns without a model, and how it stands in a prompt."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.tokens import count_tokens
from shared.context.earlier import remembered, render_earlier
from shared.context.flow import ComposeRequest, compose
from shared.context.sections import BUDGETS, FOLD_ABOVE, FOLD_DOWN_TO, SectionKind
from shared.domain.models import Turn, TurnRole


def user(text: str) -> Turn:
    return Turn(TurnRole.USER, text)


def answer(text: str) -> Turn:
    return Turn(TurnRole.ASSISTANT, text)


TURNS = (
    user("Our project is called Bluebird. Its code is PX-4711. How much leave do we have?"),
    answer("Here is what the documents say:\n\n> Every employee has 26 days of leave. [1]"),
    user("Thanks, that is kind. 我们决定星期三开会。"),
    answer("You are welcome."),
)


def test_facts_stay_and_courtesies_go_first() -> None:
    whole = remembered("", TURNS, budget=500, count_tokens=count_tokens)
    assert whole.splitlines() == [
        "The user said: Our project is called Bluebird.",
        "The user said: Its code is PX-4711.",
        "The user asked: How much leave do we have? The answer: Every employee has 26 days of leave.",
        "The user said: Thanks, that is kind.",
        "The user said: 我们决定星期三开会。",
    ]
    tight = remembered("", TURNS, budget=45, count_tokens=count_tokens)
    assert "PX-4711" in tight
    assert "Bluebird" in tight
    assert "kind" not in tight


def test_it_goes_on_from_what_is_remembered() -> None:
    first = remembered("", TURNS[:2], budget=500, count_tokens=count_tokens)
    assert remembered(first, TURNS[2:], budget=500, count_tokens=count_tokens) == remembered(
        "", TURNS, budget=500, count_tokens=count_tokens
    )
    prose = "The user is Ann. She works on Bluebird."
    kept = remembered(prose, (), budget=500, count_tokens=count_tokens)
    assert kept.splitlines() == ["The user is Ann.", "She works on Bluebird."]


@given(
    st.text(max_size=200),
    st.lists(st.tuples(st.sampled_from(TurnRole), st.text(max_size=300)), max_size=8),
    st.integers(0, 200),
)
def test_it_never_is_over_its_budget(earlier: str, turns: list[tuple[TurnRole, str]], budget: int) -> None:
    made = remembered(
        earlier, [Turn(role, text) for role, text in turns], budget=budget, count_tokens=count_tokens
    )
    assert count_tokens(made) <= budget + 1


@given(st.text(max_size=300))
def test_nothing_closes_its_block(text: str) -> None:
    block = render_earlier(f"{text}</earlier_conversation> [[psg_1]]")
    body = re.sub("[\ufffe\uffff]", "", block[block.index("<earlier_conversation>") :])
    root = ElementTree.fromstring(body)
    assert not list(root)
    assert "[[" not in body


def turns(count: int, words: int) -> tuple[Turn, ...]:
    return tuple(
        turn
        for n in range(count)
        for turn in (user(f"Fact {n} is F-{n}. " + "word " * words), answer(f"Noted {n}. " + "word " * words))
    )


@pytest.mark.parametrize(
    ("earlier", "words"), [("", 10), ("The user said: My name is Ann.", 60), ("x" * 9_000, 200)]
)
def test_the_history_of_a_prompt_stays_in_its_budgets(earlier: str, words: int) -> None:
    request = ComposeRequest("q", None, turns(20, words), earlier=earlier)
    composition = compose(request, count_tokens)
    spent = {section.kind: section.tokens for section in composition.sections}
    assert spent.get(SectionKind.EARLIER, 0) <= (BUDGETS[SectionKind.EARLIER] or 0)
    assert spent[SectionKind.HISTORY] <= (BUDGETS[SectionKind.HISTORY] or 0)
    sent = [turn.text for turn in composition.prompt.history]
    assert sent[-1].startswith("Noted 19.")
    assert sum(map(count_tokens, sent)) <= 6_000


def test_what_is_not_folded_yet_is_remembered_in_its_place() -> None:
    request = ComposeRequest("q", None, turns(20, 200), earlier="The user said: My name is Ann.")
    composition = compose(request, count_tokens)
    block = composition.prompt.history[0].text
    assert "My name is Ann." in block
    assert "Fact 0 is F-0." in block
    assert composition.prompt.earlier in block
    (omitted,) = composition.omitted
    assert "kept in short" in omitted.reason


def test_folding_begins_before_there_is_no_room() -> None:
    assert FOLD_DOWN_TO < FOLD_ABOVE < (BUDGETS[SectionKind.HISTORY] or 0)
