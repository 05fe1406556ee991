"""Fixtures of the embedded stack's parts, each started once a session. A conftest imports what it needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from google.api_core.exceptions import Conflict

from emulators.storage.server import StorageEmulator
from shared.adapters.storage import connect

PROJECT = "demo-almanac"
UPLOADS = "almanac-uploads"
DERIVED = "almanac-derived"


def _ensure_buckets(url: str) -> None:
    client = connect(PROJECT, url)
    for name in (UPLOADS, DERIVED):
        with suppress(Conflict):
            client.create_bucket(name)
    client.close()


@pytest.fixture(scope="session")
def storage_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A storage with both buckets: the one that STORAGE_EMULATOR_HOST names, or one in memory for the
    session, to whose events nobody listens."""
    given = os.environ.get("STORAGE_EMULATOR_HOST")
    if given:
        _ensure_buckets(given)
        yield given
        return
    run_dir: Path = tmp_path_factory.mktemp("storage")
    emulator = StorageEmulator(project=PROJECT, buckets=(UPLOADS, DERIVED), run_dir=run_dir)
    emulator.start()
    try:
        emulator.wait_until_ready()
        yield emulator.url
    finally:
        emulator.stop()
