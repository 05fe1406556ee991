"""Words of a vocabulary, as people write them down."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from shared.domain.knowledge import MetadataValue, Record
from shared.domain.media import Word
from shared.library.vocabulary import words_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def page(text: str) -> Record:
    return Record("rec_1", "kb_1", NOW, NOW, text=text)


@pytest.mark.parametrize(
    ("line", "word", "meaning"),
    [
        ("beach", "beach", ""),
        ("- beach", "beach", ""),
        ("* **beach**", "beach", ""),
        ("12. beach", "beach", ""),
        ("  • sea side  ", "sea side", ""),
        ("beach: sand and water", "beach", "sand and water"),
        ("- beach - sand and water", "beach", "sand and water"),
        ("beach – sand", "beach", "sand"),
        ("black-and-white", "black-and-white", ""),
        ("海滩：沙和水", "海滩", "沙和水"),
        ("- 海滩", "海滩", ""),
        ("24/7", "24/7", ""),
        ("C++", "C++", ""),
    ],
)
def test_a_page_has_a_word_on_each_line(line: str, word: str, meaning: str) -> None:
    assert list(words_of([page(line)])) == [Word(word, meaning)]


def test_headings_blank_lines_and_sentences_are_no_words() -> None:
    text = "# Tags\n\n- one\n\n-\n" + "word " * 40 + "\n- two\n"
    assert [one.word for one in words_of([page(text)])] == ["one", "two"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"word": "beach"}, [Word("beach")]),
        ({"Tag": " beach ", "Description": "sand"}, [Word("beach", "sand")]),
        ({"name": "beach", "owner": "Ann"}, [Word("beach")]),
        ({"whatever": "beach"}, [Word("beach")]),
        ({"a": "beach", "b": "sea"}, []),
        ({"word": ""}, []),
    ],
)
def test_an_entry_of_a_form_is_a_word(values: Mapping[str, MetadataValue], expected: list[Word]) -> None:
    assert list(words_of([Record("rec_1", "kb_1", NOW, NOW, values=values)])) == expected
