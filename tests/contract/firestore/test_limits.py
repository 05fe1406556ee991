"""Production's limits on documents, names and requests; each just met and just passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.bson import BSONObjectId

MIB = 1_048_576


def refused(write: Callable[[], Any], message: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=message):
        write()


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"leaf": 1}
    for _ in range(levels - 1):
        value = {"m": value}
    return value


def test_a_document_has_at_most_1_mib(db: firestore.Client) -> None:
    ref = db.document("letters/one")
    # name: 16 + "letters" 8 + "one" 4; 32 for the document; "text" 5; a string one more than its bytes
    room = MIB - (16 + 8 + 4) - 32 - 5 - 1
    half = room // 2
    # a second field so that neither value passes the limit of one: "attachment" 11
    text, rest = "x" * half, bytes(room - half - 11)
    ref.set({"text": text, "attachment": rest})
    refused(lambda: ref.set({"text": text, "attachment": rest + b"x"}), "1048577 bytes")
    assert len(ref.get().get("attachment")) == len(rest)


def test_one_value_has_at_most_1_mib_less_89_bytes(db: firestore.Client) -> None:
    refused(lambda: db.document("letters/one").set({"attachment": bytes(MIB - 88)}), "longer than 1048487")


def test_an_update_may_not_grow_a_document_over_the_limit(db: firestore.Client) -> None:
    ref = db.document("letters/one")
    ref.set({"text": "x" * 600_000})
    refused(lambda: ref.update({"attachment": bytes(600_000)}), "more than the maximum")
    assert set(ref.get().to_dict() or {}) == {"text"}


def test_a_request_has_at_most_10_mib(db: firestore.Client) -> None:
    def commit(count: int) -> None:
        batch = db.batch()
        for number in range(count):
            batch.set(db.document(f"letters/{number}"), {"attachment": bytes(MIB - 1_000)})
        batch.commit()

    commit(10)
    refused(lambda: commit(11), "exceeds the limit")


def test_a_batch_may_hold_more_than_500_writes(db: firestore.Client) -> None:
    batch = db.batch()
    for number in range(600):
        batch.set(db.document(f"letters/{number}"), {"n": number})
    assert len(batch.commit()) == 600


@pytest.mark.parametrize(
    "value", ["x" * 1_500, "ü" * 750, b"x" * 1_500, ["x" * 1_500], {"deep": "x" * 1_500}]
)
def test_an_indexed_value_has_at_most_1500_bytes(db: firestore.Client, value: Any) -> None:
    ref = db.document("cities/one")
    ref.set({"name": value})
    if isinstance(value, list):
        longer: Any = [value[0] + "y"]
    elif isinstance(value, dict):
        longer = {"deep": value["deep"] + "y"}
    else:
        longer = value + value[:1]
    refused(lambda: ref.set({"name": longer}), "longer than 1500 bytes")


def test_an_exempt_field_may_be_long(db: firestore.Client) -> None:
    db.document("letters/one").set({"text": {"parts": ["x" * 5_000], "rest": "y" * 5_000}})


@pytest.mark.parametrize(
    ("most", "over"),
    [
        ({f"f{n}": n for n in range(20_000)}, {f"f{n}": n for n in range(20_001)}),
        ({"a": list(range(40_000))}, {"a": list(range(40_001))}),
        ({"m": {f"f{n}": n for n in range(20_000)}}, {"m": {f"f{n}": n for n in range(20_001)}}),
    ],
    ids=["fields", "array", "map"],
)
def test_a_document_has_at_most_40000_index_entries(db: firestore.Client, most: Any, over: Any) -> None:
    ref = db.document("letters/one")
    ref.set(most)
    refused(lambda: ref.set(over), "index entries")
    ref.set({"text": over})  # exempt, so without entries


def test_equal_elements_of_an_array_have_one_entry(db: firestore.Client) -> None:
    db.document("letters/one").set({"a": [1] * 50_000})


def test_maps_and_arrays_nest_20_levels(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"top": nested(20)})
    refused(lambda: ref.set({"top": nested(21)}), "deeper than 20")
    ref.set({"top": [nested(19)]})
    refused(lambda: ref.set({"top": [nested(20)]}), "deeper than 20")
    ref.set({"top": nested(19) | {"list": [{"list": []}]}})


def test_arrays_do_not_hold_arrays(db: firestore.Client) -> None:
    refused(lambda: db.document("r/1").set({"a": [[1]]}), "holds an array")
    db.document("r/1").set({"a": [{"b": [1]}]})


@pytest.mark.parametrize("name", ["__reserved__", "____", "x" * 1_501, "ü" * 751])
def test_field_names(db: firestore.Client, name: str) -> None:
    refused(lambda: db.document("r/1").set({name: 1}), "field name")
    refused(lambda: db.document("r/1").set({"m": {name: 1}}), "field name")
    refused(lambda: db.document("r/1").set({"m": [{name: 1}]}), "field name")


def test_field_names_that_are_allowed(db: firestore.Client) -> None:
    data = {"x" * 1_500: 1, "__half": 2, "half__": 3, " ": 4, "a/b": 5, "日本": 6}
    db.document("r/1").set(data)
    assert db.document("r/1").get().to_dict() == data


@pytest.mark.parametrize("name", [".", "..", "__reserved__", "x" * 1_501])
def test_ids(db: firestore.Client, name: str) -> None:
    refused(lambda: db.document(f"r/{name}").set({}), "id")
    refused(lambda: db.document(f"{name}/d").set({}), "id")
    refused(lambda: db.document(f"r/{name}").get(), "id")


def test_ids_that_are_allowed(db: firestore.Client) -> None:
    for name in ("x" * 1_500, "...", "__half", "日本", "with space", "__id7__"):
        db.document(f"r/{name}").set({"n": 1})
    assert len(list(db.collection("r").stream())) == 6


def test_a_name_has_at_most_6_kib(db: firestore.Client) -> None:
    refused(lambda: db.document("/".join(["x" * 1_400] * 6)).set({}), "longer than 6144")


def test_subcollections_nest_100_deep(db: firestore.Client) -> None:
    db.document("/".join(["c", "d"] * 100)).set({})
    refused(lambda: db.document("/".join(["c", "d"] * 101)).set({}), "deeper than 100")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (firestore.GeoPoint(90.5, 0), "not on Earth"),
        (firestore.GeoPoint(0, -180.5), "not on Earth"),
        (BSONObjectId("507f191e810c19729de860ea"), "__oid__"),
    ],
)
def test_values_that_cannot_be_stored(db: firestore.Client, value: Any, message: str) -> None:
    refused(lambda: db.document("r/1").set({"v": value}), message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (types.Value(field_reference_value="a"), "field_reference_value"),
        (types.Value(function_value={"name": "f"}), "function_value"),
        (types.Value(reference_value="not/a/document"), "not a name"),
        (types.Value(), "cannot be stored"),
    ],
)
def test_values_that_only_the_wire_can_carry(db: firestore.Client, value: types.Value, message: str) -> None:
    write = types.Write(update={"name": db.document("r/1")._document_path, "fields": {"v": value}})
    request = {"database": db._database_string, "writes": [write]}
    refused(lambda: db._firestore_api.commit(request=request), message)
