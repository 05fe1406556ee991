"""Count, sum and average."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter


@pytest.fixture
def values(db: firestore.Client) -> firestore.CollectionReference:
    return db.collection("values")


def put(values: firestore.CollectionReference, numbers: list[Any]) -> None:
    for position, number in enumerate(numbers):
        values.document(f"{position:02d}").set({"n": number})


def one(query: Any) -> Any:
    return query.get()[0][0].value


def test_count(values: firestore.CollectionReference) -> None:
    assert one(values.count()) == 0
    put(values, [1, 2, 3, "x"])
    values.document("without").set({})
    assert one(values.count()) == 5
    assert one(values.where(filter=FieldFilter("n", ">", 1)).count()) == 2
    assert one(values.limit(3).count()) == 3
    assert one(values.offset(4).count()) == 1


def test_several_aggregations_have_names(values: firestore.CollectionReference) -> None:
    put(values, [1, 2, 4])
    query = values.count(alias="all").sum("n", alias="total").avg("n")
    results = {result.alias: result.value for result in query.get()[0]}
    assert results == {"all": 3, "total": 7, "field_1": 7 / 3}


@pytest.mark.parametrize(
    ("numbers", "total", "average"),
    [
        ([1, 2], 3, 1.5),
        ([1, 0.5], 1.5, 0.75),
        (["x", None, True, 4], 4, 4.0),
        ([2**62, 2**62], 2.0**63, 2.0**62),
        ([0.1] * 10, 1.0, 0.1),
        ([math.inf, 1], math.inf, math.inf),
        ([math.inf, -math.inf], math.nan, math.nan),
        ([math.nan, 1], math.nan, math.nan),
    ],
)
def test_sum_and_average(
    values: firestore.CollectionReference, numbers: list[Any], total: float, average: float
) -> None:
    put(values, numbers)
    found = one(values.sum("n"))
    assert (type(found), repr(found)) == (type(total), repr(total))
    assert repr(one(values.avg("n"))) == repr(average)


def test_nothing_to_add_is_integer_zero_and_has_no_average(db: firestore.Client) -> None:
    """Read from the wire: the client makes 0.0 of both."""
    aggregations = [
        {"sum": {"field": {"field_path": "n"}}, "alias": "sum"},
        {"avg": {"field": {"field_path": "n"}}, "alias": "avg"},
    ]
    query = types.StructuredQuery(from_=[{"collection_id": "values"}])
    request = {
        "parent": f"{db._database_string}/documents",
        "structured_aggregation_query": {"structured_query": query, "aggregations": aggregations},
    }
    (response,) = db._firestore_api.run_aggregation_query(request=request)
    fields = types.AggregationResult.pb(response.result).aggregate_fields
    assert fields["sum"].WhichOneof("value_type") == "integer_value"
    assert fields["sum"].integer_value == 0
    assert fields["avg"].WhichOneof("value_type") == "null_value"


def test_a_document_without_an_aggregated_field_counts_for_nothing(
    values: firestore.CollectionReference,
) -> None:
    put(values, [1, 2])
    values.document("without").set({"m": 1})
    results = {r.alias: r.value for r in values.sum("n", alias="sum").count(alias="count").get()[0]}
    assert results == {"sum": 3, "count": 2}


def test_a_count_may_have_a_bound(db: firestore.Client, values: firestore.CollectionReference) -> None:
    put(values, [1, 2, 3])
    query = types.StructuredQuery(from_=[{"collection_id": "values"}])
    aggregation = {"count": {"up_to": {"value": 2}}, "alias": "some"}
    request = {
        "parent": f"{db._database_string}/documents",
        "structured_aggregation_query": {"structured_query": query, "aggregations": [aggregation]},
    }
    (response,) = db._firestore_api.run_aggregation_query(request=request)
    assert response.result.aggregate_fields["some"].integer_value == 2


def test_what_is_refused(values: firestore.CollectionReference) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="alias of its own"):
        values.count(alias="a").count(alias="a").get()
    query = values.count(alias="a0")
    for position in range(5):
        query = query.count(alias=f"a{position + 1}")
    with pytest.raises(exceptions.InvalidArgument, match="1 to 5"):
        query.get()


def test_an_aggregation_reads_the_past_and_in_a_transaction(
    db: firestore.Client, values: firestore.CollectionReference
) -> None:
    put(values, [1])
    before = values.document("00").get().read_time
    put(values, [5, 6])
    assert values.count().get(read_time=before)[0][0].value == 1

    @firestore.transactional
    def count(transaction: firestore.Transaction) -> Any:
        return next(iter(values.count().stream(transaction=transaction)))[0].value

    assert count(db.transaction()) == 2
