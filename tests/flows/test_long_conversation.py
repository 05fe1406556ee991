"""A conversation of forty turns on the product's own path, without a key and with the provider's SDK on its
stub: it stays in its budget, keeps what was told in turn 2, cites, and its follow-ups find what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from emulators.models.server import ModelStubs
from shared.adapters.anthropic_conversation import AnthropicConversation
from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from shared.context.sections import BUDGETS, SectionKind
from shared.records import THREADS
from tests.bench.followup_sets import GUIDE, GUIDED, Conversation
from tests.flows.api_stack import created
from tests.flows.chat_stack import Chat
from tests.flows.test_followups import quick

__all__ = ["quick"]

TURNS = 40
FACT = "Our project is called Bluebird and its code is PX-4711. The budget of the project is 12,500 euros."
RECALL = "What is the code of our project?"
CHATTER = (
    "It rained all of {day} and I walked through the garden for an hour. My neighbour talked about the roses,"
    " the fence and the old apple tree, then about the fence again. We drank tea and listened to the radio."
) * 12
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def script() -> Iterator[tuple[str, Conversation | None]]:
    """What is asked, and of a follow-up the conversation that it ends."""
    yield "Hello there.", None
    yield FACT, None
    for number, one in enumerate(GUIDED):
        yield from ((question, None) for question in one.asked[:-1])
        yield one.asked[-1], one
        yield CHATTER.format(day=DAYS[number % len(DAYS)]), None
    yield RECALL, None


def forty() -> list[tuple[str, Conversation | None]]:
    """Forty turns: of the small talk as much as there is room for."""
    every = list(script())
    small_talk = [at for at, (text, _) in enumerate(every) if text.startswith("It rained")]
    dropped = set(small_talk[: len(every) - TURNS])
    return [one for at, one in enumerate(every) if at not in dropped]


@pytest.fixture(params=["without a key", "with a key"])
def talking(chat: Chat, request: pytest.FixtureRequest) -> Chat:
    embedder = UseEmbedder()
    chat.bench.embedder = embedder  # type: ignore[assignment]  # the bench has a scripted one
    if request.param == "with a key":
        request.getfixturevalue("quick")
    else:
        chat.bench.answer_model = ExtractiveAnswers(embedder)
    base = chat.base()
    for name, text in GUIDE.items():
        chat.upload(base, text, name)
    return chat


def test_forty_turns(talking: Chat, stubs: ModelStubs) -> None:
    chat, keyed = talking, isinstance(talking.bench.conversation_model, AnthropicConversation)
    api = chat.of(chat.tenant.admin)
    stubs.anthropic.reset()
    conversation = forty()
    assert len(conversation) == TURNS
    thread: dict[str, str] = {}
    folds, cited, missed = 0, 0, []
    answer: dict[str, Any] = {}
    for message, follow_up in conversation:
        answer = created(api("POST", "/v1/chat", {"message": message, **thread}))
        thread = {"thread_id": answer["thread_id"]}
        _stays_in_budget(chat, created(api("GET", f"/v1/runs/{answer['id']}")), stubs if keyed else None)
        folds += chat.stack.run_tasks().count("folded")
        cited += bool(answer["citations"])
        if follow_up is not None:
            given = _sent(stubs) if keyed else " ".join(one["quote"] for one in answer["citations"])
            if follow_up.phrase not in given:
                missed.append((message, answer["retrieval"]["query"], answer["answer"]))
    assert missed == []
    assert "PX-4711" in answer["answer"]
    assert answer["citations"] == []
    assert folds >= 2
    assert cited >= 20
    kept = chat.tenant.records.get(THREADS, thread["thread_id"])
    assert kept is not None
    assert kept.message_count == 2 * TURNS
    assert kept.earlier_count > TURNS
    assert kept.earlier.count("PX-4711") == 1


def _stays_in_budget(chat: Chat, run: dict[str, Any], stubs: ModelStubs | None) -> None:
    """By section as the run tells it, and in all as it was sent."""
    spent = {section["kind"]: section["tokens"] for section in run["sections"]}
    for kind, budget in BUDGETS.items():
        if budget is not None and kind is not SectionKind.REFERENCES:
            assert spent.get(kind.value, 0) <= budget
    fixed = spent["notes"] + spent["question"] + spent.get("search", 0)
    most = fixed + 1_200 + 4_800 + (BUDGETS[SectionKind.REFERENCES] or 0) + 200
    assert run["prompt_tokens"] <= most
    if stubs is not None:
        sent = [call for call in stubs.anthropic.calls if call.body["model"].startswith("claude-sonnet")][-1]
        assert sum(map(chat.bench.count_tokens, sent.texts)) == pytest.approx(run["prompt_tokens"], abs=5)


def _sent(stubs: ModelStubs) -> str:
    answers = [call for call in stubs.anthropic.calls if call.body["model"].startswith("claude-sonnet")]
    return unescape(answers[-1].texts[-1])
