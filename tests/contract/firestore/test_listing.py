"""Listing documents and collections, deleting trees, bulk writes."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.bulk_writer import BulkWriterOptions, SendMode


def test_documents_are_listed_with_missing_parents(db: firestore.Client) -> None:
    for path in ("rooms/b", "rooms/a", "rooms/gone/seats/1/legs/2", "halls/h"):
        db.document(path).set({"n": 1})
    assert [ref.id for ref in db.collection("rooms").list_documents()] == ["a", "b", "gone"]
    gone = db.document("rooms/gone")
    assert not gone.get().exists
    assert [c.id for c in gone.collections()] == ["seats"]
    db.document("rooms/gone/seats/1/legs/2").delete()
    assert [ref.id for ref in db.collection("rooms").list_documents()] == ["a", "b"]
    assert list(gone.collections()) == []


def test_pages_of_documents(db: firestore.Client) -> None:
    names = [f"{n:03d}" for n in range(25)]
    for name in names:
        db.document(f"rooms/{name}").set({"n": 1, "m": 2})
    request = {
        "parent": f"{db._database_string}/documents",
        "collection_id": "rooms",
        "page_size": 10,
    }
    pages = [page.documents for page in db._firestore_api.list_documents(request=request).pages]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [d.name.rpartition("/")[2] for page in pages for d in page] == names
    found = db._firestore_api.list_documents(
        request={
            "parent": f"{db._database_string}/documents",
            "collection_id": "rooms",
            "mask": {"field_paths": ["m"]},
        }
    )
    assert all(set(document.fields) == {"m"} for document in found)


def test_collections_of_the_root_and_of_a_document(db: firestore.Client) -> None:
    for path in ("rooms/a", "halls/h/rooms/r", "attics/x/boxes/b/toys/t"):
        db.document(path).set({"n": 1})
    assert [c.id for c in db.collections()] == ["attics", "halls", "rooms"]
    before = db.document("rooms/a").get().read_time
    db.document("rooms/a").delete()
    assert [c.id for c in db.collections()] == ["attics", "halls"]
    assert [c.id for c in db.collections(read_time=before)] == ["attics", "halls", "rooms"]


def test_recursive_delete_takes_everything_below(db: firestore.Client) -> None:
    for path in ("rooms/a", "rooms/a/seats/1", "rooms/gone/seats/2/legs/3", "roomsx/keep", "halls/h"):
        db.document(path).set({"n": 1})
    assert db.recursive_delete(db.collection("rooms")) == 3
    assert [c.id for c in db.collections()] == ["halls", "roomsx"]
    db.document("halls/h/rooms/r").set({"n": 1})
    db.recursive_delete(db.document("halls/h"))
    assert [c.id for c in db.collections()] == ["roomsx"]


def test_bulk_writer_reports_each_write(db: firestore.Client) -> None:
    db.document("rooms/taken").set({"n": 0})
    writer = db.bulk_writer(BulkWriterOptions(mode=SendMode.serial))
    failed: list[Any] = []
    done: list[Any] = []
    writer.on_write_result(lambda ref, result, _: done.append((ref.id, result.update_time is not None)))
    writer.on_write_error(lambda error, _: failed.append((error.operation.reference.id, error.code)) or False)
    for number in range(45):
        writer.set(db.document(f"rooms/{number}"), {"n": number})
    writer.create(db.document("rooms/taken"), {"n": 1})
    writer.close()
    assert len(done) == 45
    assert failed == [("taken", 6)]
    assert db.collection("rooms").count().get()[0][0].value == 46


def test_batch_write_is_not_atomic_and_takes_a_document_once(db: firestore.Client) -> None:
    root = f"{db._database_string}/documents"
    good = types.Write(update={"name": f"{root}/rooms/a"})
    bad = types.Write(update={"name": f"{root}/rooms/b"}, current_document={"exists": True})
    response = db._firestore_api.batch_write(request={"database": db._database_string, "writes": [bad, good]})
    assert [status.code for status in response.status] == [5, 0]
    assert db.document("rooms/a").get().exists
    with pytest.raises(exceptions.InvalidArgument, match="twice"):
        db._firestore_api.batch_write(request={"database": db._database_string, "writes": [good, good]})


def test_a_foreign_page_token_is_refused(db: firestore.Client) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="page token"):
        list(
            db._firestore_api.list_documents(
                request={
                    "parent": f"{db._database_string}/documents",
                    "collection_id": "rooms",
                    "page_token": "?",
                }
            )
        )
