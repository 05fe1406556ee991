"""Chat over HTTP: answers with citations that hold, threads, runs, and what happens when things fail."""

from __future__ import annotations

from typing import Any

import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from shared.domain.errors import TransientError
from shared.ports import Query
from shared.records import MESSAGES, RUNS, THREADS
from tests.flows.api_stack import created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat, ScriptedAnswers, passage_id
from tests.flows.workbench import ScriptedEmbedder


def test_an_answer_cites_what_it_rests_on(chat: Chat) -> None:
    document = chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert answer["answer"] == "Every employee has twenty six days of annual leave in a calendar year. [1]"
    assert answer["retrieval"]["status"] == "ok"
    assert answer["retrieval"]["covered"]
    assert answer["model"] == "claude-sonnet-5-5"
    assert answer["usage"]["input_tokens"] > 0
    (citation,) = answer["citations"]
    assert citation["n"] == 1
    assert citation["document_id"] == document["id"]
    assert citation["version"] == 1
    assert "twenty six days" in citation["quote"]
    assert citation["standing"] == "current"
    assert citation["passage_id"] in {source["passage_id"] for source in answer["sources"]}

    opened = created(
        chat.tenant.admin("GET", f"/v1/documents/{document['id']}/passages/{citation['passage_id']}")
    )
    assert opened["text"] == citation["quote"]
    run = created(api("GET", f"/v1/runs/{answer['id']}"))
    assert {key: run[key] for key in answer} == answer
    assert run["status"] == "done"
    assert run["question"] == LEAVE_QUESTION
    assert run["prompt_tokens"] == pytest.approx(sum(one["tokens"] for one in run["sections"]), abs=60)


def test_a_thread_keeps_the_conversation_without_its_passages(chat: Chat, scripted: ScriptedAnswers) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    scripted.replies = [f"It is 26 days [[{passage_id(chat)}]].", "Yes."]
    first = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    thread = first["thread_id"]
    second = created(api("POST", "/v1/chat", {"message": "Really every employee?", "thread_id": thread}))
    assert second["thread_id"] == thread
    assert [turn.text for turn in scripted.prompts[1].history] == [LEAVE_QUESTION, "It is 26 days."]
    messages = created(api("GET", f"/v1/threads/{thread}/messages"))["items"]
    assert [(m["number"], m["role"], m["text"]) for m in messages] == [
        (0, "user", LEAVE_QUESTION),
        (1, "assistant", "It is 26 days [1]."),
        (2, "user", "Really every employee?"),
        (3, "assistant", "Yes."),
    ]
    assert messages[1]["citations"] == first["citations"]
    listed = created(api("GET", "/v1/threads"))["items"]
    assert [(one["id"], one["title"], one["message_count"]) for one in listed] == [
        (thread, LEAVE_QUESTION, 4)
    ]


def test_unknown_markers_and_markup_do_not_reach_the_reader(chat: Chat, scripted: ScriptedAnswers) -> None:
    chat.upload(chat.base(), HANDBOOK)
    known = passage_id(chat)
    scripted.replies = [
        f"<b>26</b> days [[{known}]][[psg_invented]]. ![x](https://evil.example/p.png) [[{known}]] [[psg"
    ]
    answer = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert answer["answer"] == "26 days [1]. x [1]"
    assert [citation["passage_id"] for citation in answer["citations"]] == [known]


def test_the_other_department_and_the_other_account_get_nothing(chat: Chat) -> None:
    engineering = chat.tenant.departments["engineering"]
    document = chat.upload(chat.base(department_ids=[engineering]), HANDBOOK)
    stranger = chat.stack.tenant()
    inside = created(chat.of(chat.tenant.engineering)("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert inside["citations"]
    for api in (chat.of(chat.tenant.marketing), chat.of(stranger.admin)):
        answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
        assert answer["citations"] == answer["sources"] == []
        assert answer["retrieval"]["status"] == "empty"
        assert "twenty six" not in answer["answer"]
        for body in (
            {"message": LEAVE_QUESTION, "document_ids": [document["id"]]},
            {
                "message": [
                    {"type": "text", "text": "x"},
                    {"type": "reference", "document_id": document["id"]},
                ]
            },
            {"message": "x", "thread_id": inside["thread_id"]},
        ):
            assert problem(api("POST", "/v1/chat", body)) == (404, "not_found")
        for path in (
            f"/v1/runs/{inside['id']}",
            f"/v1/threads/{inside['thread_id']}",
            f"/v1/threads/{inside['thread_id']}/messages",
        ):
            assert problem(api("GET", path)) == (404, "not_found")
        assert created(api("GET", "/v1/threads"))["items"] == [] or api.token != chat.tenant.admin.token


def test_threads_of_users_behind_one_key_are_apart(chat: Chat, scripted: ScriptedAnswers) -> None:
    api = chat.of(chat.tenant.admin)
    scripted.replies = ["Hello."]
    ann = {"acting_as": {"user_id": "ann"}}
    thread = created(api("POST", "/v1/chat", {"message": "Hi", **ann}))["thread_id"]
    for body in ({"message": "Hi"}, {"message": "Hi", "acting_as": {"user_id": "bob"}}):
        assert problem(api("POST", "/v1/chat", {**body, "thread_id": thread})) == (404, "not_found")
    assert len(scripted.prompts) == 1


def test_what_was_said_for_a_user_is_read_for_the_user(chat: Chat, scripted: ScriptedAnswers) -> None:
    api = chat.of(chat.tenant.admin)
    scripted.replies = ["Hello."]
    made = created(api("POST", "/v1/chat", {"message": "Hi", "acting_as": {"user_id": "ann"}}))
    ann, bob = ('{"user_id": "ann"}', '{"user_id": "bob"}')
    places = (f"/v1/threads/{made['thread_id']}", f"/v1/runs/{made['id']}")
    for path in (*places, f"{places[0]}/messages"):
        created(api("GET", path, X_Acting_As=ann))
        assert problem(api("GET", path, X_Acting_As=bob)) == (404, "not_found")
        assert problem(api("GET", path)) == (404, "not_found")
    threads = created(api("GET", "/v1/threads", X_Acting_As=ann))["items"]
    assert [one["id"] for one in threads] == [made["thread_id"]]
    assert created(api("GET", "/v1/threads", X_Acting_As=bob))["items"] == []


def test_a_reference_part_narrows_the_search_to_its_document(chat: Chat) -> None:
    base = chat.base()
    chat.upload(base, HANDBOOK)
    other = chat.upload(base, HANDBOOK.replace("twenty six", "thirty"), "other.md")
    message = [
        {"type": "text", "text": LEAVE_QUESTION},
        {"type": "reference", "document_id": other["id"]},
    ]
    answer = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", {"message": message}))
    assert {source["document_id"] for source in answer["sources"]} == {other["id"]}
    assert "thirty days" in answer["answer"]


def test_knowledge_of_a_thread_is_searched_for_each_message(chat: Chat) -> None:
    base = chat.base(is_auto_context=False)
    chat.upload(base, HANDBOOK)
    api = chat.of(chat.tenant.admin)
    bare = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert bare["retrieval"]["status"] == "empty"
    thread = created(api("POST", "/v1/threads", {"title": "Leave", "knowledge_base_ids": [base["id"]]}))
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION, "thread_id": thread["id"]}))
    assert answer["citations"]
    assert created(api("GET", f"/v1/threads/{thread['id']}"))["message_count"] == 2


def test_a_search_that_fails_does_not_end_the_conversation(
    chat: Chat, scripted: ScriptedAnswers, caplog: pytest.LogCaptureFixture
) -> None:
    chat.upload(chat.base(), HANDBOOK)

    class Down(ScriptedEmbedder):
        def query(self, text: str) -> Any:
            raise TransientError("the index is away")

    chat.bench.embedder = Down()
    scripted.replies = ["The documents could not be searched."]
    answer = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert answer["retrieval"]["status"] == "failed"
    assert "the index is away" in answer["retrieval"]["detail"]
    assert answer["citations"] == []
    assert "search of the knowledge failed" in scripted.prompts[0].user
    assert "retrieval failed" in caplog.text


def test_a_model_that_fails_is_told_and_the_run_is_kept(chat: Chat, stubs: ModelStubs) -> None:
    chat.upload(chat.base(), HANDBOOK)
    stubs.anthropic.always(Fault.overloaded())
    api = chat.of(chat.tenant.admin)
    assert problem(api("POST", "/v1/chat", {"message": LEAVE_QUESTION})) == (503, "model_unavailable")
    assert len(stubs.anthropic.calls) == 2
    assert created(api("GET", "/v1/threads"))["items"] == []
    stubs.anthropic.reset()
    assert created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))["citations"]


@pytest.mark.parametrize(
    ("fault", "reason", "answer"),
    [
        (Fault.refusal(), "refusal", "The model declined to answer this question."),
        (Fault.max_tokens(), "max_tokens", None),
    ],
)
def test_an_answer_that_ends_early_says_so(
    chat: Chat, stubs: ModelStubs, fault: Fault, reason: str, answer: str | None
) -> None:
    chat.upload(chat.base(), HANDBOOK)
    stubs.anthropic.then(fault)
    found = created(chat.of(chat.tenant.admin)("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert found["stop_reason"] == reason
    assert found["answer"] == answer if answer else found["answer"]


def test_without_a_model_key_the_answer_quotes_and_says_so(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    assert answer["answer"].startswith("No answering model is configured")
    assert "> Every employee has twenty six days of annual leave in a calendar year. [1]" in answer["answer"]
    assert answer["model"] == "extractive-1"
    table = created(api("POST", "/v1/chat", {"message": "What is the bonus of grade Lead?"}))
    assert "Grade: Lead; Bonus: 900 euros" in table["answer"]
    stranger = created(api("POST", "/v1/chat", {"message": "Who won the football world cup of 1998?"}))
    assert "does not cover" in stranger["answer"]
    assert stranger["citations"] == []


def test_old_answers_tell_what_became_of_their_sources(chat: Chat) -> None:
    chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    base = chat.base()
    document = chat.upload(base, HANDBOOK)
    api = chat.of(chat.tenant.admin)
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))

    def cited() -> tuple[str, str, str]:
        run = created(api("GET", f"/v1/runs/{answer['id']}"))
        messages = created(api("GET", f"/v1/threads/{answer['thread_id']}/messages"))["items"]
        assert messages[1]["citations"] == run["citations"]
        assert messages[1]["text"] == run["answer"]
        citation = run["citations"][0]
        return citation["standing"], citation["quote"], run["answer"]

    def replace(text: str, revision: int) -> None:
        path = f"/v1/documents/{document['id']}/content"
        created(chat.tenant.admin.upload(path, text.encode(), "handbook.md", method="PUT"))
        chat.stack.ingest(chat.tenant, document, revision)
        chat.stack.run_tasks()

    replace(HANDBOOK.replace("twenty six", "thirty"), 2)
    standing, quote, _ = cited()
    assert standing == "changed"
    assert "twenty six" in quote

    created(chat.tenant.admin("DELETE", f"/v1/documents/{document['id']}"))
    standing, quote, text = cited()
    assert (standing, quote) == ("gone", "")
    assert "twenty six" not in text

    chat.stack.run_tasks()
    assert cited()[:2] == ("gone", "")
    run = chat.tenant.records.get(RUNS, answer["id"])
    assert run is not None
    kept = chat.tenant.records.find(MESSAGES.below(THREADS, answer["thread_id"]), Query()).items
    assert "twenty six" not in str(run) + str([message for message in kept if message.number == 1])
    assert run.context == run.document_ids == ()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": " \0 "},
        {"message": []},
        {"message": [{"type": "reference", "document_id": "doc_1"}]},
        {"message": [{"type": "picture"}]},
        {"message": "x", "surprise": 1},
        {"message": "x", "thread_id": "no/id"},
        {"message": "x" * 32_001},
    ],
)
def test_what_is_no_message_is_refused(chat: Chat, body: dict[str, Any]) -> None:
    assert problem(chat.of(chat.tenant.admin)("POST", "/v1/chat", body)) == (400, "invalid_request")
