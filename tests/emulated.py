"""Fixtures of the embedded stack's parts, each started once a session. A conftest imports what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulators.storage.server import StorageEmulator

PROJECT = "demo-almanac"
UPLOADS = "almanac-uploads"
DERIVED = "almanac-derived"


@pytest.fixture(scope="session")
def storage_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A storage emulator with both buckets, in memory; nobody listens to its events."""
    run_dir: Path = tmp_path_factory.mktemp("storage")
    emulator = StorageEmulator(project=PROJECT, buckets=(UPLOADS, DERIVED), run_dir=run_dir)
    emulator.start()
    try:
        emulator.wait_until_ready()
        yield emulator.url
    finally:
        emulator.stop()
