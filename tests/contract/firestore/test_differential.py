"""Random documents and queries: the emulator, through the real client, answers what the oracle works out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.vector import Vector
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulators.firestore.server import FirestoreEmulator
from tests.contract.firestore import oracle
from tests.contract.firestore.oracle import (
    INEQUALITIES,
    NAME,
    All,
    Any_,
    Condition,
    Cursor,
    Doc,
    Numbers,
    Point,
    Ref,
    Spec,
)

DATASETS = 550
QUERIES = 4  # for each set of documents: 2,200 cases

FIELDS = ("a", "b", "m.x")
IDS = ("d0", "d1", "d10", "d2", "é", "Z")

SCALARS = (
    None,
    False,
    True,
    math.nan,
    -math.inf,
    -1,
    -0.0,
    0,
    1,
    1.0,
    1.5,
    2**53,
    2**53 + 1,
    float(2**53),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "",
    "a",
    "aa",
    "b",
    "\uff5e",
    "\U00010000",
    b"",
    b"a",
    Ref("c/d0"),
    Ref("c/d0/c/d0"),
    Point(1.0, 2.0),
    Point(1.0, -2.0),
)

scalars = st.sampled_from(SCALARS)
maps = st.dictionaries(st.sampled_from(["x", "y"]), scalars, max_size=2)
lists = st.lists(st.one_of(scalars, maps), max_size=3)
vectors = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=2).map(lambda n: Numbers(tuple(n)))
values = st.one_of(scalars, scalars, scalars, lists, maps, vectors)


Values = st.SearchStrategy[Any]
"""Of one case: a handful, so that documents and operands meet."""

FAMILIES: tuple[tuple[Any, ...], ...] = (
    (math.nan, -math.inf, -1, -0.0, 0, 1, 1.0, 1.5, 2**53, 2**53 + 1, float(2**53)),
    (None, math.nan, 0, False, [None], [math.nan], [0], {"x": None}),
    ("", "a", "aa", "b", "\uff5e", "\U00010000", b"", b"a", ["a"]),
    (Point(1.0, 2.0), Point(1.0, -2.0), Point(-1.0, 2.0), Ref("c/d0"), Ref("c/d0/c/d0"), Ref("c/d1")),
    ([], [1], [1, 2], [1.0], [2], ["a"], {}, {"x": 1}, {"x": 1, "y": 0}, {"y": 0}, {"x": "a"}),
    (Numbers((1.0,)), Numbers((0.0, 1.0)), Numbers((1.0, 0.0)), [1.0], {"x": 1}, True, 1),
)
"""Values that are easily mistaken for one another."""

mixed = st.lists(values, min_size=3, max_size=7).map(tuple)
pools = st.one_of(st.sampled_from(FAMILIES), mixed).map(st.sampled_from)


@st.composite
def datasets(draw: st.DrawFn, pool: Values) -> list[Doc]:
    """Documents of one collection "c" and of collections "c" below its documents; some lack some fields."""
    places = [f"c/{name}" for name in IDS] + [f"c/{IDS[0]}/c/{name}" for name in IDS[:3]]
    chosen = draw(st.lists(st.sampled_from(places), min_size=4, max_size=len(places), unique=True))
    inner = st.fixed_dictionaries({"x": pool})
    data = st.fixed_dictionaries({"a": pool}, optional={"b": pool, "m": st.one_of(inner, inner, pool)})
    rest = st.fixed_dictionaries({}, optional={"b": pool, "m": inner})
    return [Doc(path, draw(st.one_of(data, data, data, rest))) for path in chosen]


def bare(value: Any) -> Any:
    """A value that a range or array-contains can take."""
    return 1 if oracle.is_nothing(value) or isinstance(value, list) else value


@st.composite
def atoms(draw: st.DrawFn, pool: Values) -> Condition:
    path = draw(st.sampled_from((*FIELDS, *FIELDS, NAME)))
    names = st.sampled_from([Ref(f"c/{name}") for name in IDS])
    operand = names if path == NAME else pool
    op = draw(
        st.sampled_from(
            ("==", "!=", "<", "<=", ">", ">=", "in", "not-in", "array_contains", "array_contains_any")
        )
    )
    if path == NAME and op.startswith("array"):
        op = "=="
    if op.startswith("array"):
        operand = st.one_of(operand, scalars)
    if op in {"in", "not-in", "array_contains_any"}:
        return Condition(path, op, draw(st.lists(operand, min_size=1, max_size=3)))
    value = draw(operand)
    return Condition(path, op, value if op in {"==", "!="} else bare(value))


def parts_of(atom: Values) -> Values:
    several = st.lists(atom, min_size=2, max_size=3).map(tuple)
    return st.one_of(several.map(Any_), several.map(Any_), several.map(All))


def is_allowed(where: Any) -> bool:
    """The combinations that production accepts."""
    found = oracle.conditions(where)
    negative = [c for c in found if c.op in {"!=", "not-in"}]
    if len(negative) > 1:
        return False
    has_or = "Any_" in repr(where) or any(c.op in {"in", "array_contains_any"} for c in found)
    if negative and negative[0].op == "not-in" and has_or:
        return False
    return sum(c.op.startswith("array") for c in found) <= 1


def filters(pool: Values) -> Values:
    atom = atoms(pool)
    tree = parts_of(st.one_of(atom, parts_of(atom)))
    return st.one_of(atom, atom, parts_of(atom), tree, atom, st.none()).filter(is_allowed)


@st.composite
def specs(draw: st.DrawFn, pool: Values) -> Spec:
    where = draw(filters(pool))
    unequal = {c.path for c in oracle.conditions(where) if c.op in INEQUALITIES}
    paths = draw(st.lists(st.sampled_from(FIELDS), max_size=2, unique=True))
    if unequal - {NAME} <= set(paths) and draw(st.booleans()):
        paths.append(NAME)
    orders = tuple((path, draw(st.booleans())) for path in paths)
    group = draw(st.booleans())
    start = draw(st.none() | cursors(pool, paths)) if orders else None
    end = draw(st.none() | cursors(pool, paths)) if orders else None
    offset = draw(st.sampled_from((0, 0, 0, 1)))
    kind = draw(st.sampled_from(("none", "limit", "last")))
    count = draw(st.integers(1, 4))
    if kind == "last" and orders and start is None and end is None:
        return Spec(where, orders, last=count, group=group)
    return Spec(where, orders, start, end, offset, count if kind == "limit" else None, group=group)


@st.composite
def cursors(draw: st.DrawFn, pool: Values, paths: list[str]) -> Cursor:
    """A position: values for the first of the orders."""
    names = st.sampled_from([Ref(f"c/{name}") for name in IDS])
    used = paths[: draw(st.integers(1, len(paths)))]
    return Cursor(tuple(draw(names if path == NAME else pool) for path in used), draw(st.booleans()))


@st.composite
def cases(draw: st.DrawFn, queries: int) -> tuple[list[Doc], list[Spec]]:
    """Documents and queries over the same few values."""
    pool = draw(pools)
    return draw(datasets(pool)), [draw(specs(pool)) for _ in range(queries)]


# --- to the client ------------------------------------------------------------------------------


class Asked:
    """A database that holds these documents and no others."""

    def __init__(self, relaxed: Relaxed, docs: list[Doc]) -> None:
        emulator, client = relaxed
        self._client = client
        emulator.clear(PROJECT)
        batch = client.batch()
        for doc in docs:
            batch.set(client.document(doc.path), self._value(doc.data))
        batch.commit()

    def query(self, spec: Spec) -> Any:
        query: Any = self._client.collection_group("c") if spec.group else self._client.collection("c")
        if spec.where is not None:
            query = query.where(filter=self._filter(spec.where))
        for path, descending in spec.orders:
            query = query.order_by(path, direction="DESCENDING" if descending else "ASCENDING")
        if spec.start is not None:
            place = self._place(spec, spec.start)
            query = query.start_at(place) if spec.start.inclusive else query.start_after(place)
        if spec.end is not None:
            place = self._place(spec, spec.end)
            query = query.end_at(place) if spec.end.inclusive else query.end_before(place)
        if spec.offset:
            query = query.offset(spec.offset)
        if spec.limit is not None:
            query = query.limit(spec.limit)
        return query if spec.last is None else query.limit_to_last(spec.last)

    def _place(self, spec: Spec, cursor: Cursor) -> list[Any]:
        return [self._value(value) for value in cursor.values]

    def _filter(self, where: Any) -> Any:
        if isinstance(where, Condition):
            return FieldFilter(where.path, where.op, self._value(where.value))
        parts = [self._filter(part) for part in where.parts]
        return And(parts) if isinstance(where, All) else Or(parts)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self._client.document(value.path)
        if isinstance(value, Point):
            return firestore.GeoPoint(value.latitude, value.longitude)
        if isinstance(value, Numbers):
            return Vector(value.values)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {name: self._value(item) for name, item in value.items()}
        return value


PROJECT = "random"

Relaxed = tuple[FirestoreEmulator, firestore.Client]


@pytest.fixture(scope="module")
def relaxed() -> Iterator[Relaxed]:
    """Without an index for each random query."""
    with (
        FirestoreEmulator(indexes=None, strict_indexes=False) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
        client = firestore.Client(project=PROJECT)
        yield emulator, client
        client.close()


SETTINGS = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow],
}


@settings(max_examples=DATASETS, **SETTINGS)
@given(case=cases(QUERIES))
def test_answers_equal_the_oracle(relaxed: Relaxed, case: tuple[list[Doc], list[Spec]]) -> None:
    docs, asked = case
    database = Asked(relaxed, docs)
    for spec in asked:
        expected = oracle.answer(in_scope(docs, spec), spec)
        assert [snapshot.reference.path for snapshot in database.query(spec).get()] == expected, spec


@settings(max_examples=100, **SETTINGS)
@given(case=cases(1))
def test_aggregations_equal_the_oracle(relaxed: Relaxed, case: tuple[list[Doc], list[Spec]]) -> None:
    docs, (asked,) = case
    spec = replace(asked, last=None)
    query = Asked(relaxed, docs).query(spec)
    expected = oracle.answer(in_scope(docs, spec), spec)
    assert query.count().get()[0][0].value == len(expected)
    assert repr(float(query.sum("a").get()[0][0].value)) == repr(float(oracle.total(docs, expected, "a")))


def in_scope(docs: list[Doc], spec: Spec) -> list[Doc]:
    return [doc for doc in docs if spec.group or doc.path.count("/") == 1]
