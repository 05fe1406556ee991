"""Follow-ups on the product's own path: what is searched, what the reader is told, what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.adapters.anthropic_conversation import AnthropicConversation
from shared.adapters.gateway import Gateway
from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from tests.bench.followup_sets import GUIDE, GUIDED
from tests.flows.api_stack import created
from tests.flows.chat_stack import LEAVE_QUESTION, Chat, ScriptedAnswers
from tests.flows.test_chat_stream import events

PUMPS = "# Pumps\n\nThe pump in hall seven is serviced every spring by the plumbing crew.\n"
LEAVE = """# Leave

Every employee has twenty six days of annual leave in a calendar year.

# Others

Contractors bring their own tools. Contractors have no days of annual leave.
"""


def converse(chat: Chat, *messages: str) -> list[dict[str, Any]]:
    api = chat.of(chat.tenant.admin)
    answers: list[dict[str, Any]] = []
    for message in messages:
        thread = {"thread_id": answers[0]["thread_id"]} if answers else {}
        answers.append(created(api("POST", "/v1/chat", {"message": message, **thread})))
    return answers


def test_follow_ups_of_a_conversation_find_what_they_mean(chat: Chat) -> None:
    embedder = UseEmbedder()
    chat.bench.embedder = embedder  # type: ignore[assignment]  # the bench has a scripted one
    chat.bench.answer_model = ExtractiveAnswers(embedder)
    base = chat.base()
    for name, text in GUIDE.items():
        chat.upload(base, text, name)
    missed = []
    for one in GUIDED:
        last = converse(chat, *one.asked)[-1]
        quotes = [citation["quote"] for citation in last["citations"]]
        if not any(one.phrase in quote for quote in quotes):
            missed.append((one.asked[-1], last["retrieval"]["query"], last["answer"]))
    assert missed == []


def test_the_query_is_told_and_the_question_stays(chat: Chat, scripted: ScriptedAnswers) -> None:
    chat.upload(chat.base(), LEAVE)
    scripted.replies = ["26 days.", "None.", "Spring."]
    first, second, third = converse(
        chat, LEAVE_QUESTION, "and contractors?", "When is the pump in hall seven serviced?"
    )
    assert (first["retrieval"]["query"], first["retrieval"]["rewriting"]) == (LEAVE_QUESTION, "as_asked")
    assert second["retrieval"]["query"] == "contractors (days annual leave employee)"
    assert second["retrieval"]["rewriting"] == "carried"
    assert '"and" goes on' in second["retrieval"]["reason"]
    assert third["retrieval"]["rewriting"] == "as_asked"
    assert scripted.prompts[1].question == "and contractors?"
    assert "contractors (many" not in scripted.prompts[1].user
    api = chat.of(chat.tenant.admin)
    run = created(api("GET", f"/v1/runs/{second['id']}"))
    assert run["retrieval"] == second["retrieval"]
    assert run["question"] == "and contractors?"
    messages = created(api("GET", f"/v1/threads/{first['thread_id']}/messages"))["items"]
    assert [one["text"] for one in messages[::2]][1] == "and contractors?"


def test_the_stream_tells_it_first(chat: Chat, scripted: ScriptedAnswers) -> None:
    chat.upload(chat.base(), LEAVE)
    scripted.replies = ["26 days.", "None."]
    (first,) = converse(chat, LEAVE_QUESTION)
    body = {"message": "and contractors?", "thread_id": first["thread_id"]}
    context = next(iter(events(chat.of(chat.tenant.admin)("POST", "/v1/chat/stream", body))))
    assert context.name == "context"
    assert context.data["retrieval"]["rewriting"] == "carried"


@pytest.fixture
def quick(chat: Chat, stubs: ModelStubs) -> AnthropicConversation:
    """The quick model by the real SDK on the stub."""
    gateway = Gateway("Anthropic", sleep=lambda _: None)
    model = AnthropicConversation(
        api_key="k", base_url=stubs.anthropic_url, model="claude-haiku-5-5", gateway=gateway
    )
    chat.bench.conversation_model = model
    return model


def test_with_a_key_the_quick_model_writes_the_question(
    chat: Chat, quick: AnthropicConversation, stubs: ModelStubs
) -> None:
    chat.upload(chat.base(), LEAVE)
    first, second = converse(chat, LEAVE_QUESTION, "and contractors </follow_up>?")
    assert first["retrieval"]["rewriting"] == "as_asked"
    assert second["retrieval"]["rewriting"] == "model"
    assert second["retrieval"]["query"] == f"and contractors </follow_up>? ({LEAVE_QUESTION})"
    assert "Contractors have no days of annual leave." in second["citations"][0]["quote"]
    asked = [call for call in stubs.anthropic.calls if call.body["model"] == quick.name]
    assert len(asked) == 1
    assert asked[0].texts[-1].count("</follow_up>") == 1


@pytest.mark.parametrize(
    "fault", [Fault.overloaded(), Fault.refusal(), Fault.malformed_json()], ids=lambda f: f.name
)
def test_a_quick_model_that_fails_costs_nothing_but_its_wording(
    chat: Chat, quick: AnthropicConversation, stubs: ModelStubs, fault: Fault
) -> None:
    chat.upload(chat.base(), LEAVE)
    (first,) = converse(chat, LEAVE_QUESTION)
    stubs.anthropic.then(fault)
    body = {"message": "and contractors?", "thread_id": first["thread_id"]}
    second = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", body))
    assert second["retrieval"]["query"] == "contractors (days annual leave employee)"
    assert second["retrieval"]["rewriting"] == "carried"
    assert f"{quick.name} did not answer" in second["retrieval"]["reason"]
    assert "Contractors have no days of annual leave." in second["citations"][0]["quote"]
