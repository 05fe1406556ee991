"""Writes whose first call died on the way, and were repeated with their idempotency key."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from urllib3 import encode_multipart_formdata
from werkzeug.test import TestResponse

from shared.domain.errors import TransientError
from shared.http.idempotency import ANSWERED
from shared.library.objects import RevisionRef, source_name
from shared.ports import Query
from shared.records import DOCUMENTS
from tests.flows.api_stack import Stack, Tenant, created, problem
from tests.flows.test_documents import HANDBOOK, base, read

KEY = {"Idempotency-Key": "k1"}


class PulledPlug(BaseException):
    """Stands for the end of the process."""


def send(stack: Stack, tenant: Tenant, method: str, path: str) -> TestResponse:
    """The handbook as a form, with the key."""
    form, kind = encode_multipart_formdata({"file": ("handbook.md", HANDBOOK)}, boundary="b")
    headers = {"Authorization": f"Bearer {tenant.admin.token}", "Content-Type": kind, **KEY}
    return stack.client.open(path, method=method, data=form, headers=headers)


def die(tenant: Tenant, call: Callable[[], object]) -> None:
    """A call that is killed cannot free its key: it is left as it was while the call ran."""
    with pytest.raises(PulledPlug):
        call()
    (left,) = tenant.records.every(ANSWERED, Query())
    tenant.records.put_many(ANSWERED, [replace(left, running_until=left.expire_at)])
    refused = call()
    assert isinstance(refused, TestResponse)
    assert problem(refused) == (409, "conflict")
    assert refused.headers["Retry-After"] == "1"
    tenant.records.put_many(ANSWERED, [left])


def killed_at(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, *, after: bool) -> None:
    """The next call of `target.name` is the last that the process makes, or the first that it does not."""
    real = getattr(target, name)

    def pull(*given: Any, **named: Any) -> None:
        monkeypatch.undo()
        if after:
            real(*given, **named)
        raise PulledPlug

    monkeypatch.setattr(target, name, pull)


@pytest.mark.parametrize("after", [False, True])
def test_an_upload_that_died_is_finished_and_not_made_twice(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme)}/documents"
    killed_at(monkeypatch, stack.deps.uploads, "write", after=after)
    die(acme, lambda: send(stack, acme, "POST", path))
    (left,) = acme.records.every(DOCUMENTS, Query())
    assert left.status == "uploaded"

    document = created(send(stack, acme, "POST", path))
    assert document["id"] == left.id
    assert stack.deps.uploads.read(left.object_name) == HANDBOOK
    assert stack.ingest(acme, document) == "published"
    assert acme.records.count(DOCUMENTS, Query()) == 1
    assert created(send(stack, acme, "POST", path))["id"] == left.id


def test_an_upload_that_storage_did_not_take_is_repeated_in_place(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme)}/documents"

    def fail(*_: Any, **__: Any) -> None:
        raise TransientError("Storage did not answer.")

    with monkeypatch.context() as broken:
        broken.setattr(stack.deps.uploads, "write", fail)
        assert problem(send(stack, acme, "POST", path)) == (503, "internal")
    (failed,) = acme.records.every(DOCUMENTS, Query())
    assert failed.status == "failed"
    document = created(send(stack, acme, "POST", path))
    assert (document["id"], document["status"], document["error"]) == (failed.id, "uploaded", None)
    assert stack.ingest(acme, document) == "published"


def test_what_was_read_meanwhile_is_not_touched(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme)}/documents"
    killed_at(monkeypatch, stack.deps.uploads, "write", after=True)
    die(acme, lambda: send(stack, acme, "POST", path))
    (left,) = acme.records.every(DOCUMENTS, Query())
    assert stack.ingest(acme, {"id": left.id}) == "published"
    assert created(send(stack, acme, "POST", path))["status"] == "ready"


@pytest.mark.parametrize("after", [False, True])
def test_a_new_version_that_died_is_finished(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    acme = stack.tenant()
    document = created(acme.admin.upload(f"/v1/knowledge-bases/{base(acme)}/documents", b"Old.", "a.md"))
    stack.ingest(acme, document)
    path = f"/v1/documents/{document['id']}/content"
    killed_at(monkeypatch, stack.deps.uploads, "write", after=after)
    die(acme, lambda: send(stack, acme, "PUT", path))
    assert read(acme, document)["status"] == "uploaded"

    created(send(stack, acme, "PUT", path))
    name = source_name(RevisionRef(acme.account.id, document["id"], 2))
    assert stack.deps.uploads.read(name) == HANDBOOK
    assert stack.ingest(acme, document, revision=2) == "published"
    assert (read(acme, document)["version"], read(acme, document)["bytes"]) == (2, len(HANDBOOK))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/knowledge-bases", {"name": "Once", "type": "files"}),
        ("/v1/knowledge-bases/{base}/documents", {"filename": "a.md", "size": 10}),
        ("/v1/knowledge-bases/{base}/documents", {"url": "https://example.com/a"}),
    ],
)
def test_what_was_made_without_an_answer_is_found_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    acme = stack.tenant()
    path = path.format(base=base(acme))
    render = "shared.http.app.render"

    def pull(*_: Any) -> None:
        monkeypatch.undo()
        raise PulledPlug

    monkeypatch.setattr(render, pull)
    die(acme, lambda: acme.admin("POST", path, body, **KEY))
    before = len(created(acme.admin("GET", path))["items"])
    made = created(acme.admin("POST", path, body, **KEY))
    listed = created(acme.admin("GET", path))["items"]
    assert len(listed) == before
    assert made.get("document", made)["id"] in json.dumps(listed)


def test_a_document_that_came_again_can_be_deleted_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme)}/documents"
    killed_at(monkeypatch, stack.deps.uploads, "write", after=True)
    die(acme, lambda: send(stack, acme, "POST", path))
    (left,) = acme.records.every(DOCUMENTS, Query())
    for _ in range(2):
        receipt = created(acme.admin("DELETE", f"/v1/documents/{left.id}"))["receipt_id"]
        assert "done" in stack.run_tasks()
        assert created(acme.admin("GET", f"/v1/receipts/{receipt}"))["removed"]["documents"] == 1
        assert acme.records.count(DOCUMENTS, Query()) == 0
        again = send(stack, acme, "POST", path)
        assert created(again)["id"] == left.id
        acme.records.delete_many(ANSWERED, [])
