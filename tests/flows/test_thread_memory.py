"""The rolling summary of a thread: folded once, by whoever comes first; it goes with what it came from."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.answer.fold import fold
from shared.context.sections import BUDGETS, SectionKind
from shared.domain.conversation import Message, Thread
from shared.domain.models import Fold, FollowUp, Rewritten, Summary, TurnRole
from shared.ports import Query
from shared.records import MESSAGES, RUNS, THREADS
from tests.flows.api_stack import Api, created, problem
from tests.flows.chat_stack import HANDBOOK, Chat, ScriptedAnswers
from tests.flows.test_followups import converse, quick

__all__ = ["quick"]

LONG = "The weather is mild and the train was late. " * 80


def thread_of(chat: Chat, answer: dict[str, Any]) -> Thread:
    found = chat.tenant.records.get(THREADS, answer["thread_id"])
    assert found is not None
    return found


def talk(chat: Chat, scripted: ScriptedAnswers, turns: int) -> list[dict[str, Any]]:
    """The first turn states a fact; the task of folding waits where one was made."""
    scripted.replies = [f"Noted, number {n}." for n in range(turns)]
    said = [
        f"The code of our project is PX-4711. {LONG}",
        *(f"I saw {n} birds. {LONG}" for n in range(1, turns)),
    ]
    return converse(chat, *said)


def test_turns_that_leave_the_window_are_folded_once(chat: Chat, scripted: ScriptedAnswers) -> None:
    answers = talk(chat, scripted, 6)
    assert [task.path for task in chat.bench.queue.tasks if task.path == "/fold"]
    assert chat.stack.run_tasks()[0] == "folded"
    thread = thread_of(chat, answers[0])
    assert 0 < thread.earlier_count < 12
    assert thread.earlier_count % 2 == 0
    assert thread.earlier.count("PX-4711") == 1
    assert fold(chat.bench, chat.tenant.account.id, thread.id) == "nothing"

    scripted.replies = ["PX-4711."]
    body = {"message": "What is the code of our project?", "thread_id": thread.id}
    last = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", body))
    prompt = scripted.prompts[-1]
    assert "PX-4711" in prompt.history[0].text
    assert len(prompt.history) == 1 + 12 - thread.earlier_count
    run = created(chat.of(chat.tenant.admin)("GET", f"/v1/runs/{last['id']}"))
    spent = {section["kind"]: section["tokens"] for section in run["sections"]}
    assert 0 < spent["earlier"] <= (BUDGETS[SectionKind.EARLIER] or 0)


def test_a_queue_that_is_down_loses_no_answer_and_no_fact(
    chat: Chat, scripted: ScriptedAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shared.domain.errors import TransientError

    def down(_: object) -> bool:
        raise TransientError("the queue is away")

    monkeypatch.setattr(chat.bench.queue, "enqueue", down)
    answers = talk(chat, scripted, 14)
    assert thread_of(chat, answers[0]).earlier == ""
    assert "PX-4711" in scripted.prompts[-1].history[0].text
    assert sum(chat.bench.count_tokens(turn.text) for turn in scripted.prompts[-1].history) <= 6_000


class Meanwhile:
    """`ports.ConversationModel`: something happens while it writes."""

    name = "quick"

    def __init__(self, happens: list[Any]) -> None:
        self._happens = happens
        self.folds: list[Fold] = []

    def standalone(self, follow_up: FollowUp) -> Rewritten:
        return Rewritten(follow_up.question)

    def fold(self, fold: Fold) -> Summary:
        self.folds.append(fold)
        if self._happens:
            self._happens.pop()()
        return Summary(f"{fold.earlier} + {len(fold.turns)} turns")


def test_two_at_once_fold_every_turn_once(chat: Chat, scripted: ScriptedAnswers) -> None:
    answers = talk(chat, scripted, 6)
    account, name = chat.tenant.account.id, answers[0]["thread_id"]
    model = Meanwhile([])
    model._happens.append(lambda: fold(chat.bench, account, name))
    chat.bench.conversation_model = model
    fold(chat.bench, account, name)
    thread = thread_of(chat, answers[0])
    assert thread.earlier == f" + {thread.earlier_count} turns".strip()
    assert len(model.folds) == 2


def test_answers_that_come_while_it_folds_are_kept(chat: Chat, scripted: ScriptedAnswers) -> None:
    answers = talk(chat, scripted, 6)
    name = answers[0]["thread_id"]
    scripted.replies = ["And noted.", "Noted as well."]

    apis = [chat.of(chat.tenant.admin) for _ in range(2)]  # made here: routes do not compile side by side

    def ask(api: Api, message: str) -> None:
        created(api("POST", "/v1/chat", {"message": message, "thread_id": name}))

    def two() -> None:
        asking = [threading.Thread(target=ask, args=(api, "I saw a heron.")) for api in apis]
        for one in asking:
            one.start()
        for one in asking:
            one.join()

    chat.bench.conversation_model = Meanwhile([two])
    assert fold(chat.bench, chat.tenant.account.id, name) == "folded"
    thread = thread_of(chat, answers[0])
    kind = MESSAGES.below(THREADS, name)
    numbers = [m.number for m in chat.tenant.records.every(kind, Query(order_by="number"))]
    assert numbers == list(range(16)) == list(range(thread.message_count))
    assert 0 < thread.earlier_count <= 10


def test_with_a_key_the_quick_model_remembers(chat: Chat, scripted: ScriptedAnswers, quick: Any) -> None:
    answers = talk(chat, scripted, 6)
    chat.stack.run_tasks()
    thread = thread_of(chat, answers[0])
    assert "The code of our project is PX-4711." in thread.earlier
    assert "The user said" not in thread.earlier
    assert chat.bench.count_tokens(thread.earlier) <= (BUDGETS[SectionKind.EARLIER] or 0)


@pytest.mark.parametrize("fault", [Fault.refusal(), Fault.overloaded()], ids=lambda fault: fault.name)
def test_a_quick_model_that_fails_leaves_it_to_the_words(
    chat: Chat, scripted: ScriptedAnswers, quick: Any, stubs: ModelStubs, fault: Fault
) -> None:
    answers = talk(chat, scripted, 6)
    stubs.anthropic.always(fault)
    chat.stack.run_tasks()
    assert "The user said: The code of our project is PX-4711." in thread_of(chat, answers[0]).earlier


def quoting(chat: Chat) -> tuple[dict[str, Any], Thread]:
    """A thread whose folded turns quote a document."""
    document = chat.upload(chat.base(), HANDBOOK)
    (first,) = converse(chat, "How many days of annual leave has every employee?")
    kind = MESSAGES.below(THREADS, first["thread_id"])
    thread = thread_of(chat, first)
    filler = [
        Message(f"msg_{n}", n, (TurnRole.USER, TurnRole.ASSISTANT)[n % 2], LONG, thread.created_at, "run_x")
        for n in range(2, 14)
    ]
    chat.tenant.records.put_many(kind, filler)
    chat.tenant.records.put_many(THREADS, [replace_count(thread, 14)])
    assert fold(chat.bench, chat.tenant.account.id, thread.id) == "folded"
    return document, thread_of(chat, first)


def replace_count(thread: Thread, count: int) -> Thread:
    from dataclasses import replace

    return replace(thread, message_count=count)


def test_a_deleted_document_goes_from_the_summary(chat: Chat) -> None:
    from shared.adapters.local.answers import ExtractiveAnswers
    from shared.adapters.local.embedder import UseEmbedder

    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    document, thread = quoting(chat)
    assert "twenty six days" in thread.earlier
    assert thread.earlier_documents == (document["id"],)
    created(chat.tenant.admin("DELETE", f"/v1/documents/{document['id']}"))
    chat.stack.run_tasks()
    emptied = chat.tenant.records.get(THREADS, thread.id)
    assert emptied is not None
    assert (emptied.earlier, emptied.earlier_count, emptied.earlier_documents) == ("", 0, ())
    fold(chat.bench, chat.tenant.account.id, thread.id)
    again = chat.tenant.records.get(THREADS, thread.id)
    assert again is not None
    assert "How many days of annual leave" in again.earlier
    assert "twenty six" not in again.earlier


def test_a_deleted_thread_takes_everything_with_it(chat: Chat, scripted: ScriptedAnswers) -> None:
    answers = talk(chat, scripted, 6)
    chat.stack.run_tasks()
    api, name = chat.of(chat.tenant.admin), answers[0]["thread_id"]
    assert problem(chat.of(chat.tenant.engineering)("DELETE", f"/v1/threads/{name}")) == (404, "not_found")
    assert api("DELETE", f"/v1/threads/{name}").status_code == 204
    assert problem(api("GET", f"/v1/threads/{name}")) == (404, "not_found")
    assert problem(api("GET", f"/v1/runs/{answers[0]['id']}")) == (404, "not_found")
    records = chat.tenant.records
    assert records.count(MESSAGES.below(THREADS, name), Query()) == 0
    assert records.count(RUNS, Query(where=(("thread_id", "==", name),))) == 0
    assert problem(api("DELETE", f"/v1/threads/{name}")) == (404, "not_found")


def test_an_answer_that_ends_after_its_thread_was_deleted_brings_nothing_back(
    chat: Chat, scripted: ScriptedAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = talk(chat, scripted, 1)
    api, name = chat.of(chat.tenant.admin), answers[0]["thread_id"]
    said = scripted.answer

    def deleted_meanwhile(prompt: Any) -> Any:
        assert api("DELETE", f"/v1/threads/{name}").status_code == 204
        return said(prompt)

    scripted.replies = ["Too late."]
    monkeypatch.setattr(scripted, "answer", deleted_meanwhile)
    created(api("POST", "/v1/chat", {"message": "And now?", "thread_id": name}))
    assert chat.tenant.records.get(THREADS, name) is None
    assert chat.tenant.records.count(MESSAGES.below(THREADS, name), Query()) == 0
    assert chat.tenant.records.count(RUNS, Query(where=(("thread_id", "==", name),))) == 0
