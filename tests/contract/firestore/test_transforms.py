"""Field transforms."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core import exceptions
from google.cloud import firestore


def test_server_time_is_one_for_a_commit_in_milliseconds(db: firestore.Client) -> None:
    one, two = db.document("r/1"), db.document("r/2")
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    batch = db.batch()
    batch.set(one, {"at": firestore.SERVER_TIMESTAMP, "deep": {"at": firestore.SERVER_TIMESTAMP}})
    batch.set(two, {"at": firestore.SERVER_TIMESTAMP})
    results = batch.commit()
    data = one.get().to_dict()
    assert data is not None
    assert data["at"] == data["deep"]["at"] == two.get().get("at")
    assert before <= data["at"] <= datetime.now(UTC)
    assert data["at"].microsecond % 1_000 == 0
    assert len(results[0].transform_results) == 2


@pytest.mark.parametrize(
    ("old", "by", "new"),
    [
        (5, 3, 8),
        (5, 0.5, 5.5),
        (0.5, 2, 2.5),
        ("text", 3, 3),
        (None, 2.5, 2.5),
        (2**63 - 1, 1, 2**63 - 1),
        (-(2**63), -5, -(2**63)),
    ],
)
def test_increment(db: firestore.Client, old: object, by: float, new: float) -> None:
    ref = db.document("r/1")
    ref.set({"n": old})
    ref.update({"n": firestore.Increment(by)})
    found = ref.get().get("n")
    assert (found, type(found)) == (new, type(new))


def test_increment_makes_a_missing_field(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"deep": {"n": firestore.Increment(4)}}, merge=True)
    assert ref.get().to_dict() == {"deep": {"n": 4}}


@pytest.mark.parametrize(
    ("old", "operand", "largest", "smallest"),
    [
        (5, 7, 7, 5),
        (5, 5.0, 5, 5),
        (5, 5.5, 5.5, 5),
        ("text", 1, 1, 1),
        (0.0, -0.0, 0.0, 0.0),
        (1, math.nan, math.nan, math.nan),
    ],
)
def test_maximum_and_minimum(
    db: firestore.Client, old: object, operand: float, largest: float, smallest: float
) -> None:
    ref = db.document("r/1")
    ref.set({"max": old, "min": old})
    ref.update({"max": firestore.Maximum(operand), "min": firestore.Minimum(operand)})
    data = ref.get().to_dict()
    assert data is not None
    for found, wanted in ((data["max"], largest), (data["min"], smallest)):
        assert type(found) is type(wanted)
        assert str(found) == str(wanted)


def test_array_union_and_removal_know_equal_numbers(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"a": [1, "x", 2.0, 1], "other": "text"})
    ref.update({"a": firestore.ArrayUnion([2, "y", {"m": 1}, "y", None]), "other": firestore.ArrayUnion([1])})
    assert ref.get().to_dict() == {"a": [1, "x", 2.0, 1, "y", {"m": 1}, None], "other": [1]}
    ref.update({"a": firestore.ArrayRemove([1.0, {"m": 1}, "absent"]), "none": firestore.ArrayRemove([1])})
    assert ref.get().to_dict() == {"a": ["x", 2.0, "y", None], "other": [1], "none": []}


def test_transforms_follow_the_update_and_one_another(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"n": 1})
    batch = db.batch()
    batch.update(ref, {"n": 10})
    batch.update(ref, {"n": firestore.Increment(5)})
    batch.update(ref, {"n": firestore.Maximum(3)})
    results = batch.commit()
    assert ref.get().to_dict() == {"n": 15}
    assert [r.transform_results[0].integer_value for r in results[1:]] == [15, 15]


def test_a_document_takes_500_transforms_in_a_commit(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({f"f{n}": firestore.Increment(1) for n in range(500)})
    with pytest.raises(exceptions.InvalidArgument, match="500"):
        ref.set({f"f{n}": firestore.Increment(1) for n in range(501)})
