"""Nearest neighbours of a vector, by looking at every candidate.

Rules: google/firestore/v1/query.proto, `FindNearest`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np

from emulators.firestore import fields as field_paths
from emulators.firestore.document import StoredDocument, Vector
from emulators.firestore.errors import invalid
from emulators.firestore.protos import Document, Value
from emulators.firestore.query import Nearest
from emulators.firestore.values import is_vector, vector_of

MAX_DIMENSIONS = 2_048
MAX_LIMIT = 1_000

_MEASURES = {1: "EUCLIDEAN", 2: "COSINE", 3: "DOT_PRODUCT"}


def parse_nearest(message: Any) -> Nearest:
    if message.distance_measure not in _MEASURES:
        raise invalid("find_nearest needs a distance measure.")
    if not message.HasField("limit") or not 1 <= message.limit.value <= MAX_LIMIT:
        raise invalid(f"find_nearest needs a limit from 1 to {MAX_LIMIT}, got {message.limit.value}.")
    if not is_vector(message.query_vector):
        raise invalid("The query vector of find_nearest must be a vector.")
    vector = vector_of(message.query_vector)
    if not 1 <= len(vector) <= MAX_DIMENSIONS:
        raise invalid(f"The query vector must have 1 to {MAX_DIMENSIONS} dimensions, got {len(vector)}.")
    result_field = message.distance_result_field
    return Nearest(
        path=field_paths.parse(message.vector_field.field_path),
        vector=vector,
        measure=_MEASURES[message.distance_measure],
        limit=message.limit.value,
        threshold=message.distance_threshold.value if message.HasField("distance_threshold") else None,
        result_field=field_paths.parse(result_field) if result_field else None,
    )


def search(nearest: Nearest, documents: Iterable[StoredDocument]) -> list[tuple[float, StoredDocument]]:
    """(distance, document), nearest first; only documents with a vector of the query's dimension count."""
    wanted = np.asarray(nearest.vector)
    found = []
    for document in documents:
        vector = document.vector(nearest.path)
        if vector is None or len(vector) != len(wanted):
            continue
        distance = _distance(nearest.measure, wanted, vector)
        if distance is not None and _within(nearest, distance):
            found.append((distance, document))
    sign = -1 if nearest.measure == "DOT_PRODUCT" else 1
    return heapq.nsmallest(nearest.limit, found, key=lambda pair: sign * pair[0])


def with_distance(nearest: Nearest, distance: float, wire: bytes) -> bytes:
    """The serialized document with the distance in the field that the query names for it."""
    if nearest.result_field is None:
        return wire
    document = Document.FromString(wire)
    field_paths.put(document.fields, nearest.result_field, Value(double_value=distance))
    return bytes(document.SerializeToString())


def _within(nearest: Nearest, distance: float) -> bool:
    if nearest.threshold is None:
        return True
    if nearest.measure == "DOT_PRODUCT":
        return distance >= nearest.threshold
    return distance <= nearest.threshold


def _distance(measure: str, left: Vector, right: Vector) -> float | None:
    """None where the measure is not defined: the cosine of a vector of length 0."""
    if measure == "EUCLIDEAN":
        return float(np.linalg.norm(left - right))
    dot = float(left @ right)
    if measure == "DOT_PRODUCT":
        return dot
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return None if lengths == 0 else 1 - dot / lengths
