"""What an answer's citations rest on, found again in the passage."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answer.statements import place_of, statements
from shared.ingest.passages import path_at

TEXT = """## Leave

Every employee has 26 days of leave. It is requested
in the [portal](https://x.example).

| Grade | Bonus |
|---|---|
| Senior | 500 euros |
| Lead | 900 euros |

## 保修

整机的保修期为二十四个月。电池的保修期为十二个月。
"""


def test_what_stands_before_a_mark() -> None:
    answer = (
        "Sure. Employees have 26 days [1]. The portal takes requests [2][1], as ever.\n"
        "> The battery lasts. … It is blue. [3]\nNo source here."
    )
    assert statements(answer) == {
        1: ("Employees have 26 days", "The portal takes requests"),
        2: ("The portal takes requests",),
        3: ("The battery lasts.", "It is blue."),
    }


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Every employee has 26 days of leave.", "Every employee"),
        ("Grade: Lead; Bonus: 900 euros", "| Lead |"),
        ("Seniors get a bonus of 500 euros.", "| Senior |"),
        ("电池的保修期为十二个月。", "电池的"),
        ("The battery is guaranteed for twelve months.", None),
        ("", None),
    ],
)
def test_where_it_comes_from(statement: str, words: str | None) -> None:
    place = place_of(statement, TEXT)
    assert place == (None if words is None else TEXT.index(words))


def test_the_headings_in_force_at_a_place() -> None:
    outer = ((1, "Handbook"), (2, "Before"))
    assert path_at(TEXT, outer, TEXT.index("portal")) == ("Handbook", "Leave")
    assert path_at(TEXT, outer, TEXT.index("电池")) == ("Handbook", "保修")
    assert path_at("No heading here.", outer, 3) == ("Handbook", "Before")


@given(st.text(max_size=200), st.text(max_size=400))
def test_a_place_is_in_the_text(statement: str, text: str) -> None:
    statements(f"{statement} [1]")
    place = place_of(statement, text)
    assert place is None or 0 <= place < len(text)


def test_a_long_passage_takes_no_time() -> None:
    started = time.process_time()
    place_of("word " * 500, "Some words. " * 2_000)
    assert time.process_time() - started < 5
