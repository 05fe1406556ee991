"""Nothing of one account, department or person is visible to another through any route of the chat function.

The routes are taken from the table, so that a new one cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.domain.accounts import Permission, Role
from shared.http.chat.routes import ROUTES
from shared.http.routes import AnyRoute
from tests.flows.api_stack import Api, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat
from tests.flows.people import People

WITH_IDS = [route for route in ROUTES if route.parameters]

# A body that each writing route accepts, so that a refusal can only be about the id.
BODIES: Mapping[tuple[str, str], Any] = {
    ("PATCH", "/v1/agents/{agent_id}"): {"name": "mine now"},
    ("PATCH", "/v1/spaces/{space_id}"): {"name": "mine now"},
}


def things_of(chat: Chat, api: Api, department: str) -> dict[str, str]:
    """One of everything that has an id; the space is the department's alone."""
    chat.upload(chat.base(department_ids=[department]), HANDBOOK)
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    agent = created(api("POST", "/v1/agents", {"name": "Helper", "instructions": "Hush."}))
    space = created(api("POST", "/v1/spaces", {"name": "Lab", "department_ids": [department]}))
    return {
        "thread_id": answer["thread_id"],
        "run_id": answer["id"],
        "agent_id": agent["id"],
        "space_id": space["id"],
    }


def ask(api: Api, route: AnyRoute, ids: Mapping[str, str]) -> Any:
    return api(route.method, route.path.format(**ids), BODIES.get((route.method, route.path)))


def test_every_id_of_another_is_not_found(chat: Chat) -> None:
    tenant, globex = chat.tenant, chat.stack.tenant()
    every = tuple(Permission)
    owner = chat.of(chat.stack.api(tenant.records, every, [tenant.departments["engineering"]]))
    marketing = chat.of(chat.stack.api(tenant.records, every, [tenant.departments["marketing"]]))
    theirs = things_of(chat, owner, tenant.departments["engineering"])
    missing = {name: f"{value.split('_')[0]}_none" for name, value in theirs.items()}
    for stranger in (chat.of(globex.admin), marketing):
        for route in WITH_IDS:
            if stranger is marketing and "agent_id" in route.parameters:
                continue  # agents are the whole account's
            refused = ask(stranger, route, theirs)
            assert problem(refused) == (404, "not_found"), f"{route.method} {route.path}"
            # And it reads exactly like something that never was.
            absent = ask(stranger, route, missing)
            assert _told(refused, theirs) == _told(absent, missing), f"{route.method} {route.path}"
    # Nothing of it changed anything, and who may can do all of it: the refusals were about the caller.
    for route in sorted(WITH_IDS, key=lambda route: route.method == "DELETE"):
        answer = ask(owner, route, theirs)
        assert answer.status_code < 300, f"{route.method} {route.path}: {answer.text}"


def _told(answer: Any, ids: Mapping[str, str]) -> tuple[Any, ...]:
    """What a refusal says, without the ids that the caller gave."""
    text = answer.json["detail"]
    for name, value in ids.items():
        text = text.replace(value, name)
    return (answer.status_code, answer.json["title"], text, answer.json["hint"])


def test_people_of_one_department_do_not_see_one_anothers_conversations(chat: Chat, chatters: People) -> None:
    people = {}
    for name, role in (("ann", Role.EDITOR), ("bob", Role.EDITOR), ("boss", Role.ADMIN)):
        chatters.add(chat.tenant, name, role, None if role is Role.ADMIN else ["engineering"])
        people[name] = chat.of(chatters.sign_in(name))
    theirs = things_of(chat, people["ann"], chat.tenant.departments["engineering"])
    own = [route for route in WITH_IDS if {"thread_id", "run_id"} & set(route.parameters)]
    assert len(own) >= 3
    for stranger in (people["bob"], people["boss"]):
        for route in own:
            assert problem(ask(stranger, route, theirs)) == (404, "not_found"), route.path
        assert created(stranger("GET", "/v1/threads"))["items"] == []
    for route in sorted(own, key=lambda route: route.method == "DELETE"):
        assert ask(people["ann"], route, theirs).status_code < 300, route.path


def test_lists_hold_nothing_of_another(chat: Chat) -> None:
    api = chat.of(chat.tenant.admin)
    things_of(chat, api, chat.tenant.departments["engineering"])
    stranger = chat.of(chat.stack.tenant().admin)
    lists = [route.path for route in ROUTES if route.method == "GET" and not route.parameters]
    lists.remove("/health")
    assert set(lists) >= {"/v1/agents", "/v1/spaces", "/v1/threads"}
    for path in lists:
        assert created(api("GET", path))["items"], path
        assert created(stranger("GET", path))["items"] == [], path


def test_every_route_asks_who_calls(chat: Chat) -> None:
    client = chat.of(chat.tenant.admin).client
    for route in ROUTES:
        if route.public:
            assert route.path == "/health"
            continue
        path = route.path.format(**dict.fromkeys(route.parameters, "x"))
        refused = client.open(path, method=route.method)
        assert problem(refused) == (401, "unauthenticated"), route.path
        assert route.permission is not None, route.path
