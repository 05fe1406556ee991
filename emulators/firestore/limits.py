"""Limits on documents."""

from __future__ import annotations

from typing import Any

from emulators.firestore.indexes import Indexes


class DocumentLimits:
    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    def check(self, path: str, message: Any, body: bytes) -> None:
        return
