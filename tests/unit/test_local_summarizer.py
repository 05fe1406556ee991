"""Extractive summaries: the right length in any script, only the chunk's own words, in their order."""

from __future__ import annotations

import numpy as np
import pytest

from shared.adapters.local.embedder import UseEmbedder
from shared.adapters.local.summarizer import TextRankSummarizer
from shared.adapters.local.textrank import centred_similarity, choose, text_rank
from shared.domain.models import SummaryRequest
from shared.domain.sentences import split_sentences, text_size
from shared.domain.summary_size import summary_size

ENGLISH = [
    "Annual leave is twenty-five working days for every full-time employee.",
    "Leave is requested in the staff portal at least two weeks ahead.",
    "The line manager approves or declines a request within three working days.",
    "Up to five unused days carry over until the end of March.",
    "Part-time employees receive leave in proportion to their contracted hours.",
    "Sick days during a holiday are credited back on presentation of a certificate.",
    "Parental leave is described in a policy of its own.",
    "The canteen is closed on public holidays.",
]
CHINESE = [
    "全职员工每年享有二十五个工作日的年假。",
    "休假应至少提前两周在员工门户中申请。",
    "直属经理应在三个工作日内批准或拒绝申请。",
    "未使用的年假最多可结转五天，有效期至三月底。",
    "兼职员工按合同工时的比例享受年假。",
    "休假期间生病的，凭医疗证明可返还相应天数。",
]


@pytest.fixture(scope="module")
def summarizer() -> TextRankSummarizer:
    return TextRankSummarizer(UseEmbedder())


def numbered(sentences: list[str], rounds: int, *, glue: str) -> str:
    """Distinct sentences, so that the same one is not chosen over and over."""
    return glue.join(
        f"第{n}条：{s}" if glue == "" else f"Rule {n}: {s}" for n in range(rounds) for s in sentences
    )


@pytest.mark.parametrize(
    "text",
    [numbered(ENGLISH, 10, glue=" "), numbered(CHINESE, 12, glue="")],
    ids=["english", "chinese"],
)
def test_a_long_chunk_gets_two_to_four_hundred_words(summarizer: TextRankSummarizer, text: str) -> None:
    summary = summarizer.summarize(SummaryRequest(text)).text
    assert 200 <= text_size(summary) <= 400
    positions = [text.index(sentence.text) for sentence in split_sentences(summary)]
    assert positions == sorted(positions)


@pytest.mark.parametrize(
    ("text", "most"),
    [(ENGLISH[0], 1), (" ".join(ENGLISH[:5]), 2), (" ".join(ENGLISH) + " " + " ".join(ENGLISH[::-1]), 3)],
)
def test_a_short_chunk_gets_one_to_three_sentences(
    summarizer: TextRankSummarizer, text: str, most: int
) -> None:
    summary = summarizer.summarize(SummaryRequest(text)).text
    assert 1 <= len(split_sentences(summary)) <= most
    assert all(sentence.text in text for sentence in split_sentences(summary))


def test_a_table_is_summarized_by_rows_that_name_their_columns(summarizer: TextRankSummarizer) -> None:
    rows = "\n".join(f"| Grade {n} | {20 + n} days |" for n in range(12))
    summary = summarizer.summarize(SummaryRequest(f"| Grade | Leave |\n|---|---|\n{rows}")).text
    assert summary.startswith("Grade: Grade ")
    assert "Leave: 2" in summary


@pytest.mark.parametrize("text", ["```\nx = 1\n```", "42", "| 1 | 2 |", "…", "# Only a heading"])
def test_text_without_a_sentence_still_gets_a_summary(summarizer: TextRankSummarizer, text: str) -> None:
    assert summarizer.summarize(SummaryRequest(text, heading_path=("Manual", "Start"))).text.strip()


def test_the_same_text_gets_the_same_summary(summarizer: TextRankSummarizer) -> None:
    request = SummaryRequest(numbered(ENGLISH, 5, glue=" "))
    assert summarizer.summarize(request) == summarizer.summarize(request)


def test_the_length_asked_for_follows_the_chunk() -> None:
    assert summary_size("word " * 10).sentences == 1
    assert summary_size("word " * 150).sentences == 3
    assert summary_size("word " * 300).target == 240
    assert summary_size("word " * 5000).target == summary_size("word " * 5000).most == 400


def test_rank_favours_the_sentence_that_the_others_resemble() -> None:
    vectors = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    ranks = text_rank(np.maximum(vectors @ vectors.T - np.eye(4), 0))
    assert ranks.argmax() == 1
    assert ranks.argmin() == 3


def test_the_choice_prefers_what_is_new_and_keeps_reading_order() -> None:
    similarity = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    assert choose([0.9, 1.0, 0.7], similarity, [10, 10, 10], 20) == [1, 2]
    assert choose([1.0], np.zeros((1, 1)), [50], 20) == [0]


def test_one_sentence_has_no_graph() -> None:
    assert text_rank(centred_similarity(np.ones((1, 4), dtype=np.float32))).tolist() == [1.0]
