"""What every test may use: a Firestore, a store on a project of its own, and no network."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from emulators.firestore.server import FirestoreEmulator
from shared.adapters.firestore.store import FirestoreStore, connect

# A shared machine is slow now and then, which is no finding. In CI the cases are the same in every run, so
# that a change is judged by itself; elsewhere they are new each time, which is how faults are found.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

_connect = socket.socket.connect


def _loopback_only(self: socket.socket, address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else ""
    if host and host not in {"127.0.0.1", "::1", "localhost"}:
        raise AssertionError(f"A test reached for the network: {address}")
    _connect(self, address)


@pytest.fixture(scope="session", autouse=True)
def _sealed_network() -> Iterator[None]:
    socket.socket.connect = _loopback_only  # type: ignore[method-assign,assignment]
    yield
    socket.socket.connect = _connect  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def firestore_host() -> Iterator[str]:
    """HOST:PORT of a Firestore: the one that FIRESTORE_EMULATOR_HOST names, or one in memory for the session.

    The variable is set while tests run, so that a plain `firestore.Client(project=...)` finds it.
    """
    given = os.environ.get("FIRESTORE_EMULATOR_HOST")
    if given:
        yield given
        return
    with FirestoreEmulator() as emulator:
        os.environ["FIRESTORE_EMULATOR_HOST"] = emulator.host
        yield emulator.host
        del os.environ["FIRESTORE_EMULATOR_HOST"]


@pytest.fixture
def store(firestore_host: str) -> Iterator[FirestoreStore]:
    """A store on a project of its own, so that tests do not see one another's records."""
    client = connect(f"demo-{uuid.uuid4().hex[:12]}", "(default)")
    yield FirestoreStore(client)
    client.close()
