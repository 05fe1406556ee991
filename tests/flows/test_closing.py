"""An account is deleted with all that it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shared.domain.accounts import PLATFORM, Permission, Plan
from shared.domain.conversation import Message, TurnRole
from shared.library.closing import RECEIPT_KEPT
from shared.records import MESSAGES, THREADS
from shared.tenancy import accounts
from tests.flows.api_stack import Api, Stack, Tenant, created, problem
from tests.flows.test_documents import base, read, upload


def collections(stack: Stack, tenant: Tenant) -> set[str]:
    """What there is below the account's record, at any depth."""

    def below(reference: Any) -> Iterator[str]:
        for collection in reference.collections():
            yield collection.id
            for document in collection.list_documents():
                yield from below(document)

    client = stack.deps.store._client
    return set(below(client.collection("accounts").document(tenant.account.id)))


def filled(stack: Stack) -> tuple[Tenant, dict[str, Any]]:
    tenant = stack.tenant()
    document = upload(tenant, base(tenant))
    stack.ingest(tenant, document)
    stack.run_tasks()
    now = stack.deps.clock.now()
    message = Message("m1", 0, TurnRole.USER, "What is the plan?", now, "run1")
    tenant.records.put_many(MESSAGES.below(THREADS, "t1"), [message])
    return tenant, document


def test_nothing_of_a_closed_account_stays(stack: Stack) -> None:
    acme, document = filled(stack)
    other, kept = filled(stack)
    before = collections(stack, other)

    accepted = acme.admin("DELETE", "/v1/account")
    assert accepted.status_code == 202
    receipt_id = created(accepted)["receipt_id"]
    stack.deps.clock.pass_seconds(4)
    assert problem(acme.admin("GET", f"/v1/documents/{document['id']}")) == (404, "not_found")
    assert created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))["status"] == "running"
    assert problem(acme.admin("POST", "/v1/knowledge-bases", {"name": "x", "type": "files"}))[0] == 403
    assert problem(acme.engineering("GET", "/v1/knowledge-bases"))[0] == 401

    stack.deps.clock.pass_seconds(10)
    assert stack.run_tasks() == ["done"]
    receipt = created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))
    assert (receipt["status"], receipt["subject_kind"]) == ("done", "account")
    assert (
        receipt["removed"].items() >= {"documents": 1, "objects": 1, "departments": 2, "threads": 1}.items()
    )
    assert collections(stack, acme) == {"api_keys", "receipts"}
    assert stack.deps.uploads.delete_prefix(f"accounts/{acme.account.id}/") == 0
    assert stack.deps.derived.delete_prefix(f"accounts/{acme.account.id}/") == 0

    stack.deps.clock.pass_seconds(RECEIPT_KEPT.total_seconds() + 1)
    assert stack.run_tasks() == ["gone"]
    assert collections(stack, acme) == set()
    assert acme.account.id not in stack.deps.store.account_ids()
    stack.deps.clock.pass_seconds(4)
    assert problem(acme.admin("GET", f"/v1/receipts/{receipt_id}"))[0] == 401

    assert collections(stack, other) == before
    assert read(other, kept)["status"] == "ready"


def test_asking_twice_gives_one_receipt(stack: Stack) -> None:
    acme = stack.tenant()
    first, second = (created(acme.admin("DELETE", "/v1/account")) for _ in range(2))
    assert first == second
    stack.deps.clock.pass_seconds(11)
    assert sorted(stack.run_tasks()) == ["done", "nothing"]


def test_who_may_not_close_an_account(stack: Stack) -> None:
    acme = stack.tenant()
    assert problem(acme.engineering("DELETE", "/v1/account"))[0] == 403
    limited = accounts.create_key(
        acme.records,
        stack.deps.clock,
        name="limited",
        permissions=(Permission.ACCOUNT_ADMIN,),
        department_ids=(acme.departments["marketing"],),
    )
    assert problem(Api(acme.admin.client, limited.token)("DELETE", "/v1/account"))[0] == 403
    platform = stack.deps.store.of(PLATFORM)
    accounts.create_account(stack.deps.store, stack.deps.clock, "Platform", Plan.PRO, account_id=PLATFORM)
    key = accounts.create_key(
        platform,
        stack.deps.clock,
        name="root",
        permissions=(Permission.ACCOUNT_ADMIN,),
        department_ids=None,
    )
    assert problem(Api(acme.admin.client, key.token)("DELETE", "/v1/account")) == (409, "conflict")
