"""Answers without a model: the sentences that answer, few of them, cited, and an honest "not covered"."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from shared.domain.models import Prompt, Reference
from shared.domain.sentences import text_size

GOLDEN = Path(__file__).parents[1] / "golden" / "local_answers.md"

REFERENCES = (
    Reference(
        "psg_leave",
        "Employee Handbook",
        ("Leave", "Annual leave"),
        (4, 4),
        "Annual leave is a right and not a favour. Every full-time employee has 25 days of annual leave. "
        "After five years with the company it is 28 days. Requests go through the staff portal. "
        "The canteen is closed on public holidays.",
    ),
    Reference(
        "psg_support",
        "Service Levels",
        ("Response times",),
        None,
        "Times count from the moment a ticket is opened.\n\n"
        "| Plan | First response | Hours |\n|---|---|---|\n"
        "| Basic | 2 working days | 9 to 17 |\n| Premium | 30 minutes | around the clock |\n",
    ),
    Reference(
        "psg_codes",
        "Troubleshooting",
        ("Codes",),
        None,
        "When the display shows a code:\n\n- N101: the battery is empty.\n"
        "- N204: the left wheel is blocked; lift the rover and clear it.\n",
    ),
    Reference(
        "psg_zh",
        "客户服务手册",
        ("保修",),
        None,
        "## 保修\n\n整机的保修期为二十四个月。电池的保修期为十二个月。人为损坏不在保修范围内。",
    ),
)

QUESTIONS = [
    "How many days of annual leave do I get after five years?",
    "What is the first response time on the Premium plan?",
    "What does code N204 mean?",
    "电池的保修期是多长时间？",
    "How long is the warranty of the battery?",
]


@pytest.fixture(scope="module")
def answers() -> ExtractiveAnswers:
    return ExtractiveAnswers(UseEmbedder())


def ask(answers: ExtractiveAnswers, question: str, *, covered: bool = True) -> str:
    return answers.answer(Prompt("", (), question, question, REFERENCES, covered=covered)).text


def test_golden(answers: ExtractiveAnswers) -> None:
    """What people read. ALMANAC_WRITE_GOLDEN=1 writes the file anew, for a reviewer."""
    text = "".join(f"## {question}\n\n{ask(answers, question)}\n\n" for question in QUESTIONS)
    text += f"## Who won in 1998?\n\n{ask(answers, 'Who won in 1998?', covered=False)}\n\n"
    text += f"## 谁赢了？\n\n{ask(answers, '谁赢了？', covered=False)}\n"
    if os.environ.get("ALMANAC_WRITE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("question", "quote", "source"),
    [
        (QUESTIONS[0], "After five years with the company it is 28 days.", "psg_leave"),
        (QUESTIONS[1], "Plan: Premium; First response: 30 minutes", "psg_support"),
        (QUESTIONS[2], "N204: the left wheel is blocked", "psg_codes"),
        (QUESTIONS[3], "电池的保修期为十二个月。", "psg_zh"),
    ],
)
def test_the_sentence_that_answers_is_quoted_and_cited(
    answers: ExtractiveAnswers, question: str, quote: str, source: str
) -> None:
    line = next(line for line in ask(answers, question).splitlines() if quote in line)
    assert line.startswith("> ")
    assert line.endswith(f"[[{source}]]")


@pytest.mark.parametrize("question", QUESTIONS)
def test_quotes_are_few_and_word_for_word(answers: ExtractiveAnswers, question: str) -> None:
    quotes = [line for line in ask(answers, question).splitlines() if line.startswith("> ")]
    assert 1 <= len(quotes) <= 4
    assert sum(map(text_size, quotes)) <= 130
    sources = " ".join(reference.text for reference in REFERENCES)
    for word in re.findall(r"\w{4,}", " ".join(re.sub(r"\[\[\w+\]\]", "", quote) for quote in quotes)):
        assert word in sources


def test_a_sentence_in_two_overlapping_passages_is_quoted_once(answers: ExtractiveAnswers) -> None:
    twice = (REFERENCES[0], Reference("psg_again", "Handbook", (), None, REFERENCES[0].text))
    question = QUESTIONS[0]
    text = answers.answer(Prompt("", (), question, question, twice)).text
    assert text.count("it is 28 days") == 1


@pytest.mark.parametrize("references", [(), (Reference("psg_1", "t", (), None, "# Only a heading\n\n---"),)])
def test_nothing_to_quote_is_not_covered(
    answers: ExtractiveAnswers, references: tuple[Reference, ...]
) -> None:
    reply = answers.answer(Prompt("", (), "q", "Why?", references, covered=True))
    assert "does not cover" in reply.text
    assert "[[" not in reply.text


def test_long_references_are_read_within_bounds(answers: ExtractiveAnswers) -> None:
    filler = " ".join(f"Paragraph {n} is about the weather on day {n}." for n in range(400))
    needle = "The deposit is refunded within ten days."
    references = (
        Reference("psg_long", "Long", (), None, filler),
        Reference("psg_needle", "Terms", (), None, f"{filler} {needle}"),
    )
    question = "When is the deposit refunded?"
    reply = answers.answer(Prompt("", (), question, question, references))
    assert needle in reply.text
    assert reply.use.input < 2_000
