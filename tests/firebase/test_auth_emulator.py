"""People who sign up at the official Auth emulator and call the embedded stack: `make test-firebase`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from emulators.models.server import ModelStubs
from emulators.stack import EmbeddedStack
from tests.firebase.official import Official, User

HOST = os.environ.get("FIREBASE_AUTH_EMULATOR_HOST", "")
pytestmark = pytest.mark.skipif(
    not HOST, reason="FIREBASE_AUTH_EMULATOR_HOST names no Auth emulator; `make test-firebase` starts one"
)
HANDBOOK = "# Leave\n\nEvery employee has twenty six days of annual leave in a calendar year.\n"


@pytest.fixture(scope="module")
def stack() -> Iterator[EmbeddedStack]:
    with (
        ModelStubs() as stubs,
        EmbeddedStack(
            env={**stubs.environment(), "FIREBASE_AUTH_EMULATOR_HOST": HOST}, wait_scale=0.02
        ) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def official(stack: EmbeddedStack) -> Official:
    return Official(HOST, stack.project)


class Caller:
    def __init__(self, stack: EmbeddedStack, token: str) -> None:
        self._stack = stack
        self._token = token

    def __call__(self, method: str, path: str, status: int = 200, **arguments: Any) -> dict[str, Any]:
        """The JSON of an answer with this status."""
        headers = {"Authorization": f"Bearer {self._token}", **arguments.pop("headers", {})}
        url = f"{self._stack.api_url}{path}"
        answer = requests.request(method, url, headers=headers, timeout=60, **arguments)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else {}


def admin_of(stack: EmbeddedStack, account: str) -> Caller:
    return Caller(stack, stack.accounts[account]["keys"]["admin"])


def person(stack: EmbeddedStack, user: User) -> Caller:
    return Caller(stack, user.id_token)


def test_from_sign_up_to_an_answer(stack: EmbeddedStack, official: Official) -> None:
    acme = admin_of(stack, "acme")
    departments = stack.accounts["acme"]["departments"]
    user = official.sign_up()
    invitation = {"email": user.email, "role": "editor", "department_ids": [departments["engineering"]]}
    acme("POST", "/v1/members", 201, json=invitation)
    # An address that nobody proved opens nothing.
    refused = person(stack, user)("GET", "/v1/account", 403)
    assert refused["code"] == "permission_denied"
    ada = person(stack, official.verify_email(user))
    me = ada("GET", "/v1/account")
    assert me["id"] == "acme"
    assert (me["caller"]["principal"], me["caller"]["role"]) == (f"user:{user.uid}", "editor")

    base = {
        "name": f"Handbook {user.uid}",
        "type": "files",
        "is_auto_context": True,
        "department_ids": [departments["engineering"]],
    }
    made = ada("POST", "/v1/knowledge-bases", 201, json=base)
    file = {"file": ("leave.md", HANDBOOK.encode())}
    document = ada("POST", f"/v1/knowledge-bases/{made['id']}/documents", 202, files=file)["id"]
    deadline = time.monotonic() + 60
    while (shown := ada("GET", f"/v1/documents/{document}"))["status"] != "ready":
        assert time.monotonic() < deadline, shown
        time.sleep(0.1)
    answer = ada("POST", "/v1/chat", json={"message": "How many days of annual leave has an employee?"})
    assert [one["document_id"] for one in answer["citations"]] == [document]
    # The thread is the person's own.
    thread = f"/v1/threads/{answer['thread_id']}/messages"
    assert len(ada("GET", thread)["items"]) == 2
    other = official.sign_up()
    acme("POST", "/v1/members", 201, json={"uid": other.uid, "role": "member", "department_ids": []})
    eve = person(stack, other)
    eve("GET", thread, 404)
    eve("GET", f"/v1/documents/{document}", 404)
    eve("POST", "/v1/knowledge-bases", 403, json={"name": "Mine", "type": "page"})


def test_custom_claims_choose_an_account_and_widen_nothing(stack: EmbeddedStack, official: Official) -> None:
    user = official.sign_up()
    admin_of(stack, "acme")("POST", "/v1/members", 201, json={"uid": user.uid, "role": "viewer"})
    assert person(stack, user)("GET", "/v1/account")["id"] == "acme"
    wide = {"account_id": "globex", "role": "admin", "department_ids": ["dep_1"]}
    user = official.claim(user, wide)
    seen = person(stack, user)("GET", "/v1/account")
    assert (seen["id"], seen["caller"]["role"]) == ("acme", "viewer")
    person(stack, user)("GET", "/v1/members", 403)
    person(stack, user)("GET", "/v1/account", 403, headers={"X-Account-Id": "globex"})
    # A member of both now: the claim chooses, the header counts more, the records decide.
    admin_of(stack, "globex")("POST", "/v1/members", 201, json={"uid": user.uid, "role": "member"})
    seen = person(stack, user)("GET", "/v1/account")
    assert (seen["id"], seen["caller"]["role"]) == ("globex", "member")
    seen = person(stack, user)("GET", "/v1/account", headers={"X-Account-Id": "acme"})
    assert (seen["id"], seen["caller"]["role"]) == ("acme", "viewer")
    user = official.claim(user, {})
    unclear = person(stack, user)("GET", "/v1/account", 400)
    assert unclear["errors"] == [{"field": "X-Account-Id", "message": "must be one of acme, globex"}]


def test_a_deactivated_member_is_refused_at_once(stack: EmbeddedStack, official: Official) -> None:
    acme, user = admin_of(stack, "acme"), official.sign_up()
    acme("POST", "/v1/members", 201, json={"uid": user.uid, "role": "editor"})
    caller = person(stack, user)
    for path in ("/v1/account", "/v1/threads"):  # one of each function
        caller("GET", path)
    acme("PATCH", f"/v1/members/{user.uid}", json={"active": False})
    for path in ("/v1/account", "/v1/threads"):
        caller("GET", path, 403)
    acme("PATCH", f"/v1/members/{user.uid}", json={"active": True})
    caller("GET", "/v1/account")


@pytest.mark.parametrize("end", ["disabled", "revoked", "deleted"])
def test_a_sign_in_that_firebase_takes_back(stack: EmbeddedStack, official: Official, end: str) -> None:
    user = official.sign_up()
    admin_of(stack, "acme")("POST", "/v1/members", 201, json={"uid": user.uid, "role": "viewer"})
    person(stack, official.sign_in(user))("GET", "/v1/account")
    # This token was never shown, so that the first call with it asks.
    fresh = official.claim(user, {"unseen": True})
    if end == "disabled":
        official.admin.update_user(user.uid, disabled=True)
    elif end == "revoked":
        time.sleep(1.1)  # a token counts as newer than a revocation in the same second
        official.admin.revoke_refresh_tokens(user.uid)
    else:
        official.admin.delete_user(user.uid)
    told = person(stack, fresh)("GET", "/v1/account", 401)
    assert told["code"] == "unauthenticated"
    assert {"disabled": "disabled", "revoked": "revoked", "deleted": "no longer exists"}[end] in told[
        "detail"
    ]


def test_who_gave_no_name_can_be_added_by_uid(stack: EmbeddedStack, official: Official) -> None:
    user = official.sign_up_unnamed()
    person(stack, user)("GET", "/v1/account", 403)
    admin_of(stack, "acme")("POST", "/v1/members", 201, json={"uid": user.uid, "role": "viewer"})
    assert person(stack, user)("GET", "/v1/account")["caller"]["role"] == "viewer"


def test_a_user_of_a_tenant_is_not_the_projects(stack: EmbeddedStack, official: Official) -> None:
    user = official.sign_up(tenantId=official.new_tenant())
    told = person(stack, user)("GET", "/v1/account", 401)
    assert "tenant" in told["detail"]
