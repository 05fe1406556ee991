"""What of a long question is embedded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.embedding_text import clean_query
from shared.adapters.local.embedder import UseEmbedder
from shared.adapters.tokens import count_tokens
from shared.domain.errors import InvalidRequestError

PASTED = " ".join(
    f"Paragraph {n} of the old contract says nothing of interest to anybody." for n in range(400)
)


def kept(text: str, most: int = 100) -> str:
    return clean_query(text, most, count_tokens)


def test_a_question_of_ordinary_length_stays_as_it_is() -> None:
    text = "How many days\n of leave?  (Part time.)"
    assert kept(text) == text


@pytest.mark.parametrize(
    "text",
    [
        f"How long is the notice period? {PASTED}",
        f"{PASTED}\n\nHow long is the notice period?",
        f"{PASTED} How long is the notice period? {PASTED}",
    ],
    ids=["in front", "behind", "between"],
)
def test_what_is_asked_around_a_pasted_text_is_kept(text: str) -> None:
    found = kept(text)
    assert "How long is the notice period?" in found
    assert count_tokens(found) <= 100


def test_without_a_question_mark_both_ends_are_kept_in_their_order() -> None:
    found = kept(f"Tell me the notice period. {PASTED} Answer in German.")
    assert found.startswith("Tell me the notice period. Paragraph 0 ")
    assert found.endswith(
        "Paragraph 399 of the old contract says nothing of interest to anybody. Answer in German."
    )


@pytest.mark.parametrize("text", ["员工年假" * 2_000, "😀😃" * 4_000, "QWxhZGRpbjpv" * 700, "\u0301" * 8_000])
def test_what_has_no_sentences_is_cut_at_both_ends(text: str) -> None:
    found = kept(text)
    assert 0 < count_tokens(found) <= 100
    assert (found[0], found[-1]) == (text[0], text[-1])


@given(st.text(min_size=1).map(lambda text: text * 30), st.integers(20, 60))
def test_it_never_has_more_than_the_limit(text: str, most: int) -> None:
    try:
        found = kept(text, most)
    except InvalidRequestError:
        assert not text.replace("\0", " ").strip()
        return
    assert count_tokens(found) <= most
    assert found.strip()


def test_a_long_question_costs_a_model_no_more_than_its_limit() -> None:
    embedder = UseEmbedder()
    assert embedder.query(PASTED).use.input < 400
    assert embedder.query(PASTED).vectors.shape == (1, 512)
