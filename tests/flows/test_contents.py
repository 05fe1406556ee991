"""Who stands for certain bytes, decided between many at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.library.contents import claim_content, release_content
from shared.records import DOCUMENTS
from tests.flows.api_stack import Stack
from tests.flows.test_documents import base, read, upload

SHA256 = "ab" * 32


def test_of_many_claims_at_once_one_holds(stack: Stack) -> None:
    acme = stack.tenant()
    base_id, elsewhere = base(acme), base(acme, "Other")

    def claim(number: int) -> tuple[str, str | None]:
        document = acme.records.get(DOCUMENTS, ids[number])
        assert document is not None
        return document.id, claim_content(acme.records, document, SHA256)

    ids = [upload(acme, base_id, f"{number}".encode())["id"] for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        claimed = dict(pool.map(claim, range(6)))
    (winner,) = [document for document, holder in claimed.items() if holder is None]
    assert set(claimed.values()) == {None, winner}
    other = acme.records.get(DOCUMENTS, upload(acme, elsewhere, b"x")["id"])
    assert other is not None
    assert claim_content(acme.records, other, SHA256) is None


def test_handing_over_can_be_cut_off_before_the_work_is_enqueued(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    copies = [upload(acme, base_id) for _ in range(2)]
    acme.admin("DELETE", f"/v1/documents/{first['id']}")
    stack.deps.queue.tasks.clear()

    def fail(task: object) -> bool:
        raise ConnectionError

    monkeypatch.setattr(stack.deps.queue, "enqueue", fail)
    with pytest.raises(ConnectionError):
        release_content(stack.deps, acme.account.id, first["id"])
    monkeypatch.undo()
    assert read(acme, copies[0])["status"] == "uploaded"
    release_content(stack.deps, acme.account.id, first["id"])
    assert stack.run_tasks() == ["published", "tidied"]
    heir, other = (read(acme, copy) for copy in copies)
    assert (heir["status"], heir["duplicate_of"]) == ("ready", None)
    assert (other["status"], other["duplicate_of"]) == ("duplicate", heir["id"])


def test_a_document_that_moved_on_keeps_what_it_has_now(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    copy = upload(acme, base_id)
    assert release_content(stack.deps, acme.account.id, first["id"]) == 0
    assert read(acme, copy)["duplicate_of"] == first["id"]
