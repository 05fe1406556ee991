"""Listen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulators.firestore.errors import unimplemented
from emulators.firestore.store import Store


class Listener:
    def __init__(self, store: Store) -> None:
        self._store = store

    def listen(self, requests: Any, context: Any) -> Iterator[bytes]:
        raise unimplemented("Listen")
        yield b""
