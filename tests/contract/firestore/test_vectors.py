"""Vectors and their nearest neighbours."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.vector import Vector

VECTORS = {"x": (1, 0, 0), "y": (0, 2, 0), "xy": (3, 3, 0), "zero": (0, 0, 0)}


@pytest.fixture
def items(db: firestore.Client) -> firestore.CollectionReference:
    collection = db.collection("items")
    for name, numbers in VECTORS.items():
        collection.document(name).set(
            {"embedding": Vector([float(n) for n in numbers]), "color": "red" if "x" in name else "blue"}
        )
    collection.document("other_size").set({"embedding": Vector([1.0, 0.0]), "color": "red"})
    collection.document("not_a_vector").set({"embedding": [1.0, 0.0, 0.0], "color": "red"})
    return collection


def nearest(
    query: Any, measure: DistanceMeasure, vector: tuple[float, ...] = (1, 0, 0), **options: Any
) -> list[tuple[str, float]]:
    found = query.find_nearest(
        "embedding", Vector(vector), options.pop("limit", 10), measure, distance_result_field="d", **options
    )
    return [(s.id, round(s.get("d"), 6)) for s in found.get()]


def test_euclidean(items: firestore.CollectionReference) -> None:
    assert nearest(items, DistanceMeasure.EUCLIDEAN) == [
        ("x", 0),
        ("zero", 1),
        ("y", round(math.sqrt(5), 6)),
        ("xy", round(math.sqrt(13), 6)),
    ]


def test_cosine_leaves_out_vectors_without_direction(items: firestore.CollectionReference) -> None:
    assert nearest(items, DistanceMeasure.COSINE) == [
        ("x", 0),
        ("xy", round(1 - math.sqrt(0.5), 6)),
        ("y", 1),
    ]


def test_dot_product_is_largest_first(items: firestore.CollectionReference) -> None:
    assert nearest(items, DistanceMeasure.DOT_PRODUCT, limit=2) == [("xy", 3), ("x", 1)]


def test_threshold(items: firestore.CollectionReference) -> None:
    assert [name for name, _ in nearest(items, DistanceMeasure.EUCLIDEAN, distance_threshold=1.0)] == [
        "x",
        "zero",
    ]
    assert [name for name, _ in nearest(items, DistanceMeasure.DOT_PRODUCT, distance_threshold=1.0)] == [
        "xy",
        "x",
    ]


def test_filter_comes_first_and_a_projection_may_keep_the_distance(
    items: firestore.CollectionReference,
) -> None:
    red = items.where(filter=FieldFilter("color", "==", "red"))
    assert [name for name, _ in nearest(red, DistanceMeasure.EUCLIDEAN)] == ["x", "xy"]
    found = items.select(["color", "d"]).find_nearest(
        "embedding", Vector([1.0, 0.0, 0.0]), 1, DistanceMeasure.EUCLIDEAN, distance_result_field="d"
    )
    assert [s.to_dict() for s in found.get()] == [{"color": "red", "d": 0.0}]


def test_without_a_distance_field_documents_are_as_stored(items: firestore.CollectionReference) -> None:
    found = items.find_nearest("embedding", Vector([1.0, 0.0, 0.0]), 1, DistanceMeasure.EUCLIDEAN).get()
    assert [s.to_dict() for s in found] == [{"embedding": Vector([1.0, 0.0, 0.0]), "color": "red"}]


def test_an_index_of_this_dimension_is_needed(items: firestore.CollectionReference) -> None:
    with pytest.raises(exceptions.FailedPrecondition) as caught:
        nearest(items, DistanceMeasure.EUCLIDEAN, (1, 0))
    assert '{"fieldPath": "embedding", "vectorConfig": {"dimension": 2, "flat": {}}}' in caught.value.message


@pytest.mark.parametrize(("limit", "size"), [(0, 3), (1001, 3), (1, 2049)])
def test_limits(items: firestore.CollectionReference, limit: int, size: int) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        nearest(items, DistanceMeasure.EUCLIDEAN, (1.0,) * size, limit=limit)


def test_a_stored_vector_has_at_most_2048_dimensions(db: firestore.Client) -> None:
    db.document("items/long").set({"embedding": Vector([0.5] * 2048)})
    with pytest.raises(exceptions.InvalidArgument, match="2048"):
        db.document("items/longer").set({"embedding": Vector([0.5] * 2049)})
