"""Documents through the real client: writes, preconditions, transforms, reads."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from google.api_core import exceptions
from google.cloud import firestore


@pytest.fixture
def db(firestore_host: str) -> Iterator[firestore.Client]:
    client = firestore.Client(project=f"test-{uuid.uuid4().hex[:12]}")
    yield client
    client.close()


def test_set_get_update_delete(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.set({"name": "One", "size": {"width": 3, "height": 4}})
    ref.update({"size.width": 5})
    snapshot = ref.get()
    assert snapshot.to_dict() == {"name": "One", "size": {"width": 5, "height": 4}}
    ref.delete()
    assert not ref.get().exists


def test_create_refuses_what_exists(db: firestore.Client) -> None:
    ref = db.document("rooms/one")
    ref.create({"a": 1})
    with pytest.raises(exceptions.AlreadyExists):
        ref.create({"a": 2})
    assert ref.get().to_dict() == {"a": 1}


def test_update_needs_the_document(db: firestore.Client) -> None:
    with pytest.raises(exceptions.NotFound):
        db.document("rooms/none").update({"a": 1})
