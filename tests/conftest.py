"""Fixtures that tests of several layers share; the network beyond this machine is sealed off."""

from __future__ import annotations

import ipaddress
import os
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from emulators.firestore.server import FirestoreEmulator
from shared.adapters.firestore.store import FirestoreStore, connect


@pytest.fixture(scope="session", autouse=True)
def sealed_network() -> Iterator[None]:
    """No test reaches anything but this machine: a connection elsewhere fails at once, with its address."""
    really_connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address[0]):
            raise AssertionError(f"a test tried to connect to {address!r}")
        really_connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session")
def firestore_host() -> Iterator[str]:
    """HOST:PORT of a Firestore: the one that FIRESTORE_EMULATOR_HOST names, or one in memory for this session.

    The variable is set while tests run, so that a plain `firestore.Client(project=...)` finds it.
    """
    given = os.environ.get("FIRESTORE_EMULATOR_HOST")
    if given:
        yield given
        return
    with FirestoreEmulator() as emulator, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIRESTORE_EMULATOR_HOST", emulator.host)
        yield emulator.host


@pytest.fixture
def store(firestore_host: str) -> Iterator[FirestoreStore]:
    """A record store on a project of its own."""
    client = connect(f"test-{uuid.uuid4().hex[:12]}", "(default)")
    yield FirestoreStore(client)
    client.close()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
