"""People with ID tokens: what decides what they may do is the account's own record of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shared.domain.accounts import Permission, Role
from shared.ports import Query
from shared.records import MEMBERS
from tests.flows.api_stack import WORKER, Api, Stack, Tenant, created, problem
from tests.flows.people import People

ME = "/v1/account"


@pytest.fixture
def acme(people: People) -> Tenant:
    return people.stack.tenant()


@pytest.fixture
def globex(people: People) -> Tenant:
    return people.stack.tenant()


def caller(api: Api, **headers: str) -> dict[str, Any]:
    found: dict[str, Any] = created(api("GET", ME, **headers))["caller"]
    return found


def detail(answer: Any) -> str:
    return str(answer.json["detail"])


# --- who is who --------------------------------------------------------------------------------


def test_a_member_has_the_rights_of_its_record(people: People, acme: Tenant) -> None:
    people.add(acme, "ada", Role.EDITOR, ["engineering"])
    ada = people.sign_in("ada")
    answer = created(ada("GET", ME))
    assert answer["id"] == acme.account.id
    assert answer["caller"] == {
        "principal": "user:ada",
        "role": "editor",
        "permissions": ["agent:edit", "kb:read", "kb:write", "run:create"],
        "department_ids": [acme.departments["engineering"]],
    }
    assert caller(acme.engineering)["role"] is None
    names = [one["name"] for one in created(ada("GET", "/v1/departments"))["items"]]
    assert names == ["engineering"]


def test_claims_never_widen_what_the_record_says(people: People, acme: Tenant, globex: Tenant) -> None:
    people.add(acme, "ada", Role.VIEWER, ["marketing"])
    claims = {
        "role": "admin",
        "department_ids": list(acme.departments.values()),
        "permissions": ["account:admin"],
    }
    ada = people.sign_in("ada", **claims, account_id=acme.account.id)
    assert caller(ada)["permissions"] == ["kb:read"]
    assert caller(ada)["department_ids"] == [acme.departments["marketing"]]
    assert problem(ada("GET", "/v1/members")) == (403, "permission_denied")
    # Nor does a claim open another account: it is passed over, and the person is where it belongs.
    stray = people.sign_in("ada", **claims, account_id=globex.account.id)
    assert created(stray("GET", ME))["id"] == acme.account.id
    nobody = people.sign_in("eve", **claims, account_id=globex.account.id)
    assert problem(nobody("GET", ME)) == (403, "permission_denied")


def test_who_belongs_nowhere_is_told_so(people: People, acme: Tenant) -> None:
    eve = people.sign_in("eve", "eve@example.com")
    refused = eve("GET", ME)
    assert problem(refused) == (403, "permission_denied")
    assert "no account" in detail(refused)
    told = set()
    for name in (acme.account.id, "acc_none", "../x", "a.b"):
        refused = eve("GET", ME, X_Account_Id=name)
        assert problem(refused) == (403, "permission_denied")
        told.add(detail(refused).replace(name, "it"))
    assert len(told) == 1  # whether the account is there cannot be seen


def test_one_account_needs_no_naming_and_several_do(people: People, acme: Tenant, globex: Tenant) -> None:
    ada = people.joined(acme, "ada", Role.MEMBER)
    assert created(ada("GET", ME))["id"] == acme.account.id
    # An invitation from elsewhere changes nothing for who names no account.
    people.add(globex, "ada", Role.VIEWER)
    assert created(ada("GET", ME))["id"] == acme.account.id
    assert created(ada("GET", ME, X_Account_Id=globex.account.id))["caller"]["role"] == "viewer"
    refused = ada("GET", ME)
    assert problem(refused) == (400, "invalid_request")
    assert refused.json is not None
    (error,) = refused.json["errors"]
    assert error["field"] == "X-Account-Id"
    assert {acme.account.id, globex.account.id} == set(
        error["message"].removeprefix("must be one of ").split(", ")
    )
    for tenant, role in ((acme, "member"), (globex, "viewer")):
        assert caller(ada, X_Account_Id=tenant.account.id)["role"] == role
        hinted = people.sign_in("ada", account_id=tenant.account.id)
        assert caller(hinted)["role"] == role
    # What the header says counts before what the token says.
    hinted = people.sign_in("ada", account_id=globex.account.id)
    assert caller(hinted, X_Account_Id=acme.account.id)["role"] == "member"


def test_invited_by_several_and_a_member_of_none(people: People, acme: Tenant, globex: Tenant) -> None:
    people.add(acme, "ada", Role.MEMBER)
    created(globex.admin("POST", "/v1/members", {"email": "ada@example.com", "role": "viewer"}))
    ada = people.sign_in("ada", "ada@example.com")
    assert problem(ada("GET", ME)) == (400, "invalid_request")
    assert caller(ada, X_Account_Id=globex.account.id)["role"] == "viewer"
    assert created(ada("GET", ME))["id"] == globex.account.id


def test_a_uid_that_is_no_id_of_ours(people: People, acme: Tenant) -> None:
    odd = "google|ada/例@x." + "y" * 60
    made = created(acme.admin("POST", "/v1/members", {"uid": odd, "role": "member"}))
    ada = people.sign_in(odd)
    assert caller(ada)["principal"] == f"user:{made['id']}"
    assert created(acme.admin("GET", f"/v1/members/{made['id']}"))["uid"] == odd
    # Who is called as that record is named is still somebody else.
    impostor = people.sign_in(made["id"])
    assert problem(impostor("GET", ME, X_Account_Id=acme.account.id)) == (403, "permission_denied")


def test_a_key_stays_in_its_account(people: People, acme: Tenant, globex: Tenant) -> None:
    assert created(acme.admin("GET", ME, X_Account_Id=acme.account.id))["id"] == acme.account.id
    refused = acme.admin("GET", ME, X_Account_Id=globex.account.id)
    assert problem(refused) == (400, "invalid_request")


def test_tokens_that_do_not_hold(people: People, acme: Tenant) -> None:
    ada = people.joined(acme, "ada", Role.MEMBER)
    for token in ("eyJ.eyJ.", ada.token[:-20] + ".", "x.y.z"):
        assert problem(Api(people.stack.client, token)("GET", ME)) == (401, "unauthenticated")
    people.identity.users["ada"]["disabled"] = True
    people.stack.deps.clock.pass_seconds(61)
    assert problem(ada("GET", ME)) == (401, "unauthenticated")
    people.identity.users["ada"] = {"validSince": "0"}
    assert caller(ada)["role"] == "member"
    people.stack.deps.clock.pass_seconds(3600)
    refused = ada("GET", ME)
    assert problem(refused) == (401, "unauthenticated")
    assert "expired" in detail(refused)


def test_without_firebase_id_tokens_are_refused(stack: Stack, people: People) -> None:
    token = people.sign_in("ada").token
    people.stack.deps.authenticator._id_tokens = None
    assert problem(Api(stack.client, token)("GET", ME)) == (401, "unauthenticated")


# --- joining -----------------------------------------------------------------------------------


def test_an_invitation_by_email_is_for_its_verified_owner(people: People, acme: Tenant) -> None:
    body = {"email": " Ada@Example.com ", "role": "editor", "department_ids": [acme.departments["marketing"]]}
    invited = created(acme.admin("POST", "/v1/members", body))
    assert (invited["email"], invited["uid"], invited["status"]) == ("ada@example.com", None, "invited")
    impostor = people.sign_in("eve", "ada@example.com", verified=False)
    for headers in ({}, {"X_Account_Id": acme.account.id}):
        assert problem(impostor("GET", ME, **headers)) == (403, "permission_denied")
    ada = people.sign_in("ada", "ADA@example.com")
    assert caller(ada)["department_ids"] == [acme.departments["marketing"]]
    (member,) = created(acme.admin("GET", "/v1/members"))["items"]
    assert (member["id"], member["uid"], member["status"]) == ("ada", "ada", "active")
    assert member["joined_at"] is not None
    # It is used up: the next who holds the address is nobody here.
    later = people.sign_in("eve", "ada@example.com")
    assert problem(later("GET", ME, X_Account_Id=acme.account.id)) == (403, "permission_denied")


def test_two_first_calls_at_once_join_once(people: People, acme: Tenant) -> None:
    created(acme.admin("POST", "/v1/members", {"email": "ada@example.com", "role": "member"}))
    ada = people.sign_in("ada", "ada@example.com")

    def call(_: int) -> int:
        return Api(people.stack.client.application.test_client(), ada.token)("GET", ME).status_code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [200] * 4
    assert [one.id for one in acme.records.every(MEMBERS, Query())] == ["ada"]


def test_nobody_is_added_twice(people: People, acme: Tenant) -> None:
    for body in ({"email": "ada@example.com", "role": "member"}, {"uid": "bob", "role": "member"}):
        created(acme.admin("POST", "/v1/members", body))
        assert problem(acme.admin("POST", "/v1/members", body)) == (409, "conflict")
    ada = people.sign_in("ada", "ada@example.com")
    caller(ada)
    again = acme.admin("POST", "/v1/members", {"email": "ADA@example.com", "role": "admin"})
    assert problem(again) == (409, "conflict")


def test_both_invited_by_uid_and_by_email_is_one_member(people: People, acme: Tenant) -> None:
    people.add(acme, "ada", Role.VIEWER)
    created(acme.admin("POST", "/v1/members", {"email": "ada@example.com", "role": "admin"}))
    ada = people.sign_in("ada", "ada@example.com")
    assert caller(ada)["role"] == "viewer"
    assert len(created(acme.admin("GET", "/v1/members"))["items"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"role": "member"},
        {"role": "member", "uid": "a", "email": "a@example.com"},
        {"role": "owner", "uid": "a"},
        {"role": "member", "email": "no address"},
        {"role": "member", "uid": ""},
        {"role": "member", "uid": "x" * 129},
        {"role": "member", "uid": "a\nb"},
        {"role": "member", "uid": "a", "active": False},
        {"role": "member", "uid": "a", "department_ids": ["dep_none"]},
    ],
)
def test_what_cannot_be_added(people: People, acme: Tenant, body: dict[str, Any]) -> None:
    assert problem(acme.admin("POST", "/v1/members", body)) == (400, "invalid_request")
    assert created(acme.admin("GET", "/v1/members"))["items"] == []


# --- changes -----------------------------------------------------------------------------------


def test_a_change_counts_from_the_next_call(people: People, acme: Tenant) -> None:
    ada = people.joined(acme, "ada", Role.VIEWER)
    kb = {"name": "Notes", "type": "page"}
    assert problem(ada("POST", "/v1/knowledge-bases", kb)) == (403, "permission_denied")
    changed = created(acme.admin("PATCH", "/v1/members/ada", {"role": "editor"}))
    assert changed["permissions"] == ["agent:edit", "kb:read", "kb:write", "run:create"]
    created(ada("POST", "/v1/knowledge-bases", kb))
    mine = [acme.departments["marketing"]]
    created(acme.admin("PATCH", "/v1/members/ada", {"department_ids": mine}))
    assert caller(ada)["department_ids"] == mine
    created(acme.admin("PATCH", "/v1/members/ada", {"department_ids": None, "role": "viewer"}))
    assert caller(ada)["department_ids"] is None
    assert problem(ada("POST", "/v1/knowledge-bases", kb)) == (403, "permission_denied")


@pytest.mark.parametrize("end", ["deactivate", "remove"])
def test_a_member_whose_time_is_over_is_refused_at_once(people: People, acme: Tenant, end: str) -> None:
    ada = people.joined(acme, "ada", Role.EDITOR)
    caller(ada)
    if end == "deactivate":
        gone = created(acme.admin("PATCH", "/v1/members/ada", {"active": False}))
        assert gone["status"] == "deactivated"
    else:
        assert acme.admin("DELETE", "/v1/members/ada").status_code == 204
    for headers in ({}, {"X_Account_Id": acme.account.id}):
        assert problem(ada("GET", ME, **headers)) == (403, "permission_denied")
    if end == "deactivate":
        # An invitation by e-mail is no way around it.
        created(acme.admin("POST", "/v1/members", {"email": "ada@example.com", "role": "admin"}))
        mailed = people.sign_in("ada", "ada@example.com")
        assert problem(mailed("GET", ME, X_Account_Id=acme.account.id)) == (403, "permission_denied")
        created(acme.admin("PATCH", "/v1/members/ada", {"active": True}))
        assert caller(ada)["role"] == "editor"


def test_an_invitation_that_was_taken_back(people: People, acme: Tenant) -> None:
    invited = [
        created(acme.admin("POST", "/v1/members", {"email": f"{name}@example.com", "role": "member"}))["id"]
        for name in ("ada", "bob")
    ]
    assert acme.admin("DELETE", f"/v1/members/{invited[0]}").status_code == 204
    created(acme.admin("PATCH", f"/v1/members/{invited[1]}", {"active": False}))
    for name in ("ada", "bob"):
        person = people.sign_in(name, f"{name}@example.com")
        for headers in ({}, {"X_Account_Id": acme.account.id}):
            assert problem(person("GET", ME, **headers)) == (403, "permission_denied")


LAST: dict[str, Callable[[Api, str], Any]] = {
    "remove": lambda api, name: api("DELETE", f"/v1/members/{name}"),
    "demote": lambda api, name: api("PATCH", f"/v1/members/{name}", {"role": "editor"}),
    "deactivate": lambda api, name: api("PATCH", f"/v1/members/{name}", {"active": False}),
}


@pytest.mark.parametrize("end", [*LAST, "limit"])
def test_the_last_administrator_stays(people: People, acme: Tenant, end: str) -> None:
    ada = people.joined(acme, "ada", Role.ADMIN)
    people.joined(acme, "bob", Role.ADMIN, ["marketing"])  # who cannot administer all of it
    people.add(acme, "cy", Role.ADMIN)  # who never came
    limit = {"department_ids": [acme.departments["marketing"]]}
    take = LAST.get(end, lambda api, name: api("PATCH", f"/v1/members/{name}", limit))
    for api in (ada, acme.admin):
        refused = take(api, "ada")
        assert problem(refused) == (409, "conflict")
        assert "last administrator" in detail(refused)
    caller(people.sign_in("cy"))
    assert take(ada, "ada").status_code < 300


def test_two_administrators_who_remove_each_other_leave_one(people: People, acme: Tenant) -> None:
    apis = {name: people.joined(acme, name, Role.ADMIN) for name in ("ada", "bob")}

    def remove(pair: tuple[str, str]) -> int:
        by, name = pair
        client = people.stack.client.application.test_client()
        return Api(client, apis[by].token)("DELETE", f"/v1/members/{name}").status_code

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(remove, [("ada", "bob"), ("bob", "ada")]))
    assert statuses[0] == 204
    assert statuses[1] in {403, 409}
    assert len(list(acme.records.every(MEMBERS, Query()))) == 1


# --- who may hand on what ----------------------------------------------------------------------


def test_nobody_hands_on_more_than_it_holds(people: People, acme: Tenant) -> None:
    mine, other = acme.departments["engineering"], acme.departments["marketing"]
    local = people.joined(acme, "ada", Role.ADMIN, ["engineering"])
    weak = people.stack.api(acme.records, (Permission.KB_READ, Permission.ACCOUNT_ADMIN), None)
    for api, body in (
        (local, {"role": "member", "department_ids": [other]}),
        (local, {"role": "member", "department_ids": [mine, other]}),
        (weak, {"role": "admin"}),
        (weak, {"role": "member"}),
    ):
        assert problem(api("POST", "/v1/members", {"uid": "bob", **body})) == (400, "invalid_request")
    made = created(local("POST", "/v1/members", {"uid": "bob", "role": "admin"}))
    assert made["department_ids"] == [mine]  # all, to who has only this one
    for change in ({"department_ids": None}, {"department_ids": [other]}):
        assert problem(local("PATCH", "/v1/members/bob", change)) == (400, "invalid_request")
    created(weak("POST", "/v1/members", {"uid": "vi", "role": "viewer"}))
    assert problem(weak("PATCH", "/v1/members/vi", {"role": "admin"})) == (400, "invalid_request")


def test_who_holds_more_is_out_of_reach(people: People, acme: Tenant) -> None:
    local = people.joined(acme, "ada", Role.ADMIN, ["engineering"])
    people.add(acme, "boss", Role.ADMIN)
    people.add(acme, "bob", Role.VIEWER, ["marketing"])
    for name in ("boss", "bob"):
        for answer in (
            local("GET", f"/v1/members/{name}"),
            local("PATCH", f"/v1/members/{name}", {"active": False}),
            local("DELETE", f"/v1/members/{name}"),
        ):
            assert problem(answer) == (404, "not_found")
    assert [one["id"] for one in created(local("GET", "/v1/members"))["items"]] == ["ada"]
    weak = people.stack.api(acme.records, (Permission.KB_READ, Permission.ACCOUNT_ADMIN), None)
    for answer in (weak("PATCH", "/v1/members/boss", {"active": False}), weak("DELETE", "/v1/members/boss")):
        assert problem(answer) == (403, "permission_denied")
    assert weak("DELETE", "/v1/members/bob").status_code == 204


def test_members_are_for_administrators(people: People, acme: Tenant) -> None:
    people.add(acme, "ada", Role.EDITOR)
    ada = people.sign_in("ada")
    worker = people.stack.api(acme.records, WORKER, None)
    for api in (ada, worker):
        for method, path, body in (
            ("GET", "/v1/members", None),
            ("POST", "/v1/members", {"uid": "x", "role": "viewer"}),
            ("GET", "/v1/members/ada", None),
            ("PATCH", "/v1/members/ada", {"role": "admin"}),
            ("DELETE", "/v1/members/ada", None),
        ):
            assert problem(api(method, path, body)) == (403, "permission_denied")


def test_an_administrator_makes_keys_as_far_as_it_reaches(people: People, acme: Tenant) -> None:
    ada = people.joined(acme, "ada", Role.ADMIN, ["engineering"])
    made = created(ada("POST", "/v1/api-keys", {"name": "bot", "permissions": ["kb:read", "act_as"]}))
    assert made["department_ids"] == [acme.departments["engineering"]]


# --- on behalf of ------------------------------------------------------------------------------


def test_a_member_acts_for_itself_alone(people: People, acme: Tenant) -> None:
    ada = people.joined(acme, "ada", Role.ADMIN)
    refused = ada("GET", "/v1/knowledge-bases", X_Acting_As='{"user_id": "bob", "department_ids": []}')
    assert problem(refused) == (403, "permission_denied")
    assert "itself" in detail(refused)


def test_the_list_of_members_goes_by_pages(people: People, acme: Tenant) -> None:
    for name in ("a", "b", "c"):
        people.add(acme, name, Role.VIEWER)
    first = created(acme.admin("GET", "/v1/members?limit=2"))
    rest = created(acme.admin("GET", f"/v1/members?limit=2&cursor={first['next_cursor']}"))
    assert [one["id"] for one in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next_cursor"] is None
