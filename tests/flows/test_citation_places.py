"""A citation names the heading and the page of the sentence that it rests on, wherever its passage begins."""

from __future__ import annotations

from typing import Any

from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from tests.flows.api_stack import created
from tests.flows.chat_stack import Chat, ScriptedAnswers, passage_id
from tests.pdf_samples import drawn, lines

GUIDE = """# House rules

## Parking

Parking spaces are assigned on Mondays.

## Keys

A lost key costs forty five euros.

## Bicycles

Bicycles stand in the yard.[1] They are locked.[2]
"""


def ask(chat: Chat, message: str) -> dict[str, Any]:
    return created(chat.of(chat.tenant.admin)("POST", "/v1/chat", {"message": message}))


def test_a_quotation_is_named_after_its_own_section(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    chat.upload(chat.base(), GUIDE, "rules.md")
    for question, path in (
        ("What does a lost key cost?", ["House rules", "Keys"]),
        ("When are parking spaces assigned?", ["House rules", "Parking"]),
    ):
        answer = ask(chat, question)
        (citation,) = answer["citations"]
        assert citation["heading_path"] == path
        assert "Bicycles stand" in citation["quote"]
        messages = created(chat.of(chat.tenant.admin)("GET", f"/v1/threads/{answer['thread_id']}/messages"))
        assert messages["items"][1]["citations"] == [citation]


def test_footnotes_of_a_source_do_not_look_like_citations(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    chat.upload(chat.base(), GUIDE, "rules.md")
    answer = ask(chat, "Where do bicycles stand, and are they locked?")
    assert "Bicycles stand in the yard.(1)" in answer["answer"]
    assert "[2]" not in answer["answer"]
    assert len(answer["citations"]) == 1


def test_statements_of_several_sections_share_what_their_headings_share(
    chat: Chat, scripted: ScriptedAnswers
) -> None:
    chat.upload(chat.base(), GUIDE, "rules.md")
    known = passage_id(chat, "What does a lost key cost?")
    scripted.replies = [f"Spaces are assigned on Mondays [[{known}]]. A lost key costs 45 euros [[{known}]]."]
    (citation,) = ask(chat, "What are the rules for keys and parking spaces?")["citations"]
    assert citation["heading_path"] == ["House rules"]


def test_what_is_not_found_in_the_passage_leaves_the_citation_as_it_is(
    chat: Chat, scripted: ScriptedAnswers
) -> None:
    chat.upload(chat.base(), GUIDE, "rules.md")
    known = passage_id(chat, "What does a lost key cost?")
    scripted.replies = [f"丢失钥匙要付四十五欧元 [[{known}]]。"]
    (citation,) = ask(chat, "What does a lost key cost?")["citations"]
    assert citation["heading_path"][0] == "House rules"


def test_a_quotation_is_on_its_own_page(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    data = drawn(
        lines("The garage in Mill Street is open to visitors.", "It has forty spaces."),
        lines("The canteen serves lunch from noon.", "Dinner is served on Thursdays only."),
    )
    base = chat.base()
    path = f"/v1/knowledge-bases/{base['id']}/documents"
    document = created(chat.tenant.admin.upload(path, data, "house.pdf"))
    chat.stack.ingest(chat.tenant, document)
    (garage,) = ask(chat, "Is the garage in Mill Street open to visitors?")["citations"]
    (dinner,) = ask(chat, "When is dinner served?")["citations"]
    assert garage["passage_id"] == dinner["passage_id"]
    assert (garage["pages"], dinner["pages"]) == ([1, 1], [2, 2])
