"""The example accounts of a stack."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emulators.environment import Addresses

_environment = threading.Lock()


def seed(addresses: Addresses, keys_file: Path | None) -> Mapping[str, Any]:
    """Makes what is missing of the example accounts; with `keys_file` their keys stay the same."""
    from infra.seed import seed_examples
    from shared.adapters.clock import SystemClock
    from shared.adapters.firestore.store import FirestoreStore, connect

    with _firestore_at(addresses.firestore_host):
        client = connect(addresses.variables()["GOOGLE_CLOUD_PROJECT"], "(default)")
    try:
        return seed_examples(FirestoreStore(client), SystemClock(), keys_file)
    finally:
        client.close()


@contextmanager
def _firestore_at(host: str) -> Iterator[None]:
    """The client can be told of an emulator only by a variable, which it reads when it is made."""
    name = "FIRESTORE_EMULATOR_HOST"
    with _environment:
        before = os.environ.get(name)
        os.environ[name] = host
        try:
            yield
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
