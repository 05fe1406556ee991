"""Deletes through the API: at once out of sight, then gone with everything that derives from them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from shared.domain.knowledge import DocumentStatus
from shared.index.manifest import MANIFESTS, load
from shared.index.publication import PENDING
from shared.index.segment import SEGMENTS
from shared.ingest import flow
from shared.ingest.claim import Lease, claim
from shared.ingest.publish import publish_content
from shared.library.purge import purge
from shared.ports import Query
from shared.records import (
    CHUNKS,
    CONTENTS,
    DOCUMENTS,
    KNOWLEDGE_BASE_NAMES,
    KNOWLEDGE_BASES,
    OUTLINES,
    PAID,
    RECORDS,
)
from tests.flows.api_stack import Stack, Tenant, created, problem
from tests.flows.test_documents import HANDBOOK, base, read, upload

DERIVED_KINDS = (CHUNKS, OUTLINES, PAID, SEGMENTS, PENDING, CONTENTS)


def count_left(stack: Stack, tenant: Tenant) -> dict[str, int]:
    """Everything that derives from documents, by where it is."""
    left = {kind.collection: tenant.records.count(kind, Query()) for kind in DERIVED_KINDS}
    start = f"accounts/{tenant.account.id}/"
    return left | {
        "uploads": stack.deps.uploads.delete_prefix(start),
        "derived": stack.deps.derived.delete_prefix(start),
    }


def test_a_document_goes_with_everything_and_the_receipt_says_what(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    stack.ingest(acme, document)
    stack.run_tasks()
    done = acme.records.get(DOCUMENTS, document["id"])
    assert done is not None
    assert done.published is not None
    results = acme.records.count(PAID, Query())

    answer = acme.admin("DELETE", f"/v1/documents/{document['id']}")
    assert answer.status_code == 202
    receipt_id = created(answer)["receipt_id"]
    assert read(acme, document)["status"] == "deleting"
    running = created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))
    assert (running["status"], running["finished_at"]) == ("running", None)
    for change in (
        acme.admin("PATCH", f"/v1/documents/{document['id']}", {"title": "x"}),
        acme.admin("POST", f"/v1/documents/{document['id']}:retry"),
        acme.admin.upload(f"/v1/documents/{document['id']}/content", b"new", method="PUT"),
    ):
        assert problem(change) == (409, "conflict")

    assert stack.run_tasks() == ["done"]
    assert problem(acme.admin("GET", f"/v1/documents/{document['id']}")) == (404, "not_found")
    receipt = created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))
    assert receipt["status"] == "done"
    assert receipt["removed"] == {
        "documents": 1, "passages": done.published.passages, "chunks": 2, "outlines": 1,
        "objects": 1, "texts": 1, "model_results": results,
    }  # fmt: skip
    assert receipt["retained"]
    assert set(count_left(stack, acme).values()) == {0}


def test_asking_twice_gives_one_receipt(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    path = f"/v1/documents/{document['id']}"
    first, second = created(acme.admin("DELETE", path)), created(acme.admin("DELETE", path))
    assert first == second
    assert sorted(stack.run_tasks()) == ["done", "nothing"]
    assert created(acme.admin("GET", f"/v1/receipts/{first['receipt_id']}"))["removed"]["documents"] == 1


def test_what_goes_leaves_its_neighbours_alone(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    keep, go = upload(acme, base_id), upload(acme, base_id, b"# Other\n\nSomething else.", "other.md")
    for document in (keep, go):
        stack.ingest(acme, document)
    created(acme.admin("DELETE", f"/v1/documents/{go['id']}"))
    stack.run_tasks()
    assert read(acme, keep)["status"] == "ready"
    assert len(created(acme.admin("GET", f"/v1/documents/{keep['id']}/chunks"))["items"]) == 2
    assert (
        load(acme.records.get(MANIFESTS, base_id)).rows
        == acme.records.get(DOCUMENTS, keep["id"]).published.passages
    )  # type: ignore[union-attr]


def test_a_worker_that_still_writes_is_waited_for(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    lease = claim(acme.records, stack.deps.clock, document["id"], 1, lease_seconds=60, max_attempts=5)
    assert isinstance(lease, Lease)
    receipt_id = created(acme.admin("DELETE", f"/v1/documents/{document['id']}"))["receipt_id"]
    assert stack.run_tasks() == ["continues"]
    (again,) = stack.deps.queue.tasks
    assert again.at is not None
    assert again.at - stack.deps.clock.time > timedelta(seconds=50)
    stack.deps.clock.pass_seconds(61)
    assert stack.run_tasks() == ["done"]
    assert created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))["status"] == "done"
    assert stack.ingest(acme, document) == "nothing"
    assert acme.records.get(DOCUMENTS, document["id"]) is None


@pytest.mark.parametrize("subject", ["document", "knowledge base"])
@pytest.mark.parametrize("at", ["summaries", "publication"])
def test_a_worker_that_meets_the_delete_leaves_and_is_not_waited_for(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, subject: str, at: str
) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    document = upload(acme, base_id)
    path = f"/v1/documents/{document['id']}" if subject == "document" else f"/v1/knowledge-bases/{base_id}"
    answers: list[dict[str, Any]] = []

    def delete() -> None:
        if not answers:
            answers.append(created(acme.admin("DELETE", path)))
            assert stack.run_tasks() == ["continues"]

    if at == "summaries":
        summarize = stack.deps.summarizer.summarize
        monkeypatch.setattr(stack.deps.summarizer, "summarize", lambda asked: (delete(), summarize(asked))[1])
    else:
        monkeypatch.setattr(flow, "publish_content", lambda *given: (delete(), publish_content(*given)))

    assert stack.ingest(acme, document) == "lost"
    assert stack.run_tasks() == ["done"]
    receipt = created(acme.admin("GET", f"/v1/receipts/{answers[0]['receipt_id']}"))
    assert (receipt["status"], receipt["removed"]["documents"]) == ("done", 1)
    assert acme.records.count(DOCUMENTS, Query()) == 0
    assert set(count_left(stack, acme).values()) == {0}
    stack.deps.clock.pass_seconds(600)
    assert stack.run_tasks() == ["nothing"]  # the look that was planned for the end of the lease
    assert stack.ingest(acme, document) == "nothing"


def test_a_worker_that_was_replaced_does_not_speak_for_the_next(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    first = claim(acme.records, stack.deps.clock, document["id"], 1, lease_seconds=60, max_attempts=5)
    assert isinstance(first, Lease)
    assert first.leave() is False  # nobody deletes anything
    stack.deps.clock.pass_seconds(61)
    second = claim(acme.records, stack.deps.clock, document["id"], 1, lease_seconds=60, max_attempts=5)
    assert isinstance(second, Lease)
    created(acme.admin("DELETE", f"/v1/documents/{document['id']}"))
    assert first.leave() is False
    assert stack.run_tasks() == ["continues"]
    assert second.leave() is True
    stack.deps.queue.tasks.clear()
    created(acme.admin("DELETE", f"/v1/documents/{document['id']}"))
    assert stack.run_tasks() == ["done"]


class PulledPlug(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("writes_until_then", range(9))
def test_a_cascade_that_is_cut_off_goes_on(stack: Stack, writes_until_then: int) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    stack.ingest(acme, document)
    stack.deps.queue.tasks.clear()
    receipt_id = created(acme.admin("DELETE", f"/v1/documents/{document['id']}"))["receipt_id"]
    stack.deps.queue.tasks.clear()
    real, left = stack.deps.store, writes_until_then

    class Failing:
        """The account's store until the plug is pulled."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            nonlocal left
            if name in {"transact", "put_many", "delete_many"}:
                left -= 1
                if left < 0:
                    raise PulledPlug
            return getattr(self.inner, name)

    class Store:
        def of(self, account_id: str) -> Any:
            return Failing(real.of(account_id))

    stack.deps.store = Store()  # type: ignore[assignment]
    cut = False
    try:
        purge(stack.deps, acme.account.id, receipt_id)
    except PulledPlug:
        cut = True
    stack.deps.store = real
    assert purge(stack.deps, acme.account.id, receipt_id) == ("done" if cut else "nothing")
    receipt = created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))
    removed = {name: receipt["removed"][name] for name in ("documents", "chunks", "outlines")}
    assert removed == {"documents": 1, "chunks": 2, "outlines": 1}
    assert set(count_left(stack, acme).values()) == {0}


def test_a_knowledge_base_goes_with_all_that_is_in_it(stack: Stack) -> None:
    acme = stack.tenant()
    base_id, other = base(acme), base(acme, "Other")
    inside = [upload(acme, base_id), upload(acme, base_id, b"Second.", "b.txt")]
    copy = upload(acme, base_id, HANDBOOK, "copy.md")
    stays = upload(acme, other)
    for document in (*inside, stays):
        stack.ingest(acme, document)
    stack.run_tasks()

    receipt_id = created(acme.admin("DELETE", f"/v1/knowledge-bases/{base_id}"))["receipt_id"]
    for path in (
        f"/v1/knowledge-bases/{base_id}",
        f"/v1/knowledge-bases/{base_id}/documents",
        f"/v1/documents/{inside[0]['id']}",
        f"/v1/documents/{inside[0]['id']}/chunks",
    ):
        assert problem(acme.admin("GET", path)) == (404, "not_found")
    assert [d["id"] for d in created(acme.admin("GET", "/v1/documents"))["items"]] == [stays["id"]]
    refused = acme.admin.upload(f"/v1/knowledge-bases/{base_id}/documents", b"late")
    assert problem(refused) == (404, "not_found")
    assert created(acme.admin("DELETE", f"/v1/knowledge-bases/{base_id}"))["receipt_id"] == receipt_id
    # The name is free at once.
    created(acme.admin("POST", "/v1/knowledge-bases", {"name": "Handbook", "type": "page"}))

    assert "done" in stack.run_tasks()
    receipt = created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))
    removed = receipt["removed"]
    assert (receipt["status"], removed["documents"], removed["objects"]) == ("done", 3, 3)
    assert acme.records.get(KNOWLEDGE_BASES, base_id) is None
    assert acme.records.get(MANIFESTS, base_id) is None
    assert acme.records.get(DOCUMENTS, copy["id"]) is None
    assert read(acme, stays)["status"] == "ready"
    assert acme.records.count(CONTENTS, Query()) == 1
    created(acme.admin("DELETE", f"/v1/documents/{stays['id']}"))
    stack.run_tasks()
    assert set(count_left(stack, acme).values()) == {0}


def test_a_knowledge_base_whose_documents_are_in_work(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    busy, idle = upload(acme, base_id), upload(acme, base_id, b"Second.", "b.txt")
    claim(acme.records, stack.deps.clock, busy["id"], 1, lease_seconds=60, max_attempts=5)
    created(acme.admin("DELETE", f"/v1/knowledge-bases/{base_id}"))
    assert stack.run_tasks() == ["continues"]
    assert acme.records.get(DOCUMENTS, idle["id"]) is None
    waiting = acme.records.get(DOCUMENTS, busy["id"])
    assert waiting is not None
    assert waiting.status is DocumentStatus.DELETING
    stack.deps.clock.pass_seconds(61)
    assert stack.run_tasks() == ["done"]
    assert acme.records.count(DOCUMENTS, Query()) == 0


def test_records_go_with_their_knowledge_base(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme, "Form", type="form")
    for number in range(3):
        created(acme.admin("POST", f"/v1/knowledge-bases/{base_id}/records", {"values": {"n": number}}))
    receipt_id = created(acme.admin("DELETE", f"/v1/knowledge-bases/{base_id}"))["receipt_id"]
    stack.run_tasks()
    assert created(acme.admin("GET", f"/v1/receipts/{receipt_id}"))["removed"] == {"records": 3}
    assert acme.records.count(RECORDS, Query()) == 0
    assert acme.records.count(KNOWLEDGE_BASE_NAMES, Query()) == 0


def test_a_receipt_is_seen_by_who_could_see_its_subject(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    base_id = base(acme, "Secret", "engineering")
    document = upload(acme, base_id)
    receipts = [
        created(acme.engineering("DELETE", f"/v1/documents/{document['id']}"))["receipt_id"],
        created(acme.engineering("DELETE", f"/v1/knowledge-bases/{base_id}"))["receipt_id"],
    ]
    stack.run_tasks()
    for receipt_id in receipts:
        path = f"/v1/receipts/{receipt_id}"
        created(acme.engineering("GET", path))
        for stranger in (acme.marketing, globex.admin):
            assert problem(stranger("GET", path)) == (404, "not_found")
    again = f"/v1/knowledge-bases/{base_id}"
    assert problem(acme.marketing("DELETE", again)) == (404, "not_found")
