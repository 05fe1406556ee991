"""Accounts, departments and keys, through the API and from the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from urllib3 import encode_multipart_formdata

from shared.domain.accounts import Permission, Plan
from shared.domain.errors import UnauthenticatedError
from shared.ports import Kind
from shared.records import API_KEYS
from shared.tenancy.authenticate import Authenticator
from tests.flows.api_stack import ALL, WORKER, Api, Stack, created, problem


def test_who_am_i(stack: Stack) -> None:
    acme = stack.tenant(Plan.ENTERPRISE)
    answer = created(acme.marketing("GET", "/v1/account"))
    assert (answer["id"], answer["plan"]) == (acme.account.id, "enterprise")
    assert answer["limits"] == {"knowledge_bases": 500, "documents": 100_000, "chats_per_minute": 600}


@pytest.mark.parametrize(
    "token",
    ["", "x", "alm_", "alm_a.b", "alm_a.b.c.d", "alm_../x.k.s", "alm_a.key_1.s", "eyJhbGciOi.eyJzdWIi.sig"],
)
def test_what_is_no_key_is_refused(stack: Stack, token: str) -> None:
    assert problem(Api(stack.client, token)("GET", "/v1/account")) == (401, "unauthenticated")


def test_every_part_of_a_key_counts(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    account, key, secret = acme.admin.token.removeprefix("alm_").split(".")
    other_account, other_key, other_secret = globex.admin.token.removeprefix("alm_").split(".")
    answers = set()
    for parts in (
        (account, key, other_secret),
        (account, other_key, secret),
        (other_account, key, secret),
        (account, other_key, other_secret),
        (account, key, secret[:-1]),
        ("acc_none", key, secret),
    ):
        refused = Api(stack.client, "alm_" + ".".join(parts))("GET", "/v1/account")
        assert problem(refused) == (401, "unauthenticated")
        assert refused.json is not None
        answers.add(refused.json["detail"])
    assert len(answers) == 1  # nothing tells which part was right


def test_the_secret_is_shown_once_and_kept_nowhere(stack: Stack) -> None:
    acme = stack.tenant()
    body = {"name": "bot", "permissions": ["kb:read"], "department_ids": [acme.departments["marketing"]]}
    made = created(acme.admin("POST", "/v1/api-keys", body))
    bot = Api(stack.client, made["secret"])
    assert created(bot("GET", "/v1/account"))["id"] == acme.account.id
    secret = made["secret"].rsplit(".", 1)[1]
    stored = acme.records.get(API_KEYS, made["id"])
    assert secret not in repr(stored)
    listed = created(acme.admin("GET", "/v1/api-keys"))["items"]
    assert [key["id"] for key in listed][-1] == made["id"]
    assert all("secret" not in key and "secret_hash" not in key for key in listed)


def test_a_repeat_of_making_a_key_does_not_show_the_secret_again(stack: Stack) -> None:
    acme = stack.tenant()
    body = {"name": "bot", "permissions": ["kb:read"]}
    first = acme.admin("POST", "/v1/api-keys", body, Idempotency_Key="k1")
    assert first.status_code == 201
    assert problem(acme.admin("POST", "/v1/api-keys", body, Idempotency_Key="k1")) == (409, "conflict")
    names = [key["name"] for key in created(acme.admin("GET", "/v1/api-keys"))["items"]]
    assert names.count("bot") == 1


def test_a_revoked_key_ends_at_once_where_it_was_revoked(stack: Stack) -> None:
    acme = stack.tenant()
    key_id = acme.marketing.token.split(".")[1]
    created(acme.marketing("GET", "/v1/account"))
    assert acme.admin("DELETE", f"/v1/api-keys/{key_id}").status_code == 204
    assert problem(acme.marketing("GET", "/v1/account")) == (401, "unauthenticated")
    created(acme.engineering("GET", "/v1/account"))


def test_a_revoked_key_ends_within_seconds_everywhere(stack: Stack) -> None:
    other = Authenticator(stack.deps.store, stack.deps.clock)  # of another instance
    acme = stack.tenant()
    key_id = acme.marketing.token.split(".")[1]
    other(f"Bearer {acme.marketing.token}")
    assert acme.admin("DELETE", f"/v1/api-keys/{key_id}").status_code == 204
    assert acme.admin("DELETE", f"/v1/api-keys/{key_id}").status_code == 204
    stack.deps.clock.pass_seconds(4.5)
    with pytest.raises(UnauthenticatedError):
        other(f"Bearer {acme.marketing.token}")
    listed = {key["id"]: key for key in created(acme.admin("GET", "/v1/api-keys"))["items"]}
    assert listed[key_id]["revoked_at"] is not None


def test_a_burst_of_calls_reads_the_key_once(stack: Stack) -> None:
    acme = stack.tenant()
    reads: list[str] = []

    class Counting:
        def of(self, account_id: str) -> Any:
            inner = stack.deps.store.of(account_id)

            class Account:
                def get(self, kind: Kind[Any], record_id: str) -> Any:
                    reads.append(kind.collection)
                    return inner.get(kind, record_id)

            return Account()

        def account_ids(self) -> Any:
            raise AssertionError

    authenticate = Authenticator(Counting(), stack.deps.clock)
    for _ in range(5):
        authenticate(f"Bearer {acme.admin.token}")
    assert reads == ["api_keys", ""]


def test_a_key_hands_on_only_what_it_has(stack: Stack) -> None:
    acme = stack.tenant()
    mine = acme.departments["engineering"]
    local = stack.api(acme.records, (*WORKER, Permission.ACCOUNT_ADMIN), [mine])
    for body in (
        {"name": "a", "permissions": ["agent:edit"]},
        {"name": "a", "permissions": ["kb:read"], "department_ids": [acme.departments["marketing"]]},
        {"name": "a", "permissions": ["kb:read"], "department_ids": ["dep_none"]},
        {"name": "a", "permissions": []},
        {"name": "a", "permissions": ["everything"]},
    ):
        assert problem(local("POST", "/v1/api-keys", body)) == (400, "invalid_request")
    made = created(local("POST", "/v1/api-keys", {"name": "a", "permissions": ["kb:read"]}))
    assert made["department_ids"] == [mine]
    # It administers those that reach no further than itself; the others are not there for it.
    seen = {key["id"] for key in created(local("GET", "/v1/api-keys"))["items"]}
    admin_key, marketing_key = (api.token.split(".")[1] for api in (acme.admin, acme.marketing))
    assert made["id"] in seen
    assert not {admin_key, marketing_key} & seen
    for key_id in (admin_key, marketing_key):
        assert problem(local("DELETE", f"/v1/api-keys/{key_id}")) == (404, "not_found")


def test_departments(stack: Stack) -> None:
    acme = stack.tenant()
    made = created(acme.admin("POST", "/v1/departments", {"name": " 销售部 "}))
    assert made["name"] == "销售部"
    assert problem(acme.admin("POST", "/v1/departments", {"name": "销售部"})) == (409, "conflict")
    names = [one["name"] for one in created(acme.admin("GET", "/v1/departments"))["items"]]
    assert names == ["engineering", "marketing", "销售部"]
    names = [one["name"] for one in created(acme.marketing("GET", "/v1/departments"))["items"]]
    assert names == ["marketing"]


def test_permissions_are_asked_for(stack: Stack) -> None:
    acme = stack.tenant()
    reader = stack.api(acme.records, [Permission.KB_READ], None)
    assert created(reader("GET", "/v1/knowledge-bases")) == {"items": [], "next_cursor": None}
    refused = reader("POST", "/v1/knowledge-bases", {"name": "a", "type": "page"})
    assert problem(refused) == (403, "permission_denied")
    assert refused.json is not None
    assert "kb:write" in refused.json["detail"]
    assert problem(acme.engineering("GET", "/v1/api-keys")) == (403, "permission_denied")


def test_acting_as_a_user_narrows_the_key(stack: Stack) -> None:
    acme = stack.tenant()
    mine = acme.departments["engineering"]
    app = stack.api(acme.records, ALL, [mine])

    def create(name: str, acting: dict[str, Any], api: Api = app) -> Any:
        body = {"name": name, "type": "page", "acting_as": {"user_id": "u1", **acting}}
        return api("POST", "/v1/knowledge-bases", body | {"department_ids": [mine]})

    assert created(create("A", {"department_ids": [mine]}))["department_ids"] == [mine]
    assert problem(create("B", {"department_ids": []})) == (400, "invalid_request")
    beyond = create("C", {"department_ids": [acme.departments["marketing"]]})
    assert problem(beyond) == (400, "invalid_request")
    without = create("D", {"department_ids": [mine]}, acme.engineering)
    assert problem(without) == (403, "permission_denied")
    admin = {"name": "x", "acting_as": {"user_id": "u1", "department_ids": [mine]}}
    assert problem(app("POST", "/v1/departments", admin)) == (403, "permission_denied")


def acting(user: str, *departments: str) -> str:
    return json.dumps({"user_id": user, "department_ids": departments})


def test_a_read_can_be_on_behalf_of_a_user_too(stack: Stack) -> None:
    acme = stack.tenant()
    mine = acme.departments["engineering"]
    app = stack.api(acme.records, ALL, None)
    for name, departments in (("Open", []), ("Limited", [mine])):
        body = {"name": name, "type": "page", "department_ids": departments}
        created(app("POST", "/v1/knowledge-bases", body))

    def seen(header: str) -> list[str]:
        found = created(app("GET", "/v1/knowledge-bases", X_Acting_As=header))["items"]
        return sorted(one["name"] for one in found)

    assert seen(acting("u1", mine)) == ["Limited", "Open"]
    assert seen(acting("u2")) == ["Open"]
    caller = created(app("GET", "/v1/account", X_Acting_As=acting("u2")))["caller"]
    assert (caller["principal"], caller["department_ids"]) == ("user:u2", [])
    assert not {"act_as", "account:admin"} & set(caller["permissions"])
    # As in a body: only with the permission, only within the key's departments, only what is allowed then.
    bounded = stack.api(acme.records, ALL, [mine])
    beyond = bounded("GET", "/v1/account", X_Acting_As=acting("u1", acme.departments["marketing"]))
    assert problem(beyond) == (400, "invalid_request")
    assert problem(acme.engineering("GET", "/v1/account", X_Acting_As=acting("u1"))) == (
        403,
        "permission_denied",
    )
    assert problem(app("GET", "/v1/api-keys", X_Acting_As=acting("u1"))) == (403, "permission_denied")


def test_a_file_can_be_uploaded_on_behalf_of_a_user(stack: Stack) -> None:
    acme = stack.tenant()
    mine = acme.departments["engineering"]
    body = {"name": "Files", "type": "files", "department_ids": [mine]}
    base = created(acme.admin("POST", "/v1/knowledge-bases", body))["id"]
    path = f"/v1/knowledge-bases/{base}/documents"
    for departments, status in (((), 404), ((mine,), 202)):
        data, kind = encode_multipart_formdata({"file": ("a.txt", b"Text.", "text/plain")})
        headers = {
            "Authorization": f"Bearer {acme.admin.token}",
            "X-Acting-As": acting("u1", *departments),
            "Content-Type": kind,
        }
        assert stack.client.post(path, data=data, headers=headers).status_code == status


@pytest.mark.parametrize("header", ["", "u1", "[]", "{}", '{"user_id": ""}', '{"user_id": "u1", "x": 1}'])
def test_a_header_that_names_nobody_is_refused(stack: Stack, header: str) -> None:
    acme = stack.tenant()
    assert problem(acme.admin("GET", "/v1/account", X_Acting_As=header)) == (400, "invalid_request")


def test_header_and_body_name_the_same_user(stack: Stack) -> None:
    acme = stack.tenant()

    def create(name: str, header: str) -> Any:
        body = {"name": name, "type": "page", "acting_as": {"user_id": "u1", "department_ids": []}}
        return acme.admin("POST", "/v1/knowledge-bases", body, X_Acting_As=header)

    assert created(create("A", acting("u1")))["name"] == "A"
    assert problem(create("B", acting("u2"))) == (400, "invalid_request")
    assert problem(create("B", acting("u1", acme.departments["marketing"]))) == (400, "invalid_request")


def test_a_repeat_in_other_departments_is_another_request(stack: Stack) -> None:
    acme = stack.tenant()

    def create(header: str) -> Any:
        body = {"name": "A", "type": "page"}
        return acme.admin("POST", "/v1/knowledge-bases", body, X_Acting_As=header, Idempotency_Key="k")

    first = created(create(acting("u1")))
    assert created(create(acting("u1")))["id"] == first["id"]
    assert problem(create(acting("u1", acme.departments["marketing"]))) == (409, "conflict")
