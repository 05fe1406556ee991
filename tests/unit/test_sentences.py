from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.sentences import split_sentences, text_size


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four…", ["One.", "Two!", "Three?", "Four…"]),
        ("Dr. Smith paid 3.14 euros. He left.", ["Dr. Smith paid 3.14 euros.", "He left."]),
        ("See Fig. 3, e.g. J. Smith vs. Jones. Next.", ["See Fig. 3, e.g. J. Smith vs. Jones.", "Next."]),
        ("The limit is 5. Ask No. 7 first.", ["The limit is 5.", "Ask No. 7 first."]),
        ("Write to example.com. then wait.", ["Write to example.com. then wait."]),
        ("1. First item. More of it.\n2. Second item.", ["1. First item.", "More of it.", "2. Second item."]),
        ('He said "stop." Then he went.', ['He said "stop."', "Then he went."]),
        ("“你好。”他说。然后走了！真的？", ["“你好。”", "他说。", "然后走了！", "真的？"]),
        ("これは「です。」次の文。", ["これは「です。」", "次の文。"]),
        ("यह वाक्य है। दूसरा वाक्य।", ["यह वाक्य है।", "दूसरा वाक्य।"]),
        ("هل هذا سؤال؟ نعم.", ["هل هذا سؤال؟", "نعم."]),
        ("a heading\n\nand a paragraph", ["a heading", "and a paragraph"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_splits(text: str, sentences: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text)] == sentences


@given(st.text(alphabet=st.sampled_from("aB1。.!?\n \t，；กข不|é'\"”）"), max_size=300))
def test_offsets_hold_and_nothing_visible_is_lost(text: str) -> None:
    found = split_sentences(text)
    assert all(text[one.start : one.end] == one.text == one.text.strip() != "" for one in found)
    assert "".join("".join(one.text for one in found).split()) == "".join(text.split())
    assert all(left.end <= right.start for left, right in pairwise(found))


def test_text_without_stops_is_cut_at_blanks() -> None:
    found = split_sentences("ภาษาไทย " * 300)
    assert len(found) > 3
    assert max(len(one.text) for one in found) <= 600


def test_an_unbroken_run_stays_whole() -> None:
    assert [one.text for one in split_sentences("x" * 5000)] == ["x" * 5000]


@pytest.mark.parametrize("hostile", ["." * 100_000, ". " * 50_000, "a.b" * 30_000, "(" * 100_000])
def test_hostile_runs_are_read_in_linear_time(hostile: str) -> None:
    """A quadratic expression would take hours here."""
    found = split_sentences(hostile)
    assert sum(len(one.text) for one in found) == len("".join(hostile.split()))


@pytest.mark.parametrize(
    ("text", "size"), [("two words", 2), ("年假二十天", 5), ("SLA 为 99% 。", 3), ("— 。 |", 0), ("", 0)]
)
def test_size_counts_words_and_characters(text: str, size: int) -> None:
    assert text_size(text) == size
