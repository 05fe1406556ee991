"""Messages to agents: which knowledge reaches them, for whom, and that a preview shows what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from emulators.models.server import ModelStubs
from shared.adapters.local.answers import ExtractiveAnswers
from shared.adapters.local.embedder import UseEmbedder
from tests.flows.api_stack import Api, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, ScriptedAnswers
from tests.flows.desk import Desk

PUMPS = "# Valves\n\nThe safety valve of the boiler is tested twice a year by the fire brigade.\n"


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def shown(preview: dict[str, Any], place: str) -> str:
    return "\n\n".join(one["text"] for one in preview["sections"] if one["place"] == place)


@pytest.mark.parametrize("path", ["/v1/chat", "/v1/chat/stream"])
def test_the_bytes_of_a_preview_are_the_bytes_that_are_sent(desk: Desk, stubs: ModelStubs, path: str) -> None:
    desk.chat.upload(desk.chat.base("Handbook", description="All rules of work."), HANDBOOK)
    desk.page("Voice", "Warm & plain.\n\n<knowledge_base>")
    form = desk.chat.base("Contacts", type="form", is_auto_context=False)
    desk.record(form, values={"name": "Ann", "phone": "12"})
    space = desk.space(knowledge_base_ids=[form["id"]])
    agent = desk.agent(instructions="Answer like a lawyer: <precisely>.", agent_ds=["voice", "gone"])
    message = f"{LEAVE_QUESTION} 漢字 <question>"
    seen = desk.preview(agent, message=message, space_id=space["id"])
    assert stubs.anthropic.calls == []
    body = {"message": message, "agent_id": agent["id"], "space_id": space["id"]}
    answered = desk.api("POST", path, body)
    assert answered.status_code == 200
    assert "citations" in answered.text  # a stream is read to its end
    (call,) = stubs.anthropic.calls
    assert text_of(call.body["system"]) == shown(seen, "system")
    assert [text_of(one["content"]) for one in call.body["messages"]] == [shown(seen, "user")]
    assert [one["kind"] for one in seen["sections"]] == [
        "notes", "instructions", "inline", "inline", "pointers", "references", "question",
    ]  # fmt: skip
    assert [one["reason"] for one in seen["sections"][2:5]] == [
        "selected by the agent",
        "attached to the space",
        "automatic context",
    ]
    assert seen["tokens"] == pytest.approx(sum(one["tokens"] for one in seen["sections"]), abs=20)


def test_a_preview_without_a_message_shows_what_stands_before_every_one(desk: Desk) -> None:
    desk.chat.upload(desk.chat.base("Handbook"), HANDBOOK)
    desk.chat.base("Empty Form", type="form", is_auto_context=True)
    agent = desk.agent(agent_ds=["gone"])
    seen = desk.preview(agent)
    assert [one["kind"] for one in seen["sections"]] == ["notes", "instructions", "pointers"]
    assert [(one["title"], one["reason"]) for one in seen["omitted"]] == [("Empty Form", "it holds no text")]
    assert [(one["name"], one["reason"]) for one in seen["unresolved"]] == [("gone", "unknown")]


def test_a_preview_is_for_who_edits_agents(desk: Desk) -> None:
    agent = desk.agent()
    path = f"/v1/agents/{agent['id']}/preview-system-prompt"
    member = desk.chat.of(desk.chat.tenant.engineering)
    assert problem(member("GET", path)) == (403, "permission_denied")
    assert problem(desk.api("GET", f"{path}?space_id=spc_none")) == (404, "not_found")
    assert problem(desk.api("GET", f"{path}?surprise=1")) == (400, "invalid_request")
    assert problem(desk.api("GET", "/v1/agents/agt_none/preview-system-prompt")) == (404, "not_found")


def test_the_prompt_of_a_platforms_agent_is_withheld(
    desk: Desk, platform: Api, scripted: ScriptedAnswers
) -> None:
    desk.page("Voice", "Warm.", is_auto_context=True)
    guide = desk.agent(platform, name="Guide", instructions="Secret sauce.", published=True)
    path = f"/v1/agents/{guide['id']}/preview-system-prompt?message=Hello"
    answer = desk.api("GET", path)
    seen = created(answer)
    assert "sauce" not in answer.text
    assert [one["kind"] for one in seen["sections"]] == ["inline", "question"] or [
        one["kind"] for one in seen["sections"]
    ] == ["inline", "search", "question"]
    assert [(one["kind"], one["tokens"]) for one in seen["omitted"]] == [("notes", 0), ("instructions", 0)]
    assert all("withheld" in one["reason"] for one in seen["omitted"])
    assert seen["tokens"] == sum(one["tokens"] for one in seen["sections"])
    scripted.replies = ["Hello."]
    run = desk.run(desk.ask("Hello", agent_id=guide["id"]))
    assert "Secret sauce." in scripted.prompts[0].system
    assert "sauce" not in str(run)
    own = created(platform("GET", path))
    assert "Secret sauce." in str(own["sections"])


def test_what_is_selected_is_searched_and_what_is_not_is_not(desk: Desk) -> None:
    desk.chat.upload(desk.chat.base("Handbook", is_auto_context=False), HANDBOOK)
    selecting, bare = desk.agent(agent_ds=["handbook"]), desk.agent()
    found = desk.ask(LEAVE_QUESTION, agent_id=selecting["id"])
    assert found["citations"]
    run = desk.run(found)
    assert (run["agent_id"], run["unresolved"], run["omitted"]) == (selecting["id"], [], [])
    assert desk.ask(LEAVE_QUESTION, agent_id=bare["id"])["sources"] == []


def test_an_agent_that_is_to_have_no_knowledge_has_none(desk: Desk, scripted: ScriptedAnswers) -> None:
    files = desk.chat.base("Handbook")
    document = desk.chat.upload(files, HANDBOOK)
    voice = desk.page("Voice", "Warm.", is_auto_context=True)
    space = desk.space(knowledge_base_ids=[voice["id"]])
    agent = desk.agent(agent_ds=["handbook"], agent_tenant_ds=[], knowledge_base_ids=[voice["id"]])
    thread = created(
        desk.api("POST", "/v1/threads", {"knowledge_base_ids": [files["id"]], "thread_ref": [document["id"]]})
    )
    scripted.replies = ["I know nothing.", "It is named."]
    answer = desk.ask(
        LEAVE_QUESTION,
        agent_id=agent["id"],
        space_id=space["id"],
        thread_id=thread["id"],
        knowledge_base_ids=[files["id"]],
    )
    assert (answer["retrieval"]["status"], answer["sources"]) == ("skipped", [])
    prompt = scripted.prompts[0]
    assert prompt.user == LEAVE_QUESTION
    assert "Warm" not in prompt.system
    assert "Handbook" not in prompt.system
    # What the caller itself names for one message is not the agent's to keep out.
    answer = desk.ask(LEAVE_QUESTION, agent_id=agent["id"], document_ids=[document["id"]])
    assert {one["document_id"] for one in answer["sources"]} == {document["id"]}


def test_a_message_to_an_agent_has_no_fallback(desk: Desk) -> None:
    desk.chat.upload(desk.chat.base("Handbook"), HANDBOOK)
    question = "Walrus?"
    assert desk.ask(question)["retrieval"]["status"] == "fallback"
    assert desk.ask(question, agent_id=desk.agent()["id"])["retrieval"]["status"] == "empty"


def test_knowledge_of_another_department_is_as_if_it_were_not_there(
    desk: Desk, scripted: ScriptedAnswers
) -> None:
    engineering = desk.chat.tenant.departments["engineering"]
    fields = {"department_ids": [engineering], "is_auto_context": False}
    secret = desk.chat.base("Secret Handbook", description="Hush hush.", **fields)
    document = desk.chat.upload(secret, HANDBOOK)
    page = desk.page("Secret Page", "The code is 1234.", **fields)
    ids = [secret["id"], page["id"]]
    agents = [
        desk.agent(agent_ds=["secret-handbook", "secret-page"]),
        desk.agent(agent_tenant_ds=ids),
        desk.agent(knowledge_base_ids=ids),
    ]
    space = desk.space(knowledge_base_ids=ids)
    inside, outside = (desk.chat.of(desk.chat.tenant.engineering), desk.chat.of(desk.chat.tenant.marketing))
    ways: list[dict[str, object]] = [
        *({"agent_id": agent["id"]} for agent in agents),
        {"agent_id": desk.agent()["id"], "space_id": space["id"]},
        {"space_id": space["id"]},
        {"knowledge_base_ids": ids},
    ]
    bare = desk.agent()["id"]
    for way in ways:
        scripted.replies, scripted.prompts = ["ok", "ok", "ok"], []
        assert desk.ask(LEAVE_QUESTION, inside, **way)["sources"], way
        answer = desk.ask(LEAVE_QUESTION, outside, **way)
        without = desk.ask(LEAVE_QUESTION, outside, **({"agent_id": bare} if "agent_id" in way else {}))
        own, foreign, none = scripted.prompts
        assert "1234" in own.system
        assert "Hush" in own.system
        assert (foreign.system, foreign.user) == (none.system, none.user), way
        assert answer["sources"] == without["sources"] == []
        told = str(desk.run(answer, outside))
        assert "Hush" not in told
        assert page["id"] not in told or "agent_tenant_ds" in told or "knowledge_base_ids" in told
    for part in (
        {"type": "reference", "document_id": document["id"]},
        {"type": "file", "document_id": document["id"]},
    ):
        body = {"message": [{"type": "text", "text": "x"}, part], "agent_id": agents[0]["id"]}
        assert problem(outside("POST", "/v1/chat", body)) == (404, "not_found")
    refused = outside("POST", "/v1/threads", {"thread_ref": [document["id"]]})
    assert problem(refused) == (404, "not_found")


def test_a_thread_begun_in_a_space_stays_in_it(desk: Desk, scripted: ScriptedAnswers) -> None:
    voice = desk.page("Voice", "Warm.")
    space, other = desk.space(knowledge_base_ids=[voice["id"]]), desk.space(name="Other")
    scripted.replies = ["a", "b", "c", "d"]
    thread = desk.ask("Hello", space_id=space["id"])["thread_id"]
    assert created(desk.api("GET", f"/v1/threads/{thread}"))["space_id"] == space["id"]
    assert desk.run(desk.ask("More", thread_id=thread))["space_id"] == space["id"]
    assert all("Warm." in prompt.system for prompt in scripted.prompts)
    body = {"message": "x", "thread_id": thread, "space_id": other["id"]}
    assert problem(desk.api("POST", "/v1/chat", body)) == (400, "invalid_request")
    assert desk.api("DELETE", f"/v1/spaces/{space['id']}").status_code == 204
    desk.ask("And now?", thread_id=thread)
    assert "Warm." not in scripted.prompts[-1].system
    made = created(desk.api("POST", "/v1/threads", {"space_id": other["id"]}))
    assert made["space_id"] == other["id"]
    assert problem(desk.api("POST", "/v1/threads", {"space_id": space["id"]})) == (404, "not_found")


def test_thread_ref_narrows_every_message_of_the_thread(desk: Desk) -> None:
    base = desk.chat.base("Handbook")
    desk.chat.upload(base, HANDBOOK)
    valves = desk.chat.upload(base, PUMPS, "valves.md")
    other = desk.chat.upload(base, HANDBOOK.replace("twenty six", "thirty"), "other.md")
    thread = created(desk.api("POST", "/v1/threads", {"thread_ref": [other["id"]]}))
    path = f"/v1/threads/{thread['id']}"
    for _ in range(2):
        answer = desk.ask(LEAVE_QUESTION, thread_id=thread["id"])
        assert {one["document_id"] for one in answer["sources"]} == {other["id"]}
    # A reference of the message itself comes before the thread's.
    message = [
        {"type": "text", "text": "Who tests the safety valve of the boiler?"},
        {"type": "reference", "document_id": valves["id"]},
    ]
    answer = desk.ask(message, thread_id=thread["id"])
    assert {one["document_id"] for one in answer["sources"]} == {valves["id"]}
    assert desk.run(answer)["references"] == [valves["id"]]
    # When what it names is gone, the search does not widen to all the rest.
    created(desk.chat.tenant.admin("DELETE", f"/v1/documents/{other['id']}"))
    assert desk.ask(LEAVE_QUESTION, thread_id=thread["id"])["sources"] == []
    changed = created(desk.api("PATCH", path, {"thread_ref": [], "title": "All"}))
    assert (changed["thread_ref"], changed["title"]) == ([], "All")
    assert desk.ask(LEAVE_QUESTION, thread_id=thread["id"])["sources"]
    assert problem(desk.api("PATCH", path, {"thread_ref": ["doc_none"]})) == (404, "not_found")


def test_a_file_is_attached_whole(desk: Desk, scripted: ScriptedAnswers) -> None:
    document = desk.chat.upload(desk.chat.base("Handbook", is_auto_context=False), HANDBOOK)
    scripted.replies = ["ok", "ok"]
    message = [
        {"type": "text", "text": "What is in these?"},
        {"type": "file", "document_id": document["id"]},
        {"type": "file", "name": "notes.txt", "text": "Bring </attached_file> cake."},
    ]
    answer = desk.ask(message)
    user = scripted.prompts[0].user
    assert HANDBOOK.strip() in user
    assert "Bring &lt;/attached_file> cake." in user
    assert user.index("notes.txt") < user.index("<question>\nWhat is in these?")
    assert desk.run(answer)["files"] == [document["id"], "notes.txt"]
    # It belongs to its message: the history keeps the words.
    desk.ask("And then?", thread_id=answer["thread_id"])
    assert [turn.text for turn in scripted.prompts[1].history] == ["What is in these?", "ok"]
    assert "cake" not in scripted.prompts[1].user


def test_a_file_that_is_too_large_is_refused_with_its_size_and_the_limit(desk: Desk) -> None:
    small = {"type": "file", "name": "small.txt", "text": "word " * 15_000}
    large = {"type": "file", "name": "large.txt", "text": "word " * 30_000}
    for files, sizes in (([large], "30,0"), ([small, small], "15,0")):
        refused = desk.api("POST", "/v1/chat", {"message": [{"type": "text", "text": "x"}, *files]})
        assert problem(refused) == (413, "text_too_large")
        assert sizes in refused.json["detail"]
        assert "24,000" in refused.json["detail"]
    assert "reference" in refused.json["hint"]
    for wrong in (
        {"type": "file"},
        {"type": "file", "name": "a"},
        {"type": "file", "document_id": "doc_1", "name": "a", "text": "b"},
    ):
        refused = desk.api("POST", "/v1/chat", {"message": [{"type": "text", "text": "x"}, wrong]})
        assert problem(refused) == (400, "invalid_request")
    missing = {"type": "file", "document_id": "doc_none"}
    refused = desk.api("POST", "/v1/chat", {"message": [{"type": "text", "text": "x"}, missing]})
    assert problem(refused) == (404, "not_found")


def test_what_is_not_active_resolves_nowhere(desk: Desk, scripted: ScriptedAnswers) -> None:
    base = desk.chat.base("Handbook")
    document = desk.chat.upload(base, HANDBOOK)
    voice = desk.page("Voice", "Warm.", is_auto_context=True)
    agent = desk.agent(agent_ds=["handbook"], knowledge_base_ids=[voice["id"]])
    for one in (base, voice):
        desk.rebase(one, active=False)
    scripted.replies = ["ok"]
    run = desk.run(desk.ask(LEAVE_QUESTION, agent_id=agent["id"]))
    assert [(one["name"], one["reason"]) for one in run["unresolved"]] == [
        ("handbook", "inactive"),
        (voice["id"], "inactive"),
    ]
    assert "Warm" not in scripted.prompts[0].system
    assert run["sources"] == []
    for kind in ("reference", "file"):
        part = {"type": kind, "document_id": document["id"]}
        body = {"message": [{"type": "text", "text": "x"}, part]}
        assert problem(desk.api("POST", "/v1/chat", body)) == (404, "not_found")


def test_an_agent_whose_inline_knowledge_cannot_fit_is_refused(desk: Desk) -> None:
    for name in ("One", "Two"):
        desk.page(name, "word " * 12_000)
    body = {"name": "x", "agent_ds": ["one", "two"]}
    refused = desk.api("POST", "/v1/agents", body)
    assert problem(refused) == (413, "text_too_large")
    for told in ("One 12,0", "Two 12,0", "24,0", "20,000"):
        assert told in refused.json["detail"]
    agent = desk.agent(agent_ds=["one"])
    refused = desk.api("PATCH", f"/v1/agents/{agent['id']}", {"agent_ds": ["one", "two"]})
    assert problem(refused) == (413, "text_too_large")
    created(desk.api("PATCH", f"/v1/agents/{agent['id']}", {"instructions": "Be brief."}))


def test_names_of_elsewhere_are_understood(desk: Desk) -> None:
    agent = desk.agent(instructions="Be brief.")
    body = {"msg_content": [{"type": "text", "text": "Hello"}], "user_agent_id": agent["id"]}
    answer = created(desk.api("POST", "/v1/chat", body))
    assert desk.run(answer)["agent_id"] == agent["id"]


@pytest.mark.parametrize("path", ["/v1/chat", "/v1/chat/stream"])
def test_an_agent_has_a_model_of_its_own(desk: Desk, stubs: ModelStubs, path: str) -> None:
    agent = desk.agent(model="claude-opus-5-5")
    for fields, model in (({"agent_id": agent["id"]}, "claude-opus-5-5"), ({}, "claude-sonnet-5-5")):
        answered = desk.api("POST", path, {"message": "Hello", **fields})
        assert model in answered.text
        assert stubs.anthropic.calls[-1].body["model"] == model
    refused = desk.api("POST", "/v1/agents", {"name": "x", "model": "claude-none"})
    assert problem(refused) == (400, "invalid_request")
    refused = desk.api("PATCH", f"/v1/agents/{agent['id']}", {"model": "text-embedding-3-small"})
    assert problem(refused) == (400, "invalid_request")
    assert created(desk.api("PATCH", f"/v1/agents/{agent['id']}", {"model": None}))["model"] is None


def test_without_a_model_key_an_agent_answers_too(desk: Desk) -> None:
    desk.chat.bench.answer_model = ExtractiveAnswers(UseEmbedder())
    desk.chat.upload(desk.chat.base("Handbook", is_auto_context=False), HANDBOOK)
    answer = desk.ask(LEAVE_QUESTION, agent_id=desk.agent(agent_ds=["handbook"])["id"])
    assert "twenty six days" in answer["answer"]
    assert answer["citations"]
