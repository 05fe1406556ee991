"""Documents: writes with their preconditions and masks, reads in their several forms."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core import exceptions
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.vector import Vector


def test_every_type_comes_back_as_it_was_written(db: firestore.Client) -> None:
    written = {
        "null": None,
        "bool": True,
        "int": -(2**63),
        "float": 1.5,
        "infinity": -math.inf,
        "time": datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC),
        "string": "grüße 日本",
        "bytes": b"\x00\xff",
        "ref": db.document("a/b/c/d"),
        "geo": firestore.GeoPoint(48.2, -16.4),
        "array": [1, "two", {"three": [3]}],
        "vector": Vector([1.0, 2.5]),
        "map": {"deep": {"deeper": {}}, "empty": []},
    }
    ref = db.document("rooms/one")
    ref.set({**written, "nan": math.nan})
    read = ref.get().to_dict()
    assert read is not None
    assert math.isnan(read.pop("nan"))
    assert read == written


def test_time_is_kept_in_microseconds(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.set({"at": DatetimeWithNanoseconds(2026, 3, 1, 12, nanosecond=123_456_789, tzinfo=UTC)})
    assert ref.get().get("at").microsecond == 123_456


def test_the_times_of_a_document_are_those_of_its_commits(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    created = ref.set({"a": 1})
    changed = ref.update({"a": 2})
    snapshot = ref.get()
    assert snapshot.create_time == created.update_time
    assert snapshot.update_time == changed.update_time
    assert snapshot.update_time > snapshot.create_time
    assert snapshot.read_time >= snapshot.update_time


def test_create_refuses_what_exists(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.create({"a": 1})
    with pytest.raises(exceptions.AlreadyExists):
        ref.create({"a": 2})
    assert ref.get().to_dict() == {"a": 1}


def test_set_replaces_and_merges(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.set({"a": 1, "map": {"x": 1, "y": 2}})
    ref.set({"b": 2})
    assert ref.get().to_dict() == {"b": 2}
    ref.set({"map": {"x": 1}, "b": 3}, merge=True)
    ref.set({"map": {"y": 2}}, merge=True)
    assert ref.get().to_dict() == {"b": 3, "map": {"x": 1, "y": 2}}
    ref.set({"map": {"x": 9, "y": 9}, "b": 9}, merge=["map.x"])
    assert ref.get().to_dict() == {"b": 3, "map": {"x": 9, "y": 2}}


def test_update_changes_paths_and_deletes_fields(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    with pytest.raises(exceptions.NotFound):
        ref.update({"a": 1})
    ref.set({"a": {"b": 1, "c": 2}, "odd.name": 1, "gone": 1})
    ref.update(
        {
            "a.b": 5,
            "a.d.e": 6,
            FieldPath("odd.name").to_api_repr(): 7,
            FieldPath("with `tick").to_api_repr(): 8,
            "gone": firestore.DELETE_FIELD,
        }
    )
    assert ref.get().to_dict() == {"a": {"b": 5, "c": 2, "d": {"e": 6}}, "odd.name": 7, "with `tick": 8}


def test_a_path_and_a_part_of_it_cannot_both_be_updated(db: firestore.Client) -> None:
    document = types.Document(name=f"{db._database_string}/documents/rooms/one")
    mask = types.DocumentMask(field_paths=["a", "a.b"])
    with pytest.raises(exceptions.InvalidArgument, match=r'"a" and "a\.b"'):
        db._firestore_api.commit(
            request={"database": db._database_string, "writes": [{"update": document, "update_mask": mask}]}
        )


def test_update_may_require_a_version(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    first = ref.set({"a": 1})
    ref.update({"a": 2}, option=db.write_option(last_update_time=first.update_time))
    with pytest.raises(exceptions.FailedPrecondition):
        ref.update({"a": 3}, option=db.write_option(last_update_time=first.update_time))
    assert ref.get().to_dict() == {"a": 2}


def test_delete_may_require_the_document_or_a_version(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.delete()
    with pytest.raises(exceptions.NotFound):
        ref.delete(option=db.write_option(exists=True))
    first = ref.set({"a": 1})
    ref.set({"a": 2})
    with pytest.raises(exceptions.FailedPrecondition):
        ref.delete(option=db.write_option(last_update_time=first.update_time))
    ref.delete(option=db.write_option(exists=True))
    assert not ref.get().exists


def test_a_write_that_changes_nothing_keeps_the_update_time(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    first = ref.set({"a": 1, "b": math.nan})
    assert ref.set({"b": math.nan, "a": 1}).update_time == first.update_time
    assert ref.set({"a": 1.0, "b": math.nan}).update_time > first.update_time


def test_a_batch_is_atomic_and_in_order(db: firestore.Client) -> None:
    one, two = db.document("rooms/one"), db.document("rooms/two")
    batch = db.batch()
    batch.set(one, {"a": 1})
    batch.update(one, {"b": 2})
    batch.create(two, {"c": 3})
    results = batch.commit()
    assert len(results) == 3
    assert len({result.update_time for result in results}) == 1
    assert one.get().to_dict() == {"a": 1, "b": 2}

    failing = db.batch()
    failing.delete(one)
    failing.create(two, {"c": 4})
    with pytest.raises(exceptions.AlreadyExists):
        failing.commit()
    assert one.get().exists


def test_get_all_reads_together_and_reports_what_is_missing(db: firestore.Client) -> None:
    refs = [db.document(f"rooms/{name}") for name in ("a", "b", "c")]
    refs[0].set({"x": 1, "y": 2})
    refs[2].set({"x": 3, "y": {"z": 4}})
    found = {s.id: s for s in db.get_all([*refs, refs[0]], field_paths=["x", "y.z"])}
    assert found["a"].to_dict() == {"x": 1}
    assert not found["b"].exists
    assert found["c"].to_dict() == {"x": 3, "y": {"z": 4}}
    assert len({s.read_time for s in found.values()}) == 1


def test_a_mask_reads_only_its_fields(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.set({"a": {"b": 1, "c": 2}, "d": 3})
    assert ref.get(field_paths=["a.c", "missing"]).to_dict() == {"a": {"c": 2}}


def test_read_time_shows_the_past(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.set({"n": 1})
    before = ref.get().read_time
    ref.set({"n": 2})
    ref.delete()
    after_delete = ref.get().read_time
    ref.set({"n": 3})
    assert ref.get(read_time=before).to_dict() == {"n": 1}
    assert not ref.get(read_time=after_delete).exists
    assert [s.to_dict() for s in db.collection("rooms").stream(read_time=before)] == [{"n": 1}]
    with pytest.raises(exceptions.FailedPrecondition, match="too old"):
        ref.get(read_time=datetime.now(UTC) - timedelta(hours=2))
    with pytest.raises(exceptions.InvalidArgument, match="future"):
        ref.get(read_time=datetime.now(UTC) + timedelta(hours=1))


def test_the_single_document_calls_of_the_api(db: firestore.Client) -> None:
    """The client library sends commits; its generated layer also offers these."""
    api, root = db._firestore_api, f"{db._database_string}/documents"
    document = types.Document(fields={"a": types.Value(integer_value=1), "b": types.Value(integer_value=2)})
    made = api.create_document(
        request={"parent": root, "collection_id": "rooms", "document_id": "one", "document": document}
    )
    assert made.name == f"{root}/rooms/one"
    with pytest.raises(exceptions.AlreadyExists):
        api.create_document(
            request={"parent": root, "collection_id": "rooms", "document_id": "one", "document": document}
        )
    named = api.create_document(request={"parent": root, "collection_id": "rooms", "document": document})
    assert len(named.name.rpartition("/")[2]) == 20
    read = api.get_document(request={"name": made.name, "mask": {"field_paths": ["a"]}})
    assert dict(read.fields) == {"a": types.Value(integer_value=1)}
    changed = types.Document(name=made.name, fields={"a": types.Value(integer_value=5)})
    updated = api.update_document(
        request={"document": changed, "update_mask": {"field_paths": ["a"]}, "mask": {"field_paths": ["b"]}}
    )
    assert dict(updated.fields) == {"b": types.Value(integer_value=2)}
    api.delete_document(request={"name": made.name, "current_document": {"exists": True}})
    with pytest.raises(exceptions.NotFound):
        api.get_document(request={"name": made.name})
