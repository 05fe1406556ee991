from __future__ import annotations

import uuid

import pytest

from shared.adapters.firestore.store import FirestoreStore
from shared.adapters.storage import GcsObjects, connect
from tests.emulated import DERIVED, PROJECT, UPLOADS, storage_url
from tests.flows.api_stack import Stack, stack_on
from tests.flows.workbench import Workbench

__all__ = ["storage_url"]


@pytest.fixture
def bench(store: FirestoreStore, storage_url: str) -> Workbench:
    client = connect(PROJECT, storage_url)
    return Workbench(store, GcsObjects(client, UPLOADS), GcsObjects(client, DERIVED))


@pytest.fixture
def account_id() -> str:
    """Object names begin with the account: one of its own keeps tests apart in the shared buckets."""
    return f"acme-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def stack(bench: Workbench) -> Stack:
    """The management API on fresh records."""
    return stack_on(bench)
