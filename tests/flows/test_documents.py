"""Documents through the API: brought in, processed, read, changed, copied."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
import requests

from shared.domain.accounts import Plan
from shared.domain.errors import ModelUnavailableError
from shared.records import ACCOUNT
from tests.flows.api_stack import Stack, Tenant, created, problem

MIB = 1024 * 1024
HANDBOOK = (
    "# Leave\n\n" + "Annual leave is twenty five days. " * 150 + "\n\n"
    "# Travel\n\n" + "Trains are booked by the office. " * 200 + "\n"
).encode()


def base(tenant: Tenant, name: str = "Handbook", *departments: str, type: str = "files") -> str:  # noqa: A002
    ids = [tenant.departments[one] for one in departments]
    body = {"name": name, "type": type, "department_ids": ids}
    return str(created(tenant.admin("POST", "/v1/knowledge-bases", body))["id"])


def upload(
    tenant: Tenant, base_id: str, data: bytes = HANDBOOK, name: str = "handbook.md", **fields: str
) -> Any:
    return created(tenant.admin.upload(f"/v1/knowledge-bases/{base_id}/documents", data, name, **fields))


def read(tenant: Tenant, document: Any) -> Any:
    return created(tenant.admin("GET", f"/v1/documents/{document['id']}"))


def test_a_file_becomes_a_document_and_can_be_read(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme), title="Hand book", metadata='{"year": 2026, "draft": false}')
    assert document["status"] == "uploaded"
    assert document["sha256"] == hashlib.sha256(HANDBOOK).hexdigest()
    assert set(document) == {
        "id", "knowledge_base_id", "title", "source", "status", "progress", "attempts", "error", "coverage",
        "metadata", "language", "sha256", "text_sha256", "bytes", "characters", "version", "duplicate_of",
        "refresh_interval_days", "last_refreshed_at", "next_refresh_at", "last_refresh", "archived",
        "effective_from", "effective_to", "supersedes", "superseded_by", "upload_expires_at", "created_at",
        "updated_at", "spent",
    }  # fmt: skip
    assert (document["version"], document["bytes"], document["title"]) == (None, len(HANDBOOK), "Hand book")
    assert document["metadata"] == {"year": 2026, "draft": False}
    assert document["source"] == {
        "kind": "upload", "filename": "handbook.md", "content_type": "text/markdown", "url": None,
    }  # fmt: skip

    assert stack.ingest(acme, document) == "published"
    done = read(acme, document)
    assert (done["status"], done["version"], done["characters"]) == ("ready", 1, len(HANDBOOK.decode()))

    one = f"/v1/documents/{document['id']}"
    text = created(acme.admin("GET", f"{one}/text"))
    assert text["text"].startswith("# Leave")
    first = created(acme.admin("GET", f"{one}/chunks?limit=1"))
    second = created(acme.admin("GET", f"{one}/chunks?limit=1&cursor={first['next_cursor']}"))
    assert second["next_cursor"] is None
    chunks = first["items"] + second["items"]
    assert [chunk["ordinal"] for chunk in chunks] == [0, 1]
    assert all(text["text"][c["start"] : c["end"]] == c["text"] for c in chunks)
    assert all(chunk["summary"].startswith("In short") for chunk in chunks)
    assert problem(acme.admin("GET", f"{one}/chunks?cursor=-1")) == (400, "invalid_request")


def test_a_passage_is_read_by_its_id_also_after_a_merge(stack: Stack) -> None:
    from shared.index.segment import SEGMENTS, unpack
    from shared.ports import Query

    acme = stack.tenant()
    base_id = base(acme)
    document = upload(acme, base_id)
    for number in range(18):  # enough small segments that they are merged
        other = upload(
            acme, base_id, f"Note {number}: the code is {number * 7919}.".encode(), f"{number}.txt"
        )
        stack.ingest(acme, other)
    stack.ingest(acme, document)

    def passages() -> dict[str, tuple[str, int, int]]:
        found = {}
        for segment in acme.records.every(SEGMENTS, Query()):
            places = map(unpack(segment).where, range(segment.rows))
            mine = (place for place in places if place.document_id == document["id"])
            found |= {place.passage_id: (place.chunk_id, place.start, place.end) for place in mine}
        return found

    before = passages()
    stack.run_tasks()
    owners = {segment.owner for segment in acme.records.every(SEGMENTS, Query())}
    assert "" in owners
    for passage_id, (chunk_id, start, end) in before.items():
        passage = created(acme.admin("GET", f"/v1/documents/{document['id']}/passages/{passage_id}"))
        assert (passage["chunk_id"], passage["start"], passage["end"]) == (chunk_id, start, end)
        assert passage["text"] in HANDBOOK.decode()
    missing = acme.admin("GET", f"/v1/documents/{document['id']}/passages/psg_none")
    assert problem(missing) == (404, "not_found")
    other_id = created(acme.admin("GET", "/v1/documents?limit=1"))["items"][0]["id"]
    elsewhere = acme.admin("GET", f"/v1/documents/{other_id}/passages/{next(iter(before))}")
    assert other_id != document["id"]
    assert problem(elsewhere) == (404, "not_found")


def test_what_is_not_whole_yet_has_no_chunks(stack: Stack) -> None:
    acme = stack.tenant()
    one = f"/v1/documents/{upload(acme, base(acme))['id']}"
    for part in ("chunks", "text", "passages/psg_1"):
        assert problem(acme.admin("GET", f"{one}/{part}")) == (404, "not_found")


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"", 400, "empty_file"),
        (b"x" * (10 * MIB + 1), 413, "too_large"),
        (b"x" * (12 * MIB), 413, "too_large"),
    ],
)
def test_refused_at_once_and_kept_as_failed(stack: Stack, data: bytes, status: int, code: str) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    refused = acme.admin.upload(f"/v1/knowledge-bases/{base_id}/documents", data, "big.txt")
    assert problem(refused) == (status, code)
    (document,) = created(acme.admin("GET", "/v1/documents"))["items"]
    assert (document["status"], document["error"]["code"], document["sha256"]) == ("failed", code, None)
    assert stack.deps.uploads.delete_prefix(f"accounts/{acme.account.id}/") == 0
    again = acme.admin("POST", f"/v1/documents/{document['id']}:retry")
    assert problem(again) == (409, "conflict")


def test_exactly_ten_megabytes_are_taken(stack: Stack) -> None:
    acme = stack.tenant()
    assert upload(acme, base(acme), b"x" * (10 * MIB))["bytes"] == 10 * MIB


def test_what_the_file_itself_shows_ends_on_the_record(stack: Stack) -> None:
    acme = stack.tenant()
    program = b"MZ\x90\x00" + bytes(2_000)
    document = upload(acme, base(acme), program, "report.pdf")
    assert stack.ingest(acme, document) == "failed"
    assert read(acme, document)["error"]["code"] == "unsupported_type"
    assert stack.deps.uploads.delete_prefix(f"accounts/{acme.account.id}/") == 0
    again = acme.admin("POST", f"/v1/documents/{document['id']}:retry")
    assert problem(again) == (409, "conflict")


def test_only_what_has_ended_badly_is_run_again(stack: Stack) -> None:
    acme = stack.tenant()
    _fail_at_once(stack)
    document = upload(acme, base(acme))
    retry = f"/v1/documents/{document['id']}:retry"
    assert stack.ingest(acme, document) == "failed"
    assert read(acme, document)["error"]["code"] == "model_unavailable"
    created(acme.admin("POST", retry))
    assert stack.run_tasks() == ["published", "tidied"]
    assert problem(acme.admin("POST", retry)) == (409, "conflict")


def test_names_of_files_are_cleaned(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme), b"text", "..\\..\\evil\x07/name.tar.md")
    assert (document["source"]["filename"], document["title"]) == ("name.tar.md", "name.tar")


@pytest.mark.parametrize(
    "metadata",
    [
        *("[]", "{", '{"a": {}}', '{"a": [1]}', '{"__a": 1}', '{"a b": 1}', '{"a": 1e999}', '{"a": null}'),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_metadata_is_flat_and_typed(stack: Stack, metadata: str) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme)}/documents"
    refused = acme.admin.upload(path, b"text", metadata=metadata)
    assert problem(refused) == (400, "invalid_request")
    assert refused.json is not None
    assert refused.json["errors"][0]["field"].startswith("metadata")


def test_title_metadata_and_archiving_are_changed(stack: Stack) -> None:
    acme = stack.tenant()
    one = f"/v1/documents/{upload(acme, base(acme))['id']}"
    changes = {"title": "New", "metadata": {"a": 1, "b": 1.5, "c": "x", "d": True}, "archived": True}
    changed = created(acme.admin("PATCH", one, changes))
    assert {name: changed[name] for name in changes} == changes
    assert [type(value) for value in changed["metadata"].values()] == [int, float, str, bool]
    assert created(acme.admin("PATCH", one, {"archived": False}))["title"] == "New"
    for wrong in ({"title": ""}, {"status": "ready"}, {"sha256": "x"}, {"metadata": {"a": [1]}}):
        assert problem(acme.admin("PATCH", one, wrong)) == (400, "invalid_request")


def test_lists_by_status_and_knowledge_base(stack: Stack) -> None:
    acme = stack.tenant()
    first, second = base(acme, "One"), base(acme, "Two")
    ids = [upload(acme, one, f"text {i}".encode())["id"] for i, one in enumerate((first, second, first))]
    acme.admin.upload(f"/v1/knowledge-bases/{second}/documents", b"")
    assert [d["id"] for d in created(acme.admin("GET", "/v1/documents?status=uploaded"))["items"]] == ids[
        ::-1
    ]
    of_first = created(acme.admin("GET", f"/v1/documents?knowledge_base_id={first}&status=uploaded"))["items"]
    assert [d["id"] for d in of_first] == [ids[2], ids[0]]
    page = created(acme.admin("GET", f"/v1/knowledge-bases/{first}/documents?limit=1"))
    rest = created(acme.admin("GET", f"/v1/knowledge-bases/{first}/documents?cursor={page['next_cursor']}"))
    assert [d["id"] for d in page["items"] + rest["items"]] == [ids[2], ids[0]]
    failed = created(acme.admin("GET", f"/v1/knowledge-bases/{second}/documents?status=failed"))["items"]
    assert [d["error"]["code"] for d in failed] == ["empty_file"]
    assert problem(acme.admin("GET", "/v1/documents?status=odd")) == (400, "invalid_request")


def test_the_client_sends_the_file_itself(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    path = f"/v1/knowledge-bases/{base_id}/documents"
    answer = acme.admin(
        "POST", path, {"filename": "h.md", "size": len(HANDBOOK), "content_type": "text/markdown"}
    )
    assert answer.status_code == 201
    made = created(answer)
    document, target = made["document"], made["upload"]
    assert (document["status"], document["upload_expires_at"]) == ("awaiting_upload", target["expires_at"])
    assert problem(acme.admin("POST", f"/v1/documents/{document['id']}:retry")) == (409, "conflict")
    sent = requests.request(
        target["method"], target["url"], data=HANDBOOK, headers=target["headers"], timeout=10
    )
    assert sent.ok
    assert stack.ingest(acme, document) == "published"
    assert read(acme, document)["bytes"] == len(HANDBOOK)
    for size, code in ((0, "empty_file"), (10 * MIB + 1, "too_large")):
        assert problem(acme.admin("POST", path, {"filename": "h.md", "size": size}))[1] == code
    assert problem(acme.admin("POST", path, {"path": "h.md"})) == (400, "invalid_request")


def test_a_new_version_replaces_the_old_one_when_it_is_whole(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    stack.ingest(acme, document)
    content = f"/v1/documents/{document['id']}/content"
    same = created(acme.admin.upload(content, HANDBOOK, method="PUT"))
    assert (same["status"], same["version"]) == ("ready", 1)

    changed = HANDBOOK.replace(b"twenty five", b"thirty")
    pending = created(acme.admin.upload(content, changed, "new.md", method="PUT"))
    assert (pending["status"], pending["version"], pending["source"]["filename"]) == ("uploaded", 1, "new.md")
    assert "twenty five" in created(acme.admin("GET", f"/v1/documents/{document['id']}/text"))["text"]
    assert stack.ingest(acme, document, revision=2) == "published"
    assert "thirty" in created(acme.admin("GET", f"/v1/documents/{document['id']}/text"))["text"]

    broken = created(acme.admin.upload(content, b"%PDF-1.7 broken", "new.pdf", method="PUT"))
    assert broken["status"] == "uploaded"
    assert stack.ingest(acme, document, revision=3) == "failed"
    kept = read(acme, document)
    assert (kept["status"], kept["version"]) == ("failed", 2)
    assert "thirty" in created(acme.admin("GET", f"/v1/documents/{document['id']}/text"))["text"]
    for data, code in ((b"", "empty_file"), (b"x" * (10 * MIB + 1), "too_large")):
        assert problem(acme.admin.upload(content, data, method="PUT"))[1] == code
    assert read(acme, document) == kept

    # The good version again is a new revision: it mends what failed.
    created(acme.admin.upload(content, changed, "new.md", method="PUT"))
    assert stack.ingest(acme, document, revision=4) == "published"
    assert (read(acme, document)["status"], read(acme, document)["version"]) == ("ready", 4)


def test_the_same_bytes_are_one_document_and_copies(stack: Stack) -> None:
    acme = stack.tenant()
    base_id, other_base = base(acme), base(acme, "Other")
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    copy = upload(acme, base_id, HANDBOOK, "copy.md")
    assert (copy["status"], copy["duplicate_of"]) == ("duplicate", first["id"])
    assert stack.ingest(acme, copy) == "nothing"
    elsewhere = upload(acme, other_base)
    paid = len(stack.deps.embedder.inputs)
    assert stack.ingest(acme, elsewhere) == "published"
    assert len(stack.deps.embedder.inputs) == paid
    assert (read(acme, elsewhere)["status"], read(acme, elsewhere)["duplicate_of"]) == ("ready", None)


def test_two_uploads_of_the_same_bytes_that_race(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first, second = upload(acme, base_id), upload(acme, base_id)  # neither is processed yet
    outcomes = {stack.ingest(acme, first), stack.ingest(acme, second)}
    assert outcomes == {"published", "duplicate"}
    states = {read(acme, one)["status"] for one in (first, second)}
    assert states == {"ready", "duplicate"}


def test_deleting_the_first_makes_the_oldest_copy_whole(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    copies = [upload(acme, base_id, HANDBOOK, f"{i}.md") for i in range(3)]
    created(acme.admin("DELETE", f"/v1/documents/{first['id']}"))
    stack.run_tasks()
    heir, *others = [read(acme, copy) for copy in copies]
    assert (heir["status"], heir["duplicate_of"], heir["version"]) == ("ready", None, 1)
    assert {(one["status"], one["duplicate_of"]) for one in others} == {("duplicate", heir["id"])}
    # And the bytes are the heir's now.
    assert upload(acme, base_id)["duplicate_of"] == heir["id"]


def test_copies_of_a_content_that_was_replaced_are_made_whole(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    copy = upload(acme, base_id, HANDBOOK, "copy.md")
    content = f"/v1/documents/{first['id']}/content"
    created(acme.admin.upload(content, HANDBOOK + b"\nMore.\n", method="PUT"))
    stack.ingest(acme, first, revision=2)
    stack.run_tasks()
    assert (read(acme, copy)["status"], read(acme, copy)["duplicate_of"]) == ("ready", None)
    # What another document has is no new version of this one.
    assert problem(acme.admin.upload(content, HANDBOOK, method="PUT")) == (409, "conflict")


def test_a_version_that_failed_holds_nothing_back(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    stack.ingest(acme, first)
    other = HANDBOOK + b"\nMore.\n"
    created(acme.admin.upload(f"/v1/documents/{first['id']}/content", other, method="PUT"))
    _fail_at_once(stack)
    assert stack.ingest(acme, first, revision=2) == "failed"
    # What readers see of it is still its own; what failed is not.
    assert upload(acme, base_id, HANDBOOK, "copy.md")["duplicate_of"] == first["id"]
    again = upload(acme, base_id, other, "other.md")
    assert again["status"] == "uploaded"
    assert stack.ingest(acme, again) == "published"
    created(acme.admin("POST", f"/v1/documents/{first['id']}:retry"))
    assert "duplicate" in stack.run_tasks()
    assert read(acme, first)["version"] == 1


def test_a_copy_of_what_failed_can_be_run_by_itself(stack: Stack) -> None:
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id)
    copy = upload(acme, base_id, HANDBOOK, "copy.md")
    _fail_at_once(stack)
    assert stack.ingest(acme, first) == "failed"
    assert stack.ingest(acme, copy) == "published"
    # Now the bytes are the second one's, and the first is its copy.
    created(acme.admin("POST", f"/v1/documents/{first['id']}:retry"))
    assert "duplicate" in stack.run_tasks()
    assert read(acme, first)["duplicate_of"] == copy["id"]


def test_documents_go_into_files_only_and_need_the_plan(stack: Stack) -> None:
    acme = stack.tenant()
    page = base(acme, "Page", type="page")
    refused = acme.admin.upload(f"/v1/knowledge-bases/{page}/documents", b"text")
    assert problem(refused) == (400, "invalid_request")
    base_id = base(acme)
    _downgrade(stack, acme)
    refused = acme.admin.upload(f"/v1/knowledge-bases/{base_id}/documents", b"text")
    assert problem(refused) == (403, "plan_required")


def test_the_quota_of_documents_is_held(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    from shared.tenancy import plans

    small = {**plans.LIMITS, Plan.PRO: replace(plans.LIMITS[Plan.PRO], documents=2)}
    monkeypatch.setattr(plans, "LIMITS", small)
    acme = stack.tenant()
    base_id = base(acme)
    first = upload(acme, base_id, b"1")
    upload(acme, base_id, b"2")
    path = f"/v1/knowledge-bases/{base_id}/documents"
    assert problem(acme.admin.upload(path, b"3")) == (403, "quota_exceeded")
    assert problem(acme.admin("POST", path, {"filename": "a", "size": 3})) == (403, "quota_exceeded")
    created(acme.admin("DELETE", f"/v1/documents/{first['id']}"))
    created(acme.admin.upload(path, b"3"))  # what is on its way out does not count


def _downgrade(stack: Stack, tenant: Tenant) -> None:
    tenant.records.put_many(ACCOUNT, [replace(tenant.account, plan=Plan.FREE)])
    stack.deps.clock.pass_seconds(5)  # keys are known for three seconds


def _fail_at_once(stack: Stack) -> None:
    """The next call of the embedding model fails, and there is no second attempt."""
    stack.deps.settings = replace(stack.deps.settings, max_attempts=1)
    stack.deps.embedder.faults = [ModelUnavailableError("down")]
