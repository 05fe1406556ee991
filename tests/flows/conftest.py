from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from emulators.models.server import ModelStubs
from shared.adapters.firebase_auth import FirebaseIdTokens
from shared.adapters.firestore.store import FirestoreStore
from shared.adapters.storage import GcsObjects, connect
from shared.tenancy.authenticate import Authenticator
from tests.emulated import DERIVED, PROJECT, UPLOADS, storage_url
from tests.flows.api_stack import Stack, stack_on
from tests.flows.chat_stack import Chat, ScriptedAnswers, chat_on
from tests.flows.desk import desk, platform
from tests.flows.following import followed_site, follower
from tests.flows.people import People
from tests.flows.workbench import Workbench
from tests.identity import Identity

__all__ = ["desk", "followed_site", "follower", "platform", "storage_url"]


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


@pytest.fixture(scope="session")
def identity_provider() -> Iterator[Identity]:
    with Identity() as running:
        yield running


@pytest.fixture
def people(bench: Workbench, identity_provider: Identity, monkeypatch: pytest.MonkeyPatch) -> People:
    """The management API for people with ID tokens, as the Auth emulator makes them, beside keys."""
    _take_id_tokens(bench, identity_provider, monkeypatch)
    return People(stack_on(bench), identity_provider)


@pytest.fixture
def chatters(chat: Chat, identity_provider: Identity, monkeypatch: pytest.MonkeyPatch) -> People:
    """People for whom `chat.of` takes ID tokens."""
    _take_id_tokens(chat.bench, identity_provider, monkeypatch)
    return People(chat.stack, identity_provider)


def _take_id_tokens(bench: Workbench, identity: Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    identity.reset()
    monkeypatch.setenv("FIREBASE_AUTH_EMULATOR_HOST", identity.host)
    id_tokens = FirebaseIdTokens(PROJECT, bench.clock)
    bench.authenticator = Authenticator(bench.store, bench.clock, id_tokens)


@pytest.fixture
def stack(bench: Workbench) -> Stack:
    """The management API on fresh records."""
    return stack_on(bench)
