"""Fixtures that tests of several layers share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from emulators.firestore.server import FirestoreEmulator


@pytest.fixture(scope="session")
def firestore_host() -> Iterator[str]:
    """HOST:PORT of a Firestore: the one that FIRESTORE_EMULATOR_HOST names, or one in memory for this session.

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
