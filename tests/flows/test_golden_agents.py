"""What eight typical agents are really sent. The golden files are to be read: are they clear?"""

from __future__ import annotations

import re
from typing import Any

import pytest

from shared.domain.models import Prompt
from tests.flows.api_stack import Api, created
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, ScriptedAnswers
from tests.flows.desk import Desk
from tests.golden_files import prompt_text, same_as_golden

INSTRUCTIONS = """\
You help the people of a small hotel.

- Address guests by their name where you know it.
- Never promise a refund; offer to ask the manager."""
TONE = """\
# Tone of voice

Warm, short, no exclamation marks. We say "guest", never "customer"."""


@pytest.fixture
def sent(desk: Desk, scripted: ScriptedAnswers) -> Any:
    """Asks, and returns the prompt with ids that are the same in every run."""

    def ask(message: object, **fields: object) -> str:
        scripted.replies = ["ok"]
        desk.ask(message, **fields)
        return _stable(scripted.prompts[-1])

    return ask


def _stable(prompt: Prompt) -> str:
    names: dict[str, str] = {}

    def short(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"{match[1]}_{len(names) + 1}")

    return re.sub(r"\b(psg|chk)_[0-9a-f]{32}\b", short, prompt_text(prompt))


def contacts(desk: Desk) -> dict[str, Any]:
    base = desk.chat.base("Contacts", type="form", is_auto_context=False)
    desk.record(base, values={"name": "Ann Lee", "role": "Night porter", "phone": "12"})
    desk.record(base, values={"name": "王小明", "role": "Manager", "phone": "30", "on call": True})
    return base


def handbook(desk: Desk, **fields: object) -> dict[str, Any]:
    about = "Rules of work: leave, bonuses, services of the house."
    base = desk.chat.base("House Handbook", description=about, is_auto_context=False, **fields)
    document = desk.chat.upload(base, HANDBOOK)
    return {**base, "document_id": document["id"]}


def test_inline_only(desk: Desk, sent: Any) -> None:
    contacts(desk)
    desk.page("Tone", TONE)
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS, agent_ds=["contacts", "tone"])
    same_as_golden("agent_inline.txt", sent("Who is the manager?", agent_id=agent["id"]))


def test_pointer_without_a_hit(desk: Desk, sent: Any) -> None:
    handbook(desk)
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS, agent_ds=["house-handbook"])
    same_as_golden("agent_pointer.txt", sent("Walrus?", agent_id=agent["id"]))


def test_retrieved(desk: Desk, sent: Any) -> None:
    handbook(desk)
    desk.page("Tone", TONE)
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS, agent_ds=["house-handbook", "tone"])
    same_as_golden("agent_retrieved.txt", sent(LEAVE_QUESTION, agent_id=agent["id"]))


def test_space(desk: Desk, sent: Any) -> None:
    tone, people = desk.page("Tone", TONE), contacts(desk)
    space = desk.space(knowledge_base_ids=[people["id"], tone["id"]])
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS)
    prompt = sent("Who is at the door tonight?", agent_id=agent["id"], space_id=space["id"])
    same_as_golden("agent_space.txt", prompt)


def test_thread_reference(desk: Desk, sent: Any) -> None:
    base = handbook(desk)
    thread = created(desk.api("POST", "/v1/threads", {"thread_ref": [base["document_id"]]}))
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS)
    sent("Good morning.", agent_id=agent["id"], thread_id=thread["id"])
    prompt = sent(LEAVE_QUESTION, agent_id=agent["id"], thread_id=thread["id"])
    same_as_golden("agent_thread_ref.txt", prompt)


def test_file_part(desk: Desk, sent: Any) -> None:
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS)
    message = [
        {"type": "file", "name": "booking.txt", "text": "Booking 4711\nGuest: Mr & Mrs Ode\nNights: 3"},
        {"type": "text", "text": "For how many nights do they stay?"},
    ]
    same_as_golden("agent_file.txt", sent(message, agent_id=agent["id"]))


def test_platform_agent(desk: Desk, platform: Api, sent: Any) -> None:
    base = handbook(desk)
    fields = {"name": "Concierge", "instructions": "Recommend what is near.", "published": True}
    agent = desk.agent(platform, **fields)
    created(desk.api("PATCH", f"/v1/agents/{agent['id']}", {"agent_tenant_ds": [base["id"]]}))
    same_as_golden("agent_platform.txt", sent(LEAVE_QUESTION, agent_id=agent["id"]))


def test_nothing_selected(desk: Desk, sent: Any) -> None:
    handbook(desk)
    agent = desk.agent(name="Front desk", instructions=INSTRUCTIONS, agent_ds=[])
    same_as_golden("agent_nothing.txt", sent(LEAVE_QUESTION, agent_id=agent["id"]))
