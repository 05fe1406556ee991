"""Writes with an idempotency key, through the API."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Response

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.domain.errors import ConflictError
from shared.http import idempotency
from shared.http.idempotency import ANSWERED, StillRunningError
from shared.ports import Query
from tests.flows.api_stack import Stack, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat
from tests.flows.test_documents import base

BASES = "/v1/knowledge-bases"


def test_a_repeat_gets_the_first_answer(stack: Stack) -> None:
    acme = stack.tenant()
    body = {"name": "Once", "type": "page"}
    first = acme.admin("POST", BASES, body, Idempotency_Key="k1")
    again = acme.admin("POST", BASES, body, Idempotency_Key="k1")
    assert (again.status_code, again.json) == (first.status_code, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]


def test_an_upload_is_repeated_too(stack: Stack) -> None:
    acme = stack.tenant()
    path = f"{BASES}/{base(acme)}/documents"
    ids = []
    for data in (b"one", b"one", b"two"):
        headers = {"Idempotency-Key": "k1", "Authorization": f"Bearer {acme.admin.token}"}
        from urllib3 import encode_multipart_formdata

        form, kind = encode_multipart_formdata({"file": ("a.txt", data)})  # a new boundary each time
        answer = stack.client.post(path, data=form, headers={**headers, "Content-Type": kind})
        ids.append(answer.json["id"] if answer.status_code == 202 else problem(answer))  # type: ignore[index]
    assert ids[0] == ids[1]
    assert ids[2] == (409, "conflict")


def test_another_request_with_the_same_key_is_refused(stack: Stack) -> None:
    acme = stack.tenant()
    created(acme.admin("POST", BASES, {"name": "A", "type": "page"}, Idempotency_Key="k1"))
    other = acme.admin("POST", BASES, {"name": "B", "type": "page"}, Idempotency_Key="k1")
    assert problem(other) == (409, "conflict")


def test_a_change_is_repeated_and_does_nothing_more(stack: Stack) -> None:
    acme = stack.tenant()
    one = f"{BASES}/{base(acme)}"
    first = acme.admin("PATCH", one, {"active": False}, Idempotency_Key="k1")
    created(acme.admin("PATCH", one, {"active": True}))
    assert acme.admin("PATCH", one, {"active": False}, Idempotency_Key="k1").json == first.json
    assert created(acme.admin("GET", one))["active"] is True


def test_keys_of_others_and_of_other_routes_do_not_meet(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    for number, api in enumerate((acme.admin, acme.engineering, globex.admin)):
        body = {"name": f"Same {number}", "type": "page"}
        assert created(api("POST", BASES, body, Idempotency_Key="k1"))["name"] == f"Same {number}"
    created(acme.admin("POST", "/v1/departments", {"name": "Sales"}, Idempotency_Key="k1"))


def test_a_refusal_is_an_answer_and_is_repeated(stack: Stack) -> None:
    acme = stack.tenant()
    created(acme.admin("POST", BASES, {"name": "Taken", "type": "page"}))
    body = {"name": "Taken", "type": "page"}
    first = acme.admin("POST", BASES, body, Idempotency_Key="k1")
    assert problem(first) == (409, "conflict")
    taken = created(acme.admin("GET", BASES))["items"][0]["id"]
    created(acme.admin("PATCH", f"{BASES}/{taken}", {"name": "Other"}))
    again = acme.admin("POST", BASES, body, Idempotency_Key="k1")
    assert again.json == first.json


def test_what_never_ran_leaves_no_key(stack: Stack) -> None:
    acme = stack.tenant()
    assert problem(acme.admin("POST", BASES, {"nam": "A"}, Idempotency_Key="k1"))[0] == 400
    assert problem(acme.admin("POST", BASES, {"name": "A", "type": "page"}, Idempotency_Key=""))[0] == 400
    assert acme.records.count(ANSWERED, Query()) == 0
    created(acme.admin("POST", BASES, {"name": "A", "type": "page"}, Idempotency_Key="k1"))


def test_of_many_at_once_one_runs(stack: Stack) -> None:
    acme = stack.tenant()
    ran: list[int] = []

    def once(number: int) -> str:
        def run(_: str) -> Response:
            ran.append(number)
            return Response(f"{number}", content_type="text/plain")

        try:
            answer = idempotency.once(
                acme.records, stack.deps.clock, "idem_1", "same", run, running_for=timedelta(minutes=5)
            )
            return answer.get_data(as_text=True)
        except ConflictError as error:
            return error.code

    with ThreadPoolExecutor(6) as pool:
        answers = set(pool.map(once, range(6)))
    assert len(ran) == 1
    assert answers <= {str(ran[0]), "conflict"}


def test_an_unexpected_end_frees_the_key_and_a_dead_call_too(stack: Stack) -> None:
    acme = stack.tenant()
    clock = stack.deps.clock

    origins: list[str] = []

    def fail(origin: str) -> Response:
        origins.append(origin)
        raise RuntimeError("gone")

    def answer(origin: str) -> Response:
        origins.append(origin)
        return Response("done")

    def call(run: Any, request: str = "same") -> Response:
        minutes = timedelta(minutes=5)
        return idempotency.once(acme.records, clock, "idem_1", request, run, running_for=minutes)

    with pytest.raises(RuntimeError):
        call(fail)
    assert call(answer).get_data() == b"done"
    assert call(fail).get_data() == b"done"
    clock.pass_seconds(25 * 3600)
    with pytest.raises(RuntimeError):  # after a day the key is new
        call(fail)

    def die(origin: str) -> Response:
        origins.append(origin)
        with pytest.raises(StillRunningError):
            call(answer, "other")  # while it runs, a repeat has to wait
        clock.pass_seconds(301)
        return call(answer, "other")  # as if this call had died long ago

    assert call(die, "other").get_data() == b"done"
    # A repeat goes on with the origin of the call that died; a new day or another request has a new one.
    first, first_again, next_day, other, other_again = origins
    assert (first, other) == (first_again, other_again)
    assert len({first, next_day, other}) == 3


def _events(text: str) -> dict[str, Any]:
    """The events by name; of several the last."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n") if not block.startswith(":")]
    return {name.removeprefix("event: "): json.loads(data.removeprefix("data: ")) for name, data in blocks}


def test_a_repeated_question_gets_the_answer_that_was_given(chat: Chat, stubs: ModelStubs) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    body = {"message": LEAVE_QUESTION}
    first = api("POST", "/v1/chat", body, Idempotency_Key="k1")
    again = api("POST", "/v1/chat", body, Idempotency_Key="k1")
    assert again.json == created(first)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Content-Location"] == f"/v1/runs/{created(first)['id']}"
    assert len(stubs.anthropic.calls) == 1
    other = api("POST", "/v1/chat", {"message": "Another"}, Idempotency_Key="k1")
    assert problem(other) == (409, "conflict")
    assert len(created(api("GET", "/v1/threads"))["items"]) == 1


def test_a_repeated_answer_quotes_nothing_that_was_deleted_since(chat: Chat) -> None:
    document = chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    body = {"message": LEAVE_QUESTION}
    (citation,) = created(api("POST", "/v1/chat", body, Idempotency_Key="k1"))["citations"]
    assert "twenty six" in citation["quote"]
    created(chat.tenant.admin("DELETE", f"/v1/documents/{document['id']}"))
    again = api("POST", "/v1/chat", body, Idempotency_Key="k1")
    (citation,) = created(again)["citations"]
    assert (citation["standing"], citation["quote"]) == ("gone", "")


def test_a_repeated_stream_tells_the_answer_in_one_piece(chat: Chat, stubs: ModelStubs) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    body = {"message": LEAVE_QUESTION}
    first = _events(api("POST", "/v1/chat/stream", body, Idempotency_Key="k1").text)
    again = api("POST", "/v1/chat/stream", body, Idempotency_Key="k1")
    told = _events(again.text)
    assert list(told) == ["context", "delta", "citations", "done"]
    assert {name: told[name] for name in ("context", "citations", "done")} == {
        name: first[name] for name in ("context", "citations", "done")
    }
    assert told["delta"]["text"] == told["done"]["answer"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(stubs.anthropic.calls) == 1


def test_a_repeat_while_the_stream_is_written_has_to_wait_and_a_broken_one_is_told(
    chat: Chat, stubs: ModelStubs
) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    body = {"message": LEAVE_QUESTION}
    stubs.anthropic.always(Fault.cut(8))
    running = api("POST", "/v1/chat/stream", body, Idempotency_Key="k1")
    assert problem(api("POST", "/v1/chat/stream", body, Idempotency_Key="k1")) == (409, "conflict")
    first = _events(running.text)
    told = _events(api("POST", "/v1/chat/stream", body, Idempotency_Key="k1").text)
    assert list(told) == ["context", "delta", "error"]
    assert {**told["error"], "request_id": ""} == {**first["error"], "request_id": ""}


def test_a_search_is_repeated(chat: Chat) -> None:
    chat.upload(chat.base(), HANDBOOK)
    api = chat.of(chat.tenant.admin)
    found = [
        created(api("POST", "/v1/retrieve", {"query": LEAVE_QUESTION}, Idempotency_Key="k1")) for _ in "12"
    ]
    assert found[0] == found[1]
