"""A conversation is sent so that the provider's prompt cache holds what its turns have in common."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from emulators.models.prompt_cache import blocks
from emulators.models.script import Call
from emulators.models.server import ModelStubs
from tests.flows.api_stack import created
from tests.flows.chat_stack import HANDBOOK, Chat

INSTRUCTIONS = " ".join(f"Rule {n}: speak plainly about matter number {n}." for n in range(120))
QUESTIONS = (
    "How many days of annual leave has every employee?",
    "Which crew services the drainage pump in hall seven?",
    "What bonus does a senior have?",
    "Is the drainage pump serviced every spring?",
)


def stable(call: Call) -> bytes:
    """All up to the last mark, as bytes."""
    found = list(blocks(call.body))
    last = max(place for place, (_, _, marked) in enumerate(found) if marked)
    return b"".join(f"{whose}\0{text}\0".encode() for whose, text, _ in found[: last + 1])


def whole(call: Call) -> bytes:
    return b"".join(f"{whose}\0{text}\0".encode() for whose, text, _ in blocks(call.body))


@pytest.fixture
def turns(chat: Chat, stubs: ModelStubs) -> tuple[list[dict[str, Any]], list[Call]]:
    """The runs of a conversation with an agent, and the calls that it made."""
    base = chat.base()
    chat.upload(base, HANDBOOK)
    api = chat.of(chat.tenant.admin)
    agent = created(api("POST", "/v1/agents", {"name": "Clerk", "instructions": INSTRUCTIONS}))
    runs: list[dict[str, Any]] = []
    for question in QUESTIONS:
        more = {"thread_id": runs[-1]["thread_id"]} if runs else {}
        body = {"message": question, "agent_id": agent["id"], **more}
        answer = created(api("POST", "/v1/chat", body))
        runs.append(created(api("GET", f"/v1/runs/{answer['id']}")))
    return runs, list(stubs.anthropic.calls)


def test_what_two_turns_have_in_common_is_the_same_byte_for_byte(
    turns: tuple[list[dict[str, Any]], list[Call]],
) -> None:
    _, calls = turns
    assert len(calls) == len(QUESTIONS)
    for earlier, later in pairwise(calls):
        assert whole(later).startswith(stable(earlier))
        assert len(stable(later)) > len(stable(earlier))
    for call in calls:  # what changes with every question comes behind the last mark
        assert b"<reference_documents>" not in stable(call).partition(b"user\0")[2]
        assert sum(marked for _, _, marked in blocks(call.body)) <= 4


def test_the_cached_share_is_in_the_usage_and_costs_a_tenth(
    turns: tuple[list[dict[str, Any]], list[Call]],
) -> None:
    runs, _ = turns
    first, *others = [run["usage"] for run in runs]
    assert (first["cached_tokens"], first["cache_write_tokens"] > 1_024) == (0, True)
    for before, usage in pairwise([first, *others]):
        assert usage["cached_tokens"] == before["cached_tokens"] + before["cache_write_tokens"]
        fresh = usage["input_tokens"] - usage["cached_tokens"] - usage["cache_write_tokens"]
        assert usage["cost_microdollars"] == pytest.approx(
            fresh * 2
            + usage["cached_tokens"] * 0.2
            + usage["cache_write_tokens"] * 2.5
            + usage["output_tokens"] * 10
        )
    assert others[-1]["cost_microdollars"] < first["cost_microdollars"]
