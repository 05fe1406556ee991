"""Everything that a model provider can do wrong, for everything that we ask of it: what the client gets, what
is tried again, what is paid, and what is kept. The table is the specification; the real SDKs meet the stubs.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from werkzeug.test import TestResponse

from emulators.models.script import Call, Fault, Script
from emulators.models.server import ModelStubs
from shared.adapters.anthropic_models import ANSWER, STREAM, SUMMARY, AnthropicAnswers, AnthropicSummarizer
from shared.adapters.firestore.store import FirestoreStore, connect
from shared.adapters.gateway import Patience, patience
from shared.adapters.openai_embeddings import DOCUMENT, QUESTION, OpenAIEmbedder
from shared.adapters.storage import GcsObjects
from shared.adapters.storage import connect as connect_storage
from tests.emulated import DERIVED, PROJECT, UPLOADS
from tests.flows.api_stack import created
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat, Unhurried, chat_on
from tests.flows.test_chat_stream import Event, events, text_of
from tests.flows.workbench import Workbench

SHORT = 0.3  # seconds that a call may take, or a stream be silent, where that is what is tried
SILENCE = 0.9

FAULTS: Mapping[str, Fault] = {
    "429": Fault.rate_limited(),
    "429, wait 2": Fault.rate_limited(2),
    "429, wait 300": Fault.rate_limited(300),
    "500": Fault.server_error(),
    "529": Fault.overloaded(),
    "time-out": Fault.slow(SILENCE),
    "cut": Fault.cut(9),
    "stalled": Fault.stalled(SILENCE, after=9),
    "trickling": Fault.trickling(0.01),
    "malformed": Fault.malformed_json(),
    "refusal": Fault.refusal(),
    "max_tokens": Fault.max_tokens(),
    "content": Fault("content", status=400),
}


class Expected(NamedTuple):
    """`gets` is what the client sees; `calls` how often the provider was asked, and `waits` the seconds in
    between (None: our own); `paid` the calls that cost something, by purpose; `kept` what stays of it."""

    gets: str
    calls: int
    waits: tuple[float, ...] | None
    paid: Mapping[str, int]
    kept: str


NOTHING: Mapping[str, int] = {}
ASKED = {"question": 1}
ANSWERED = {"question": 1, "answer": 1}

# A whole answer. Somebody waits, so there are two attempts; a wait that would be too long is handed on.
CHAT = {
    "429": Expected("503", 2, None, ASKED, "failed run"),
    "429, wait 2": Expected("503, retry after 2", 2, (2,), ASKED, "failed run"),
    "429, wait 300": Expected("503, retry after 300", 1, (), ASKED, "failed run"),
    "500": Expected("503", 2, None, ASKED, "failed run"),
    "529": Expected("503", 2, None, ASKED, "failed run"),
    "time-out": Expected("503", 2, None, ASKED, "failed run"),
    "cut": Expected("503", 2, None, ASKED, "failed run"),
    "stalled": Expected("503", 2, None, ASKED, "failed run"),
    "malformed": Expected("503", 2, None, ASKED, "failed run"),
    "refusal": Expected("answer, refusal", 1, (), ANSWERED, "messages"),
    "max_tokens": Expected("answer, max_tokens", 1, (), ANSWERED, "messages"),
    "content": Expected("503", 1, (), ASKED, "failed run"),
}

# A streamed answer. Tried again until it begins; what has begun is paid, and what was written is kept.
STREAMED = {
    "429": Expected("error", 2, None, ASKED, "failed run"),
    "429, wait 2": Expected("error", 2, (2,), ASKED, "failed run"),
    "429, wait 300": Expected("error", 1, (), ASKED, "failed run"),
    "500": Expected("error", 2, None, ASKED, "failed run"),
    "529": Expected("error", 2, None, ASKED, "failed run"),
    "time-out": Expected("error", 2, None, ASKED, "failed run"),
    "cut": Expected("text, then error", 1, (), ANSWERED, "messages"),
    "stalled": Expected("text, then error", 1, (), ANSWERED, "messages"),
    "trickling": Expected("answer, end", 1, (), ANSWERED, "messages"),
    "malformed": Expected("error", 1, (), ASKED, "failed run"),
    "refusal": Expected("answer, refusal", 1, (), ANSWERED, "messages"),
    "max_tokens": Expected("answer, max_tokens", 1, (), ANSWERED, "messages"),
    "content": Expected("error", 1, (), ASKED, "failed run"),
}

# The embedding of a question: without it the conversation goes on, and says so.
QUESTIONS = {
    "429": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "429, wait 2": Expected("answer, unsearched", 2, (2,), {"answer": 1}, "messages"),
    "429, wait 300": Expected("answer, unsearched", 1, (), {"answer": 1}, "messages"),
    "500": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "529": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "time-out": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "cut": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "stalled": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "malformed": Expected("answer, unsearched", 2, None, {"answer": 1}, "messages"),
    "content": Expected("answer, unsearched", 1, (), {"answer": 1}, "messages"),
}

# The summary of a document's second section; the first one's is made by then, kept, and never paid again.
# A model that will not write one keeps no document from being found: its own sentences stand in.
DONE = {"summary": 2, "embedding": 1}
SUMMARIES = {
    "429": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "429, wait 2": Expected("later", 3, (2, 2), {"summary": 1}, "first summary"),
    "429, wait 300": Expected("later, in 300", 1, (), {"summary": 1}, "first summary"),
    "500": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "529": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "time-out": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "cut": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "stalled": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "malformed": Expected("later", 3, None, {"summary": 1}, "first summary"),
    "refusal": Expected("ready", 1, (), DONE, "all of it"),
    "max_tokens": Expected("ready", 1, (), DONE, "all of it"),
    "content": Expected("failed", 1, (), {"summary": 1}, "first summary"),
}

# The embedding of a document's passages, when its summaries are made.
EMBEDDINGS = {
    "429": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "429, wait 2": Expected("later", 3, (2, 2), {"summary": 2}, "both summaries"),
    "429, wait 300": Expected("later, in 300", 1, (), {"summary": 2}, "both summaries"),
    "500": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "529": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "time-out": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "cut": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "stalled": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "malformed": Expected("later", 3, None, {"summary": 2}, "both summaries"),
    "content": Expected("failed", 1, (), {"summary": 2}, "both summaries"),
}

# What cannot be: an embedding writes nothing, so nothing of it is refused or cut; only a stream trickles.
CANNOT_BE = {
    "chat": {"trickling"},
    "stream": set[str](),
    "question": {"trickling", "refusal", "max_tokens"},
    "summary": {"trickling"},
    "embedding": {"trickling", "refusal", "max_tokens"},
}
TABLE = {
    "chat": CHAT,
    "stream": STREAMED,
    "question": QUESTIONS,
    "summary": SUMMARIES,
    "embedding": EMBEDDINGS,
}
CELLS = [(kind, fault) for kind, expected in TABLE.items() for fault in expected]


class Recorded(Unhurried):
    def __init__(self) -> None:
        self.waits: list[float] = []
        super().__init__()

    def _pass(self, seconds: float) -> None:
        self.waits.append(seconds)
        super()._pass(seconds)


@dataclass
class Scene:
    chat: Chat
    stubs: ModelStubs
    base: str
    gateway: Recorded

    def set_models(self, *, hurried: bool) -> None:
        """Fresh adapters: with short times where silence is what is tried, else with those of every day."""
        self.gateway = Recorded()

        def within(usual: Patience) -> Patience:
            return patience(usual, SHORT) if hurried else usual

        # Between its attempts time stands still but for the waits, so that only one attempt's time is short.
        def steady(usual: Patience) -> Patience:
            made = within(usual)
            return Patience(made.attempts, made.attempt_seconds, usual.total_seconds)

        shared: dict[str, Any] = {"api_key": "k", "gateway": self.gateway}
        url = self.stubs.anthropic_url
        bench: Any = self.chat.bench
        bench.answer_model = AnthropicAnswers(
            **shared,
            base_url=url,
            model="claude-sonnet-5-5",
            patience=steady(ANSWER),
            stream_patience=steady(STREAM),
        )
        bench.summarizer = AnthropicSummarizer(
            **shared, base_url=url, model="claude-haiku-5-5", patience=steady(SUMMARY)
        )
        bench.embedder = OpenAIEmbedder(
            **shared,
            base_url=self.stubs.openai_url,
            question_patience=steady(QUESTION),
            document_patience=steady(DOCUMENT),
        )

    def paid(self) -> dict[str, tuple[int, float]]:
        """Calls and cost so far, by purpose."""
        report = created(self.chat.tenant.admin("GET", "/v1/usage?group_by=purpose"))
        return {
            item["purpose"]: (item["calls"], item["cost_microdollars"])
            for item in report["items"]
            if item["purpose"]
        }

    def paid_since(self, before: Mapping[str, tuple[int, float]]) -> dict[str, int]:
        found = {}
        for purpose, (calls, cost) in self.paid().items():
            calls_before, cost_before = before.get(purpose, (0, 0.0))
            assert (calls > calls_before) == (cost > cost_before), purpose
            if calls > calls_before:
                found[purpose] = calls - calls_before
        return found


@pytest.fixture(scope="module")
def scene(firestore_host: str, storage_url: str, stubs: ModelStubs) -> Iterator[Scene]:
    """One account for all cells: each looks only at what it added."""
    records = connect(f"demo-{uuid.uuid4().hex[:12]}", "(default)")
    bucket = connect_storage(PROJECT, storage_url)
    bench = Workbench(FirestoreStore(records), GcsObjects(bucket, UPLOADS), GcsObjects(bucket, DERIVED))
    stubs.openai.reset()
    chat = chat_on(bench, stubs)
    made = Scene(chat, stubs, chat.base()["id"], Recorded())
    made.set_models(hurried=False)
    chat.upload({"id": made.base}, HANDBOOK)
    yield made
    records.close()


def test_the_table_has_every_cell() -> None:
    assert set(FAULTS) == {fault for expected in TABLE.values() for fault in expected}
    for kind, expected in TABLE.items():
        assert set(expected) | CANNOT_BE[kind] == set(FAULTS), kind
        assert not set(expected) & CANNOT_BE[kind], kind


@pytest.mark.parametrize(("kind", "fault"), CELLS)
def test_cell(scene: Scene, kind: str, fault: str) -> None:
    expected = TABLE[kind][fault]
    scene.stubs.openai.reset()
    scene.stubs.anthropic.reset()
    scene.set_models(hurried=fault in {"time-out", "stalled"})
    before = scene.paid()
    if kind in {"summary", "embedding"}:
        _document(scene, kind, FAULTS[fault], expected, before)
    else:
        _answer(scene, kind, FAULTS[fault], expected)
        assert scene.paid_since(before) == expected.paid
    _calls(scene, kind, expected)


@pytest.mark.parametrize("fault", ["429", "429, wait 2", "500", "529", "time-out"])
def test_a_stream_that_began_badly_once_is_told_as_if_nothing_had_been(scene: Scene, fault: str) -> None:
    scene.stubs.anthropic.reset()
    scene.set_models(hurried=fault == "time-out")
    scene.stubs.anthropic.then(FAULTS[fault])
    before = scene.paid()
    api = scene.chat.of(scene.chat.tenant.admin)
    found = list(events(api("POST", "/v1/chat/stream", {"message": LEAVE_QUESTION})))
    assert _told(found)[0] == "answer, end"
    assert len(scene.stubs.anthropic.calls) == 2
    assert scene.paid_since(before) == ANSWERED


def _calls(scene: Scene, kind: str, expected: Expected) -> None:
    script = scene.stubs.openai if kind in {"question", "embedding"} else scene.stubs.anthropic
    made = [call for call in script.calls if call.fault is not None]
    assert len(made) == expected.calls
    if expected.waits is not None:
        assert scene.gateway.waits == list(expected.waits)
    else:
        assert len(scene.gateway.waits) == expected.calls - 1


# --- answers -----------------------------------------------------------------------------------


def _answer(scene: Scene, kind: str, fault: Fault, expected: Expected) -> None:
    script = scene.stubs.openai if kind == "question" else scene.stubs.anthropic
    script.always(fault)
    api = scene.chat.of(scene.chat.tenant.admin)
    threads = len(_threads(scene))
    if kind == "stream":
        found = list(events(api("POST", "/v1/chat/stream", {"message": LEAVE_QUESTION})))
        gets, run_id = _told(found)
    else:
        response = api("POST", "/v1/chat", {"message": LEAVE_QUESTION})
        gets = _shown(response, searched=kind != "question")
        run_id = created(response)["id"] if response.status_code == 200 else None
    assert gets == expected.gets
    messages = len(_threads(scene)) - threads
    assert messages == (expected.kept == "messages")
    if run_id is None:
        return
    run = created(api("GET", f"/v1/runs/{run_id}"))
    assert (run["status"] == "failed") == ("error" in gets)
    assert bool(run["answer"]) == (expected.kept == "messages")
    if kind == "stream" and expected.kept == "messages":
        assert run["answer"] == text_of(found).strip()


def _threads(scene: Scene) -> list[Any]:
    api = scene.chat.of(scene.chat.tenant.admin)
    found: list[Any] = created(api("GET", "/v1/threads?limit=200"))["items"]
    return found


def _shown(response: TestResponse, *, searched: bool) -> str:
    assert response.json is not None
    if response.status_code == 200:
        status = response.json["retrieval"]["status"]
        assert (status == "failed") is not searched
        return f"answer, {response.json['stop_reason']}" if searched else "answer, unsearched"
    assert response.json["code"] == "model_unavailable"
    after = response.headers.get("Retry-After")
    return f"{response.status_code}, retry after {after}" if after else f"{response.status_code}"


def _told(found: list[Event]) -> tuple[str, str]:
    names = [event.name for event in found]
    assert names[0] == "context"
    last = found[-1]
    if last.name == "done":
        assert names[-2] == "citations"
        return f"answer, {last.data['stop_reason']}", last.data["id"]
    assert last.name == "error"
    assert last.data["code"] == "model_unavailable"
    return "text, then error" if "delta" in names else "error", last.data["id"]


# --- documents ---------------------------------------------------------------------------------


def _document(
    scene: Scene, kind: str, fault: Fault, expected: Expected, before: Mapping[str, tuple[int, float]]
) -> None:
    mark = uuid.uuid4().hex[:8]
    script, when = _where(scene, kind, mark)
    script.always(fault, when=when)
    path = f"/v1/knowledge-bases/{scene.base}/documents"
    admin = scene.chat.tenant.admin
    document = created(admin.upload(path, _two_sections(mark).encode(), f"{mark}.md"))
    outcome = scene.chat.stack.ingest(scene.chat.tenant, document)
    tasks = list(scene.chat.bench.queue.tasks)
    assert _outcome(scene, outcome, document["id"]) == expected.gets
    assert scene.paid_since(before) == expected.paid
    waits = list(scene.gateway.waits)
    script.calls[:] = [call for call in script.calls if call.fault is not None]
    again = list(script.calls)
    if expected.gets.startswith("later"):
        assert [task.path for task in tasks][-1:] == ["/advance"]
        _recovered(scene, document["id"], before)
    elif expected.gets == "failed":
        script.reset()
        created(admin("POST", f"/v1/documents/{document['id']}:retry"))
        _recovered(scene, document["id"], before)
    scene.chat.bench.queue.tasks.clear()
    scene.gateway.waits = waits
    script.calls[:] = again


def _where(scene: Scene, kind: str, mark: str) -> tuple[Script, Any]:
    def second_section(call: Call) -> bool:
        return f"second {mark}" in call.texts[-1]

    def its_passages(call: Call) -> bool:
        return any(mark in text for text in call.texts)

    if kind == "summary":
        return scene.stubs.anthropic, second_section
    return scene.stubs.openai, its_passages


def _two_sections(mark: str) -> str:
    return "\n\n".join(
        f"# Part {name} {mark}\n\n" + f"Rule of the {name} {mark} is told here in full. " * 100
        for name in ("first", "second")
    )


def _outcome(scene: Scene, outcome: str, document_id: str) -> str:
    document = created(scene.chat.tenant.admin("GET", f"/v1/documents/{document_id}"))
    if outcome == "published":
        assert document["status"] == "ready"
        return "ready"
    assert document["error"]["code"] == "model_unavailable"
    if outcome == "failed":
        assert document["status"] == "failed"
        return "failed"
    (task,) = [task for task in scene.chat.bench.queue.tasks if task.path == "/advance"]
    assert task.at is not None
    seconds = (task.at - scene.chat.bench.clock.time).total_seconds()
    return f"later, in {300}" if seconds > 290 else "later"


def _recovered(scene: Scene, document_id: str, before: Mapping[str, tuple[int, float]]) -> None:
    """When the provider is well again the rest is done, and nothing is paid a second time."""
    scene.stubs.openai.reset()
    scene.stubs.anthropic.reset()
    scene.set_models(hurried=False)
    scene.chat.bench.clock.pass_seconds(900)
    scene.chat.stack.run_tasks()
    scene.chat.stack.ingest(scene.chat.tenant, {"id": document_id})
    assert created(scene.chat.tenant.admin("GET", f"/v1/documents/{document_id}"))["status"] == "ready"
    assert scene.paid_since(before) == DONE
