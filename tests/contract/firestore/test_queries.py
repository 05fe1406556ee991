"""Queries: every operator, order, cursor and scope."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.vector import Vector

NAME = FieldPath.document_id()
DESCENDING = firestore.Query.DESCENDING

CITIES = {
    "bern": {"country": "CH", "population": 134, "area": 51, "capital": True, "tags": ["river", "old"]},
    "basel": {"country": "CH", "population": 173, "area": 24, "capital": False, "tags": ["river", "fair"]},
    "graz": {"country": "AT", "population": 291, "area": 127, "capital": False, "tags": ["old"]},
    "wien": {
        "country": "AT",
        "population": 1920,
        "area": 414,
        "capital": True,
        "tags": ["river", "old", "fair"],
    },
    "vaduz": {"country": "LI", "population": 5, "area": 17, "capital": True, "tags": []},
    "nowhere": {"country": None, "population": math.nan},
}


@pytest.fixture
def cities(db: firestore.Client) -> firestore.CollectionReference:
    for name, data in CITIES.items():
        db.document(f"cities/{name}").set(data)
    return db.collection("cities")


def ids(query: Any) -> list[str]:
    return [snapshot.id for snapshot in query.stream()]


def put(collection: firestore.CollectionReference, values: Iterable[Any]) -> None:
    """One document a value, in the field v; ids count from 00."""
    for number, value in enumerate(values):
        collection.document(f"{number:02d}").set({"v": value})


@pytest.mark.parametrize(
    ("op", "value", "found"),
    [
        ("==", 134, ["bern"]),
        ("==", 134.0, ["bern"]),
        ("!=", 134, ["nowhere", "vaduz", "basel", "graz", "wien"]),
        ("<", 173, ["nowhere", "vaduz", "bern"]),
        ("<=", 173, ["nowhere", "vaduz", "bern", "basel"]),
        (">", 173, ["graz", "wien"]),
        (">=", 173, ["basel", "graz", "wien"]),
        ("in", [5, 291, 7], ["graz", "vaduz"]),
        ("not-in", [5, 291], ["nowhere", "bern", "basel", "wien"]),
    ],
)
def test_comparisons(cities: firestore.CollectionReference, op: str, value: Any, found: list[str]) -> None:
    assert ids(cities.where(filter=FieldFilter("population", op, value))) == found


def test_array_conditions(cities: firestore.CollectionReference) -> None:
    assert ids(cities.where(filter=FieldFilter("tags", "array_contains", "fair"))) == ["basel", "wien"]
    any_of = FieldFilter("tags", "array_contains_any", ["fair", "old"])
    assert ids(cities.where(filter=any_of)) == ["basel", "bern", "graz", "wien"]


def test_null_and_nan(cities: firestore.CollectionReference) -> None:
    assert ids(cities.where(filter=FieldFilter("country", "==", None))) == ["nowhere"]
    assert ids(cities.where(filter=FieldFilter("country", "!=", None))) == [
        "graz",
        "wien",
        "basel",
        "bern",
        "vaduz",
    ]
    assert ids(cities.where(filter=FieldFilter("population", "==", math.nan))) == ["nowhere"]
    not_nan = FieldFilter("population", "!=", math.nan)
    assert ids(cities.where(filter=not_nan)) == ["vaduz", "bern", "basel", "graz", "wien"]


def test_null_and_nan_are_not_found_among_other_values(db: firestore.Client) -> None:
    """As the backend answers the SDKs' own integration tests."""
    values = db.collection("values")
    put(values, [98101, [98101], {"code": 500}, None, math.nan, [None], [math.nan]])
    assert ids(values.where(filter=FieldFilter("v", "in", [None, math.nan]))) == []
    assert ids(values.where(filter=FieldFilter("v", "in", [98101, None]))) == ["00"]
    assert ids(values.where(filter=FieldFilter("v", "in", [[98101], {"code": 500}]))) == ["01", "02"]
    assert ids(values.where(filter=FieldFilter("v", "not-in", [None]))) == []
    assert ids(values.where(filter=FieldFilter("v", "not-in", [98101]))) == ["04", "05", "06", "01", "02"]
    assert ids(values.where(filter=FieldFilter("v", "!=", 98101))) == ["04", "05", "06", "01", "02"]
    assert ids(values.where(filter=FieldFilter("v", "array_contains_any", [None, math.nan, 98101]))) == ["01"]


def test_ranges_match_only_their_own_type(db: firestore.Client) -> None:
    values = db.collection("values")
    put(values, [1, "1", True, b"1", datetime(2026, 1, 1, tzinfo=UTC), [1], {"a": 1}])
    assert ids(values.where(filter=FieldFilter("v", ">=", ""))) == ["01"]
    assert ids(values.where(filter=FieldFilter("v", ">", False))) == ["02"]
    assert ids(values.where(filter=FieldFilter("v", "<", [2]))) == ["05"]


def test_and_or(cities: firestore.CollectionReference) -> None:
    swiss = FieldFilter("country", "==", "CH")
    capital = FieldFilter("capital", "==", True)
    small = FieldFilter("population", "<", 100)
    assert ids(cities.where(filter=And([swiss, capital]))) == ["bern"]
    assert ids(cities.where(filter=Or([swiss, capital]))) == ["basel", "bern", "vaduz", "wien"]
    nested = And(
        [FieldFilter("tags", "array_contains", "river"), Or([swiss, FieldFilter("country", "==", "AT")])]
    )
    assert ids(cities.where(filter=nested)) == ["basel", "bern", "wien"]
    assert ids(cities.where(filter=Or([capital, small])).order_by("population")) == [
        "nowhere",
        "vaduz",
        "bern",
        "wien",
    ]


def test_an_or_with_a_range_leaves_out_what_lacks_its_field(db: firestore.Client) -> None:
    """The range orders by its field, in every part of the OR."""
    values = db.collection("values")
    values.document("both").set({"a": 1, "b": 1})
    values.document("only_b").set({"b": 1})
    query = values.where(filter=Or([FieldFilter("a", ">", 5), FieldFilter("b", "==", 1)]))
    assert ids(query) == ["both"]


def test_order_and_limit(cities: firestore.CollectionReference) -> None:
    assert ids(cities.order_by("population", direction=DESCENDING).limit(2)) == ["wien", "graz"]
    assert ids(cities.order_by("population").offset(1).limit(2)) == ["vaduz", "bern"]
    assert ids(cities.order_by("area").order_by("population")) == ["vaduz", "basel", "bern", "graz", "wien"]
    assert ids(cities.order_by(NAME, direction=DESCENDING).limit(1)) == ["wien"]
    assert ids(cities.limit(0)) == []


def test_equal_values_follow_by_name_in_the_direction_of_the_last_order(db: firestore.Client) -> None:
    values = db.collection("values")
    put(values, [1, 2, 1, 2])
    assert ids(values.order_by("v")) == ["00", "02", "01", "03"]
    assert ids(values.order_by("v", direction=DESCENDING)) == ["03", "01", "02", "00"]


def test_values_of_all_types_order_as_documented(db: firestore.Client) -> None:
    ordered = [
        None,
        False,
        True,
        math.nan,
        -math.inf,
        -1.5,
        0,
        1,
        1.5,
        2**53,
        2**53 + 1,
        math.inf,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=UTC),
        "",
        "A",
        "a",
        "ab",
        "ä",
        "\uff5e",
        "\U00010000",
        b"",
        b"\x00",
        b"\xff",
        db.document("a/b"),
        db.document("a/b/c/d"),
        db.document("a/c"),
        firestore.GeoPoint(-10, 20),
        firestore.GeoPoint(10, -20),
        firestore.GeoPoint(10, 20),
        [],
        [1],
        [1, 2],
        [2],
        ["a"],
        Vector([9.0]),
        Vector([1.0, 1.0]),
        Vector([1.0, 2.0]),
        {},
        {"a": 1},
        {"a": 1, "b": 0},
        {"a": 2},
        {"b": 0},
    ]
    values = db.collection("values")
    for number in reversed(range(len(ordered))):
        values.document(f"{number:02d}").set({"v": ordered[number]})
    expected = [f"{number:02d}" for number in range(len(ordered))]
    assert ids(values.order_by("v")) == expected
    assert ids(values.order_by("v", direction=DESCENDING)) == expected[::-1]


def test_cursors(cities: firestore.CollectionReference) -> None:
    by_size = cities.order_by("population")
    assert ids(by_size.start_at({"population": 173})) == ["basel", "graz", "wien"]
    assert ids(by_size.start_after({"population": 173})) == ["graz", "wien"]
    assert ids(by_size.end_at({"population": 134})) == ["nowhere", "vaduz", "bern"]
    assert ids(by_size.end_before({"population": 134})) == ["nowhere", "vaduz"]
    down = cities.order_by("population", direction=DESCENDING)
    assert ids(down.start_after({"population": 291}).limit(2)) == ["basel", "bern"]


def test_cursors_on_several_fields_and_on_a_snapshot(cities: firestore.CollectionReference) -> None:
    for name in ("x", "y", "z"):
        cities.document(name).set({"population": 134, "area": 51})
    query = cities.order_by("population").order_by("area", direction=DESCENDING)
    assert ids(query.start_at({"population": 134, "area": 51})) == [
        "z",
        "y",
        "x",
        "bern",
        "basel",
        "graz",
        "wien",
    ]
    assert ids(query.start_after({"population": 134})) == ["basel", "graz", "wien"]
    snapshot = cities.document("y").get()
    assert ids(query.start_after(snapshot)) == ["x", "bern", "basel", "graz", "wien"]
    assert ids(query.end_at(snapshot)) == ["vaduz", "z", "y"]
    by_name = cities.order_by(NAME)
    assert ids(by_name.start_at(snapshot)) == ["y", "z"]
    assert ids(
        by_name.start_at({NAME: cities.document("wien")}).end_before({NAME: cities.document("z")})
    ) == [
        "wien",
        "x",
        "y",
    ]


def test_limit_to_last(cities: firestore.CollectionReference) -> None:
    query = cities.order_by("population").limit_to_last(2)
    assert [snapshot.id for snapshot in query.get()] == ["graz", "wien"]


def test_projection(cities: firestore.CollectionReference) -> None:
    first = next(iter(cities.select(["country", "missing"]).stream()))
    assert (first.id, first.to_dict()) == ("basel", {"country": "CH"})
    assert next(iter(cities.select([NAME]).stream())).to_dict() == {}


def test_conditions_on_the_name(cities: firestore.CollectionReference) -> None:
    wien, bern = cities.document("wien"), cities.document("bern")
    assert ids(cities.where(filter=FieldFilter(NAME, "==", wien))) == ["wien"]
    assert ids(cities.where(filter=FieldFilter(NAME, "in", [wien, bern]))) == ["bern", "wien"]
    assert ids(cities.where(filter=FieldFilter(NAME, ">", cities.document("v")))) == ["vaduz", "wien"]
    assert ids(cities.where(filter=FieldFilter(NAME, "not-in", [wien, bern]))) == [
        "basel",
        "graz",
        "nowhere",
        "vaduz",
    ]


def test_numeric_ids_come_first_and_by_number(db: firestore.Client) -> None:
    values = db.collection("values")
    for name in ("a", "__id10__", "__id9__", "__id-3__", "10"):
        values.document(name).set({})
    assert ids(values) == ["__id-3__", "__id9__", "__id10__", "10", "a"]


def test_nested_fields(db: firestore.Client) -> None:
    people = db.collection("people")
    people.document("a").set({"name": {"first": "Ada", "last.name": "L"}})
    people.document("b").set({"name": {"first": "Bo"}})
    assert ids(people.where(filter=FieldFilter("name.first", "==", "Bo"))) == ["b"]
    quoted = FieldPath("name", "last.name").to_api_repr()
    assert ids(people.where(filter=FieldFilter(quoted, "==", "L"))) == ["a"]
    assert ids(people.where(filter=FieldFilter("name", "==", {"first": "Bo"}))) == ["b"]


def test_collection_groups(db: firestore.Client) -> None:
    for path in (
        "landmarks/z",
        "cities/sf/landmarks/bridge",
        "cities/la/landmarks/museum",
        "cities/la/parks/p",
    ):
        db.document(path).set({"kind": path[-1]})
    group = db.collection_group("landmarks")
    assert ids(group) == ["museum", "bridge", "z"]
    assert ids(group.where(filter=FieldFilter("kind", "==", "m"))) == ["museum"]
    assert ids(group.order_by("kind").limit(2)) == ["bridge", "museum"]
    first = db.document("cities/sf").collection("landmarks")
    assert ids(first) == ["bridge"]


def test_a_recursive_query_goes_through_every_subcollection(db: firestore.Client) -> None:
    for path in (
        "cities/sf",
        "cities/sf/landmarks/bridge",
        "cities/la/parks/p/trees/t",
        "citiesx/no",
        "other/o",
    ):
        db.document(path).set({"a": 1})
    assert [s.reference.path for s in db.collection("cities").recursive().stream()] == [
        "cities/la/parks/p/trees/t",
        "cities/sf",
        "cities/sf/landmarks/bridge",
    ]


def test_partitions_cover_a_collection_group_once(db: firestore.Client) -> None:
    names = [f"shards/{n % 3}/rows/{n:03d}" for n in range(50)]
    batch = db.batch()
    for name in names:
        batch.set(db.document(name), {"n": 1})
    batch.commit()
    group = db.collection_group("rows")
    partitions = list(group.get_partitions(4))
    assert len(partitions) == 5
    found = [s.reference.path for partition in partitions for s in partition.query().stream()]
    assert found == [s.reference.path for s in group.order_by(NAME).stream()]
    assert sorted(found) == sorted(names)


def test_an_empty_result_has_a_read_time(db: firestore.Client) -> None:
    assert list(db.collection("none").get()) == []
    response = list(
        db._firestore_api.run_query(
            request={
                "parent": f"{db._database_string}/documents",
                "structured_query": {"from_": [{"collection_id": "none"}]},
            }
        )
    )
    assert len(response) == 1
    assert response[0].read_time is not None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda c: c.where(filter=FieldFilter("v", "in", list(range(31)))), "30"),
        (lambda c: c.where(filter=FieldFilter("v", "array_contains_any", list(range(31)))), "30"),
        (
            lambda c: c.where(filter=FieldFilter("a", "in", list(range(6)))).where(
                filter=FieldFilter("b", "in", list(range(6)))
            ),
            "36 disjunctions",
        ),
        (lambda c: c.where(filter=Or([FieldFilter("v", "==", n) for n in range(31)])), "31 disjunctions"),
        (lambda c: c.where(filter=FieldFilter("v", "not-in", list(range(11)))), "at most 10"),
        (lambda c: c.where(filter=FieldFilter("v", "in", [])), "not empty"),
        (
            lambda c: c.where(filter=FieldFilter("v", "not-in", [1])).where(
                filter=FieldFilter("w", "in", [1])
            ),
            "not-in",
        ),
        (
            lambda c: c.where(filter=FieldFilter("v", "!=", 1)).where(filter=FieldFilter("w", "!=", 1)),
            "only one of",
        ),
        (
            lambda c: c.where(filter=FieldFilter("v", "array_contains", 1)).where(
                filter=FieldFilter("w", "array_contains", 1)
            ),
            "only one array-contains",
        ),
        (
            lambda c: c.where(filter=FieldFilter("v", ">", 1)).order_by(NAME),
            "before __name__",
        ),
    ],
)
def test_what_production_refuses(db: firestore.Client, build: Any, message: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=message):
        ids(build(db.collection("values")))


def test_thirty_disjunctions_are_allowed(db: firestore.Client) -> None:
    values = db.collection("values")
    put(values, range(40))
    assert len(ids(values.where(filter=FieldFilter("v", "in", list(range(30)))))) == 30


def test_inequalities_on_eleven_fields_are_refused(db: firestore.Client) -> None:
    query = db.collection("values")
    filters = [FieldFilter(f"f{n}", ">", 0) for n in range(11)]
    with pytest.raises(exceptions.InvalidArgument, match="at most 10 fields"):
        ids(query.where(filter=And(filters)))
