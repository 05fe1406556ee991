"""Nothing of one account or department is visible to another, through any route.

The routes are taken from the table, so that a new one cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from shared.domain.accounts import Permission, Role
from shared.domain.ids import new_id
from shared.http.api.routes import ROUTES
from shared.http.routes import AnyRoute
from tests.flows.api_stack import Api, Stack, Tenant, created, problem
from tests.flows.people import People
from tests.flows.test_documents import HANDBOOK, base, upload

WITH_IDS = [route for route in ROUTES if route.parameters]

# A body that each writing route accepts, so that a refusal can only be about the id.
BODIES: Mapping[tuple[str, str], Any] = {
    ("PATCH", "/v1/knowledge-bases/{knowledge_base_id}"): {"description": "mine now"},
    ("POST", "/v1/knowledge-bases/{knowledge_base_id}/documents"): {"filename": "a.txt", "size": 3},
    ("POST", "/v1/knowledge-bases/{knowledge_base_id}/records"): {"values": {"a": 1}},
    ("PATCH", "/v1/documents/{document_id}"): {"title": "mine now"},
    ("PATCH", "/v1/members/{member_id}"): {"active": False},
    ("PUT", "/v1/records/{record_id}"): {"values": {"a": 1}},
}


def things_of(stack: Stack, tenant: Tenant, *departments: str) -> dict[str, str]:
    """One of everything that has an id, and which the named departments alone may see."""
    files = base(tenant, f"Files {'-'.join(departments) or 'all'}".replace("-", " "), *departments)
    form = base(tenant, f"Form {'-'.join(departments) or 'all'}".replace("-", " "), *departments, type="form")
    document = upload(tenant, files)
    stack.ingest(tenant, document)
    passage = _any_passage(tenant, document["id"])
    record = created(tenant.admin("POST", f"/v1/knowledge-bases/{form}/records", {"values": {"a": 0}}))
    going = upload(tenant, files, b"Going.", "b.txt")
    receipt = created(tenant.admin("DELETE", f"/v1/documents/{going['id']}"))["receipt_id"]
    limited_to = [tenant.departments[name] for name in departments] or None
    key = created(
        tenant.admin(
            "POST",
            "/v1/api-keys",
            {"name": "k", "permissions": ["kb:read"], "department_ids": limited_to},
        )
    )
    member = created(
        tenant.admin(
            "POST",
            "/v1/members",
            {"uid": new_id("person"), "role": "member", "department_ids": limited_to},
        )
    )
    return {
        "knowledge_base_id": files,
        "document_id": document["id"],
        "passage_id": passage,
        "record_id": record["id"],
        "receipt_id": receipt,
        "key_id": key["id"],
        "member_id": member["id"],
    }


def _any_passage(tenant: Tenant, document_id: str) -> str:
    from shared.index.segment import SEGMENTS, unpack
    from shared.ports import Query

    for segment in tenant.records.every(SEGMENTS, Query()):
        place = unpack(segment).where(0)
        if place.document_id == document_id:
            return str(place.passage_id)
    raise AssertionError("nothing was indexed")


def ask(api: Api, route: AnyRoute, ids: Mapping[str, str]) -> Any:
    path = route.path.format(**ids)
    if route.form is not None and route.body is None:
        return api.upload(path, HANDBOOK + b"changed", method=route.method)
    return api(route.method, path, BODIES.get((route.method, route.path)))


def test_every_id_of_another_is_not_found(people: People) -> None:
    stack = people.stack
    acme, globex = stack.tenant(), stack.tenant()
    theirs = things_of(stack, acme, "engineering")
    missing = {name: f"{value.split('_')[0]}_none" for name, value in theirs.items()}
    strangers = (
        globex.admin,
        stack.api(acme.records, tuple(Permission), [acme.departments["marketing"]]),
        people.joined(globex, "gil", Role.ADMIN),
        people.joined(acme, "mia", Role.ADMIN, ["marketing"]),
    )
    for stranger in strangers:
        for route in WITH_IDS:
            refused = ask(stranger, route, theirs)
            assert problem(refused) == (404, "not_found"), f"{route.method} {route.path}"
            # And it reads exactly like something that never was.
            absent = ask(stranger, route, missing)
            assert problem(absent) == (404, "not_found")
            assert _told(refused, theirs) == _told(absent, missing), f"{route.method} {route.path}"
    # Nothing of it changed anything, and who may can do all of it: the refusals were about the caller.
    gone_last = sorted(WITH_IDS, key=lambda route: (route.method == "DELETE", "knowledge" in route.path))
    for route in gone_last:
        if route.path.endswith((":retry", ":refresh")):
            continue  # a document that is ready is not run again, and one that was uploaded has no address
        if "records" in route.path and "knowledge_base_id" in route.parameters:
            continue  # these ids are of a knowledge base with files
        administers = route.permission is Permission.ACCOUNT_ADMIN
        owner = acme.admin if administers else acme.engineering
        answer = ask(owner, route, theirs)
        assert answer.status_code < 300, f"{route.method} {route.path}: {answer.text}"


def _told(answer: Any, ids: Mapping[str, str]) -> tuple[Any, ...]:
    """What a refusal says, without the ids that the caller gave."""
    text = answer.json["detail"]
    for name, value in ids.items():
        text = text.replace(value, name)
    return (answer.json["title"], text, answer.json["hint"])


def test_a_person_of_one_account_is_nobody_in_another(people: People) -> None:
    acme, globex = people.stack.tenant(), people.stack.tenant()
    theirs = things_of(people.stack, acme)
    gil = people.joined(globex, "gil", Role.ADMIN)
    for route in ROUTES:
        if route.public:
            continue
        path = route.path.format(**theirs)
        refused = gil(route.method, path, X_Account_Id=acme.account.id)
        assert problem(refused) == (403, "permission_denied"), path
        assert "not an active member" in refused.text, path


def test_lists_hold_nothing_of_another(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    things_of(stack, acme, "engineering")
    things_of(stack, acme)
    lists = [route for route in ROUTES if not route.parameters and route.path.startswith("/v1/")]
    lists = [
        route
        for route in lists
        if route.method == "GET" and route.path not in {"/v1/account", "/v1/brand-identity"}
    ]
    paths = {"/v1/knowledge-bases", "/v1/documents", "/v1/api-keys", "/v1/members"}
    assert {route.path for route in lists} >= paths
    own = {"/v1/departments": 2, "/v1/api-keys": 3}
    for route in lists:
        found = created(globex.admin("GET", route.path))["items"]
        assert len(found) == own.get(route.path, 0), route.path
    hidden = acme.departments["engineering"]
    for path in ("/v1/knowledge-bases", "/v1/documents", "/v1/departments"):
        seen = acme.marketing("GET", path)
        assert created(seen)["items"], path  # what is the whole account's
        assert hidden not in seen.text, path
    limited = {one["id"] for one in created(acme.engineering("GET", "/v1/knowledge-bases"))["items"]}
    open_ = {one["id"] for one in created(acme.marketing("GET", "/v1/knowledge-bases"))["items"]}
    assert len(limited) == 4
    assert len(open_) == 2
    documents = created(acme.marketing("GET", "/v1/documents"))["items"]
    assert {one["knowledge_base_id"] for one in documents} <= open_


@pytest.mark.parametrize("name", ["..", ".", "a%2Fb", "a b", "é", "x" * 65, "a.b", "*"])
def test_what_cannot_be_an_id_is_not_looked_up(stack: Stack, name: str) -> None:
    acme = stack.tenant()
    for path in ("/v1/documents/{}", "/v1/knowledge-bases/{}/documents", "/v1/records/{}", "/v1/receipts/{}"):
        assert problem(acme.admin("GET", path.format(name))) == (404, "not_found")


def test_an_id_in_a_query_is_checked_as_well(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    base_id = base(acme, "Secret", "engineering")
    for stranger in (globex.admin, acme.marketing):
        refused = stranger("GET", f"/v1/documents?knowledge_base_id={base_id}")
        assert problem(refused) == (404, "not_found")


def test_every_route_is_public_on_purpose_or_asks_who_calls(stack: Stack) -> None:
    public = {route.path for route in ROUTES if route.public}
    assert public == {"/health", "/openapi.json", "/docs"}
    for route in ROUTES:
        if route.public:
            continue
        path = route.path.format(**dict.fromkeys(route.parameters, "x"))
        refused = stack.client.open(path, method=route.method)
        assert problem(refused) == (401, "unauthenticated"), route.path
        assert route.permission is not None or route.path in {"/v1/account", "/v1/departments"}
