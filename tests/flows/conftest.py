from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from emulators.models.server import ModelStubs
from shared.adapters.firestore.store import FirestoreStore
from shared.adapters.storage import GcsObjects, connect
from tests.emulated import DERIVED, PROJECT, UPLOADS, storage_url
from tests.flows.api_stack import Stack, stack_on
from tests.flows.chat_stack import Chat, ScriptedAnswers, chat_on
from tests.flows.desk import desk, platform
from tests.flows.workbench import Workbench

__all__ = ["desk", "platform", "storage_url"]


@pytest.fixture
def bench(store: FirestoreStore, storage_url: str) -> Workbench:
    client = connect(PROJECT, storage_url)
    return Workbench(store, GcsObjects(client, UPLOADS), GcsObjects(client, DERIVED))


@pytest.fixture
def account_id() -> str:
    """Object names begin with the account: one of its own keeps tests apart in the shared buckets."""
    return f"acme-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def stubs() -> Iterator[ModelStubs]:
    """The providers' stubs; whoever uses them resets them first."""
    with ModelStubs() as running:
        yield running


@pytest.fixture
def chat(bench: Workbench, stubs: ModelStubs) -> Chat:
    return chat_on(bench, stubs)


@pytest.fixture
def scripted(chat: Chat) -> ScriptedAnswers:
    """The chat's model, scripted."""
    model = ScriptedAnswers()
    chat.bench.answer_model = model
    return model


@pytest.fixture
def stack(bench: Workbench) -> Stack:
    """The management API on fresh records."""
    return stack_on(bench)
