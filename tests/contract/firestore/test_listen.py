"""`on_snapshot` on documents and queries."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter

WAIT = 20
"""Seconds to a failure; an event takes milliseconds."""

Event = tuple[set[str], list[tuple[str, str]]]


class Listening:
    """What a listener was told: (ids, [(change, id)]). The order of ids is the client's own doing."""

    def __init__(self, target: Any) -> None:
        self._events: queue.Queue[Event] = queue.Queue()
        self._watch = target.on_snapshot(self._told)

    def _told(self, documents: Any, changes: Any, _: Any) -> None:
        told = {document.id for document in documents}, [(c.type.name, c.document.id) for c in changes]
        self._events.put(told)

    def next(self) -> Event:
        return self._events.get(timeout=WAIT)

    def close(self) -> None:
        self._watch.unsubscribe()


@pytest.fixture
def listen() -> Iterator[Any]:
    opened: list[Listening] = []

    def start(target: Any) -> Listening:
        opened.append(Listening(target))
        return opened[-1]

    yield start
    for listening in opened:
        listening.close()


def test_a_document_from_nothing_to_nothing(db: firestore.Client, listen: Any) -> None:
    ref = db.document("rooms/one")
    told = listen(ref)
    assert told.next() == (set(), [])
    ref.set({"a": 1})
    assert told.next() == ({"one"}, [("ADDED", "one")])
    ref.update({"a": 2})
    assert told.next() == ({"one"}, [("MODIFIED", "one")])
    ref.delete()
    assert told.next() == (set(), [("REMOVED", "one")])


def test_a_query_follows_what_enters_changes_and_leaves(db: firestore.Client, listen: Any) -> None:
    rooms = db.collection("rooms")
    rooms.document("big").set({"size": 9})
    rooms.document("small").set({"size": 1})
    told = listen(rooms.where(filter=FieldFilter("size", ">", 5)))
    assert told.next() == ({"big"}, [("ADDED", "big")])
    rooms.document("small").update({"size": 10})
    assert told.next() == ({"big", "small"}, [("ADDED", "small")])
    rooms.document("small").update({"size": 8})
    assert told.next() == ({"small", "big"}, [("MODIFIED", "small")])
    rooms.document("big").update({"size": 2})
    assert told.next() == ({"small"}, [("REMOVED", "big")])
    rooms.document("small").delete()
    assert told.next() == (set(), [("REMOVED", "small")])


def test_a_limit_lets_the_next_one_in(db: firestore.Client, listen: Any) -> None:
    rooms = db.collection("rooms")
    for size in (1, 2, 3):
        rooms.document(f"r{size}").set({"size": size})
    told = listen(rooms.order_by("size").limit(2))
    assert told.next() == ({"r1", "r2"}, [("ADDED", "r1"), ("ADDED", "r2")])
    rooms.document("r1").delete()
    assert told.next() == ({"r2", "r3"}, [("REMOVED", "r1"), ("ADDED", "r3")])


def test_one_commit_is_one_snapshot(db: firestore.Client, listen: Any) -> None:
    told = listen(db.collection("rooms"))
    assert told.next() == (set(), [])
    batch = db.batch()
    for name in ("a", "b", "c"):
        batch.set(db.document(f"rooms/{name}"), {"n": 1})
    batch.commit()
    assert told.next() == ({"a", "b", "c"}, [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")])


def test_a_collection_group(db: firestore.Client, listen: Any) -> None:
    told = listen(db.collection_group("landmarks"))
    assert told.next() == (set(), [])
    db.document("cities/sf/landmarks/bridge").set({"n": 1})
    assert told.next() == ({"bridge"}, [("ADDED", "bridge")])


def streamed(db: firestore.Client, target: Any, until: int) -> list[types.ListenResponse]:
    """The first responses to a target on a stream of the API itself."""
    request = types.ListenRequest(database=db._database_string, add_target=target)
    pending: queue.Queue[types.ListenRequest | None] = queue.Queue()
    pending.put(request)
    call = db._firestore_api.listen(requests=iter(pending.get, None), timeout=WAIT)
    responses = [next(call) for _ in range(until)]
    call.cancel()
    pending.put(None)
    return responses


def test_a_stream_resumes_from_its_token(db: firestore.Client) -> None:
    rooms = db.collection("rooms")
    rooms.document("kept").set({"n": 1})
    rooms.document("gone").set({"n": 1})
    query = types.StructuredQuery(from_=[{"collection_id": "rooms"}])
    target: dict[str, Any] = {
        "query": {"parent": f"{db._database_string}/documents", "structured_query": query},
        "target_id": 7,
    }
    responses = streamed(db, target, 5)
    kinds = types.TargetChange.TargetChangeType
    assert responses[0].target_change.target_change_type == kinds.ADD
    assert {r.document_change.document.name.rpartition("/")[2] for r in responses[1:3]} == {"gone", "kept"}
    assert responses[3].target_change.target_change_type == kinds.CURRENT
    snapshot = responses[4].target_change
    assert (snapshot.target_change_type, list(snapshot.target_ids)) == (kinds.NO_CHANGE, [])

    rooms.document("gone").delete()
    rooms.document("new").set({"n": 1})
    resumed = streamed(db, {**target, "resume_token": snapshot.resume_token}, 5)
    assert resumed[1].document_delete.document.endswith("/rooms/gone")
    assert resumed[2].document_change.document.name.endswith("/rooms/new")
    assert resumed[3].target_change.target_change_type == kinds.CURRENT

    unknown = streamed(db, {**target, "resume_token": b"unknown!"}, 3)
    assert unknown[1].target_change.target_change_type == kinds.RESET


def test_a_query_without_its_index_is_refused_on_the_stream(db: firestore.Client) -> None:
    query = types.StructuredQuery(
        from_=[{"collection_id": "rooms"}],
        order_by=[{"field": {"field_path": "a"}}, {"field": {"field_path": "b"}}],
    )
    target = {
        "query": {"parent": f"{db._database_string}/documents", "structured_query": query},
        "target_id": 7,
    }
    (response,) = streamed(db, target, 1)
    assert response.target_change.target_change_type == types.TargetChange.TargetChangeType.REMOVE
    assert response.target_change.cause.code == 9
    assert '"fieldPath": "b"' in response.target_change.cause.message
