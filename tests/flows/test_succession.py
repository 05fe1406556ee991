"""Documents with dates, and documents that replace others, through the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.api_stack import Stack, Tenant, created, problem
from tests.flows.test_documents import base, read, upload


@pytest.fixture
def acme(stack: Stack) -> Tenant:
    return stack.tenant()


def change(acme: Tenant, document: dict[str, Any], **changes: Any) -> Any:
    return acme.admin("PATCH", f"/v1/documents/{document['id']}", changes)


def test_the_newer_document_names_the_older_and_both_know(acme: Tenant) -> None:
    where = base(acme)
    old, middle, new = (upload(acme, where, f"# {n}\n\nText {n}.".encode()) for n in range(3))
    assert created(change(acme, middle, supersedes=old["id"]))["supersedes"] == old["id"]
    assert created(change(acme, new, supersedes=middle["id"]))["superseded_by"] is None
    assert read(acme, old)["superseded_by"] == middle["id"]
    assert (read(acme, middle)["supersedes"], read(acme, middle)["superseded_by"]) == (old["id"], new["id"])

    assert problem(change(acme, new, supersedes=old["id"])) == (409, "conflict")
    assert problem(change(acme, old, supersedes=new["id"])) == (400, "invalid_request")  # a circle
    assert problem(change(acme, old, supersedes=old["id"])) == (400, "invalid_request")
    assert problem(change(acme, old, supersedes="doc_unknown")) == (404, "not_found")
    other = upload(acme, base(acme, "Another"), b"# Elsewhere\n\nText.")
    assert problem(change(acme, other, supersedes=old["id"])) == (400, "invalid_request")
    assert read(acme, old)["superseded_by"] == middle["id"]

    assert created(change(acme, middle, supersedes=None))["supersedes"] is None
    assert read(acme, old)["superseded_by"] is None


def test_a_copy_is_not_replaced_but_what_it_is_a_copy_of(stack: Stack, acme: Tenant) -> None:
    where = base(acme)
    original, copy, new = upload(acme, where), upload(acme, where), upload(acme, where, b"# New\n\nText.")
    for document in (original, copy):
        stack.ingest(acme, document)
    assert read(acme, copy)["duplicate_of"] == original["id"]
    refused = change(acme, new, supersedes=copy["id"])
    assert problem(refused) == (409, "conflict")
    assert original["id"] in refused.text


def test_who_replaced_a_document_lets_it_go_when_it_is_deleted(stack: Stack, acme: Tenant) -> None:
    where = base(acme)
    old, middle, new = (upload(acme, where, f"# {n}\n\nText {n}.".encode()) for n in range(3))
    created(change(acme, middle, supersedes=old["id"]))
    created(change(acme, new, supersedes=middle["id"]))
    created(acme.admin("DELETE", f"/v1/documents/{middle['id']}"))
    stack.run_tasks()
    assert read(acme, old)["superseded_by"] is None
    assert read(acme, new)["supersedes"] is None


def test_dates_are_kept_and_have_to_be_in_order(acme: Tenant) -> None:
    document = upload(acme, base(acme))
    first, last = "2026-01-01T00:00:00Z", "2026-12-31T00:00:00+01:00"
    changed = created(change(acme, document, effective_from=first, effective_to=last))
    assert changed["effective_from"] == first
    assert changed["effective_to"] == "2026-12-30T23:00:00Z"
    refused = change(acme, document, effective_from="2027-01-01T00:00:00Z")
    assert problem(refused) == (400, "invalid_request")
    assert refused.json["errors"][0]["field"] == "effective_to"
    for wrong in ("2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        assert problem(change(acme, document, effective_from=wrong)) == (400, "invalid_request")
    assert created(change(acme, document, effective_to=None))["effective_to"] is None
