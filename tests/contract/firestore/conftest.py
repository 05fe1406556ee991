"""The embedded Firestore by itself, with indexes of its own, and the real client on a project of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud import firestore

from emulators.firestore.server import FirestoreEmulator

INDEXES = Path(__file__).parent / "indexes.json"


@pytest.fixture(scope="session")
def emulator() -> Iterator[FirestoreEmulator]:
    """One emulator in memory for all tests that need no knob."""
    with FirestoreEmulator(indexes=INDEXES) as running:
        yield running


@pytest.fixture
def emulator_host(emulator: FirestoreEmulator, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
    return emulator.host


@pytest.fixture
def project() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def db(emulator_host: str, project: str) -> Iterator[firestore.Client]:
    client = firestore.Client(project=project)
    yield client
    client.close()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[FirestoreEmulator]:
    """An emulator for one test, whose knobs it may turn; clients made from now on talk to it."""
    with FirestoreEmulator(indexes=INDEXES) as running:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", running.host)
        yield running
