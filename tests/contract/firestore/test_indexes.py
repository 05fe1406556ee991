"""Queries without their index fail and name it; the file is in the format that deployments take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.field_path import FieldPath

from emulators.firestore.server import FirestoreEmulator

DESCENDING = firestore.Query.DESCENDING


def where(field: str, op: str, value: Any) -> FieldFilter:
    return FieldFilter(field, op, value)


ALLOWED: dict[str, Any] = {
    "nothing": lambda c: c,
    "one order": lambda c: c.order_by("population", direction=DESCENDING),
    "one range": lambda c: c.where(filter=where("population", ">", 1)),
    "range and its order": lambda c: c.where(filter=where("population", ">", 1)).order_by(
        "population", direction=DESCENDING
    ),
    "equalities merge": lambda c: c.where(filter=And([where("a", "==", 1), where("b", "in", [1, 2])])),
    "array and equality merge": lambda c: c.where(
        filter=And([where("tags", "array_contains", "x"), where("b", "==", 1)])
    ),
    "equality and name": lambda c: c.where(filter=where("a", "==", 1)).order_by("__name__"),
    "order by an equal field": lambda c: c.where(filter=where("a", "==", 1)).order_by("a"),
    "listed": lambda c: c.where(filter=where("country", "==", "CH")).order_by("population"),
    "listed, descending": lambda c: c.where(filter=where("country", "in", ["CH"])).order_by(
        "population", direction=DESCENDING
    ),
    "two listed merge": lambda c: c.where(
        filter=And([where("country", "==", "CH"), where("capital", "==", True)])
    ).order_by("population"),
    "array listed": lambda c: c.where(
        filter=And([where("tags", "array_contains", "x"), where("population", ">", 1)])
    ),
    "two orders listed": lambda c: c.order_by("population").order_by("area", direction=DESCENDING),
    "each part of an or": lambda c: c.where(
        filter=Or([where("country", "==", "CH"), where("capital", "==", True)])
    ).order_by("population"),
    "sum over a listed one": lambda c: c.where(filter=where("country", "==", "CH")).sum("population"),
    "sum alone": lambda c: c.sum("population"),
}

REFUSED: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "equality and order": (
        lambda c: c.where(filter=where("a", "==", 1)).order_by("b"),
        [("a", "ASCENDING"), ("b", "ASCENDING")],
    ),
    "equality and range": (
        lambda c: c.where(filter=And([where("z", "==", 1), where("a", "==", 1), where("b", "<", 1)])),
        [("a", "ASCENDING"), ("z", "ASCENDING"), ("b", "ASCENDING")],
    ),
    "a direction that is not listed": (
        lambda c: c.where(filter=where("capital", "==", True)).order_by("population", direction=DESCENDING),
        [("capital", "ASCENDING"), ("population", "DESCENDING")],
    ),
    "orders in another sequence": (
        lambda c: c.order_by("area", direction=DESCENDING).order_by("population"),
        [("area", "DESCENDING"), ("population", "ASCENDING")],
    ),
    "array and order": (
        lambda c: c.where(filter=where("tags", "array_contains_any", ["x"])).order_by("area"),
        [("tags", "CONTAINS"), ("area", "ASCENDING")],
    ),
    "ranges on two fields": (
        lambda c: c.where(filter=And([where("b", ">", 1), where("a", ">", 1)])),
        [("a", "ASCENDING"), ("b", "ASCENDING")],
    ),
    "one part of an or": (
        lambda c: c.where(filter=Or([where("country", "==", "CH"), where("a", "==", 1)])).order_by(
            "population"
        ),
        [("a", "ASCENDING"), ("population", "ASCENDING")],
    ),
    "the name the other way": (
        lambda c: c.order_by("population").order_by("__name__", direction=DESCENDING),
        [("population", "ASCENDING"), ("__name__", "DESCENDING")],
    ),
    "sum of another field": (
        lambda c: c.where(filter=where("a", "==", 1)).sum("b"),
        [("a", "ASCENDING"), ("b", "ASCENDING")],
    ),
}


def run(query: Any) -> None:
    list(query.stream())


@pytest.mark.parametrize("name", ALLOWED)
def test_a_query_with_its_indexes_runs(db: firestore.Client, name: str) -> None:
    run(ALLOWED[name](db.collection("cities")))


@pytest.mark.parametrize("name", REFUSED)
def test_a_query_without_its_index_names_it(db: firestore.Client, name: str) -> None:
    build, fields = REFUSED[name]
    with pytest.raises(exceptions.FailedPrecondition) as caught:
        run(build(db.collection("cities")))
    assert missing(caught.value) == {
        "collectionGroup": "cities",
        "queryScope": "COLLECTION",
        "fields": [
            {"fieldPath": path, "arrayConfig" if mode == "CONTAINS" else "order": mode}
            for path, mode in fields
        ],
    }


def missing(error: exceptions.GoogleAPICallError) -> Any:
    """The entry that an error asks for."""
    assert "infra/firestore.indexes.json: " in error.message
    return json.loads(error.message.partition(".json: ")[2])


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_error_asks_for_is_enough(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, _ = REFUSED[name]
    file = tmp_path / "firestore.indexes.json"
    content: dict[str, Any] = {"indexes": [], "fieldOverrides": []}
    for _ in range(3):  # an OR may lack one for each part
        file.write_text(json.dumps(content))
        with FirestoreEmulator(indexes=file) as emulator:
            monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
            client = firestore.Client(project="p")
            try:
                run(build(client.collection("cities")))
            except exceptions.FailedPrecondition as error:
                content["indexes"].append(missing(error))
            else:
                return
            finally:
                client.close()
    pytest.fail("the query still lacks an index")


def test_a_collection_group_needs_an_index_of_its_own(db: firestore.Client) -> None:
    group = db.collection_group("landmarks")
    run(group)
    run(group.order_by("kind"))
    with pytest.raises(exceptions.FailedPrecondition) as caught:
        run(group.where(filter=where("name", "==", "x")))
    assert missing(caught.value) == {
        "collectionGroup": "landmarks",
        "fieldPath": "name",
        "indexes": [{"order": "ASCENDING", "queryScope": "COLLECTION_GROUP"}],
    }


def test_an_exempt_field_cannot_be_asked_for(db: firestore.Client) -> None:
    letters = db.collection("letters")
    for query in (letters.order_by("text"), letters.where(filter=where("text.part", "==", 1))):
        with pytest.raises(exceptions.FailedPrecondition):
            run(query)


def test_a_query_over_all_collections_goes_by_name_only(db: firestore.Client) -> None:
    everything = db.collection("cities").recursive()
    with pytest.raises(exceptions.InvalidArgument, match="__name__"):
        run(everything.where(filter=where("a", "==", 1)))
    run(everything.select([FieldPath.document_id()]))


def test_the_switch_lets_every_query_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with FirestoreEmulator(indexes=None, strict_indexes=False) as emulator:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
        client = firestore.Client(project="p")
        client.document("cities/one").set({"a": 1, "b": "x" * 5_000})
        for build, _ in REFUSED.values():
            run(build(client.collection("cities")))
        client.close()


def test_the_file_of_the_project_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with FirestoreEmulator() as emulator:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
        client = firestore.Client(project="p")
        client.document("accounts/a/chunks/c").set({"text": "x" * 40_000})
        documents = client.collection("accounts/a/documents")
        run(
            documents.where(filter=where("status", "==", "ready")).order_by(
                "created_at", direction=DESCENDING
            )
        )
        client.close()
