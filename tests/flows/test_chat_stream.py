"""Answers as server-sent events: the order of events, what a reader never sees, and how a stream ends."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from werkzeug.test import TestResponse

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from shared.domain.models import Prompt, Reply
from tests.flows.api_stack import Api, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat, ScriptedAnswers, passage_id


@dataclass(frozen=True)
class Event:
    name: str
    data: dict[str, Any]


def events(answer: TestResponse) -> Iterator[Event]:
    assert answer.mimetype == "text/event-stream", answer.text
    buffer = ""
    for piece in answer.response:
        buffer += piece.decode() if isinstance(piece, bytes) else piece
        *blocks, buffer = buffer.split("\n\n")
        for block in blocks:
            if not block.startswith(":"):
                name, data = block.split("\n")
                yield Event(name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))


def ask(api: Api, message: str = LEAVE_QUESTION, **more: object) -> list[Event]:
    return list(events(api("POST", "/v1/chat/stream", {"message": message, **more})))


def text_of(found: list[Event]) -> str:
    return "".join(event.data["text"] for event in found if event.name == "delta")


def test_the_context_comes_first_then_text_then_citations(chat: Chat) -> None:
    document = chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    found = ask(api)
    names = [event.name for event in found]
    assert names[0] == "context"
    assert names[-2:] == ["citations", "done"]
    assert set(names[1:-2]) == {"delta"}
    assert names.count("delta") > 3
    assert found[0].data["sources"][0]["document_id"] == document["id"]
    assert found[0].data["retrieval"]["status"] == "ok"
    done = found[-1].data
    assert text_of(found) == done["answer"]
    assert done["answer"] == "Every employee has twenty six days of annual leave in a calendar year. [1]"
    assert found[-2].data["citations"] == done["citations"]
    assert done["usage"]["input_tokens"] > 0
    run = created(api("GET", f"/v1/runs/{done['id']}"))
    assert {key: run[key] for key in done} == done
    assert created(api("GET", f"/v1/threads/{done['thread_id']}"))["message_count"] == 2


def test_it_is_the_answer_that_chat_gives(chat: Chat) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    whole = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    streamed = ask(api)[-1].data
    for key in ("answer", "citations", "sources", "retrieval", "usage", "model", "stop_reason"):
        assert streamed[key] == whole[key]


def test_no_marker_reaches_the_reader_half_written_or_unknown(chat: Chat, scripted: ScriptedAnswers) -> None:
    chat.upload(chat.base(), HANDBOOK)
    known = passage_id(chat)
    scripted.replies = [f"It is <i>26</i> days [[{known}]], says [[psg_unknown]] the book [[{known}"]
    found = ask(chat.of(chat.tenant.admin))
    assert text_of(found) == "It is 26 days [1], says the book"
    pieces = [event.data["text"] for event in found if event.name == "delta"]
    assert not [piece for piece in pieces if "[[" in piece or "psg" in piece or "<" in piece]


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (Fault.cut(8), True),
        (Fault.overloaded(), False),
        (Fault.malformed_json(), None),
    ],
    ids=["cut", "overloaded", "malformed"],
)
def test_a_broken_stream_says_so_and_keeps_what_was_written(
    chat: Chat, stubs: ModelStubs, fault: Fault, kept: bool | None
) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    stubs.anthropic.always(fault)
    found = ask(api)
    assert [event.name for event in found if event.name != "delta"] == ["context", "error"]
    error = found[-1].data
    assert (error["status"], error["code"]) == (503, "model_unavailable")
    assert error["request_id"]
    run = created(api("GET", f"/v1/runs/{error['id']}"))
    assert run["status"] == "failed"
    assert run["error"]["code"] == "model_unavailable"
    assert run["answer"] == text_of(found).strip()
    if kept is not None:
        assert bool(run["answer"]) is kept
        assert len(created(api("GET", "/v1/threads"))["items"]) == int(kept)


def test_the_models_call_ends_when_the_reader_leaves(chat: Chat) -> None:
    class Endless(ScriptedAnswers):
        closed = False

        def stream(self, prompt: Prompt) -> Generator[str | Reply, None, None]:
            try:
                while True:
                    yield "and so on "
            finally:
                self.closed = True

    chat.upload(chat.base(), HANDBOOK)
    model = Endless()
    chat.bench.answer_model = model
    api = chat.of(chat.tenant.admin)
    answer = api("POST", "/v1/chat/stream", {"message": LEAVE_QUESTION})
    read = events(answer)
    first = [next(read) for _ in range(4)]
    answer.close()
    assert model.closed
    run = created(api("GET", f"/v1/runs/{first[0].data['id']}"))
    assert run["status"] == "cancelled"
    assert run["answer"].startswith(text_of(first).strip())


def test_what_is_refused_is_refused_before_the_stream_begins(chat: Chat) -> None:
    api = chat.of(chat.tenant.admin)
    for body, refusal in (
        ({"message": ""}, (400, "invalid_request")),
        ({"message": "x", "thread_id": "thr_none"}, (404, "not_found")),
        ({"message": "x", "document_ids": ["doc_none"]}, (404, "not_found")),
    ):
        assert problem(api("POST", "/v1/chat/stream", body)) == refusal


def test_an_unforeseen_error_is_an_event_that_tells_nothing(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    class Buggy(ScriptedAnswers):
        def stream(self, prompt: Prompt) -> Generator[str | Reply, None, None]:
            yield "It is "
            raise KeyError("secret detail")

    chat.upload(chat.base(), HANDBOOK)
    chat.bench.answer_model = Buggy()
    found = ask(chat.of(chat.tenant.admin))
    assert found[-1].name == "error"
    assert found[-1].data["code"] == "internal"
    assert "secret" not in json.dumps(found[-1].data)
    assert "unexpected error in a stream" in caplog.text


@pytest.mark.parametrize("fault", [Fault.refusal(), Fault.max_tokens()], ids=lambda fault: fault.name)
def test_an_answer_that_ends_early_says_why(chat: Chat, stubs: ModelStubs, fault: Fault) -> None:
    chat.upload(chat.base(), HANDBOOK)
    stubs.anthropic.then(fault)
    done = ask(chat.of(chat.tenant.admin))[-1].data
    assert done["stop_reason"] == fault.name
    assert done["answer"]


def test_without_a_key_it_streams_as_well(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    chat.upload(chat.base(), HANDBOOK)
    found = ask(chat.of(chat.tenant.admin))
    assert "> Every employee has twenty six days" in text_of(found)
    assert found[-1].data["citations"]
