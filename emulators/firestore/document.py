"""A committed version of a document. Never changes, so readers share it without a lock."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from emulators.firestore import fields as field_paths
from emulators.firestore.fields import FieldPath
from emulators.firestore.names import DatabaseName
from emulators.firestore.protos import Document
from emulators.firestore.times import to_timestamp
from emulators.firestore.values import Key, is_vector, key_of, reference_key, vector_of

Vector = npt.NDArray[np.float64]


class StoredDocument:
    """`body` is the serialized name and fields, `created` and `updated` are microseconds.

    The parsed message and the keys that queries compare are made when first asked for, and kept.
    """

    __slots__ = ("_keys", "_message", "_times", "_vectors", "body", "created", "path", "updated")

    def __init__(self, path: str, body: bytes, created: int, updated: int) -> None:
        self.path = path
        self.body = body
        self.created = created
        self.updated = updated
        self._message: Any = None
        self._keys: dict[FieldPath, Key | None] = {}
        self._vectors: dict[FieldPath, Vector | None] = {}
        self._times: bytes | None = None

    @property
    def message(self) -> Any:
        """The parsed document (name and fields). Shared: copy before changing."""
        if self._message is None:
            self._message = Document.FromString(self.body)
        return self._message

    @property
    def wire(self) -> bytes:
        """The serialized document as responses carry it, times included."""
        return self.body + self.times

    @property
    def times(self) -> bytes:
        if self._times is None:
            stamped = Document(create_time=to_timestamp(self.created), update_time=to_timestamp(self.updated))
            self._times = stamped.SerializeToString()
        return self._times

    def key(self, path: FieldPath) -> Key | None:
        """The key of the value at a field path; None when the document has no such field."""
        try:
            return self._keys[path]
        except KeyError:
            key = self._make_key(path)
            self._keys[path] = key
            return key

    def vector(self, path: FieldPath) -> Vector | None:
        """The vector at a field path, or None. Packed: a key of one would take ten times its bytes."""
        if path not in self._vectors:
            value = field_paths.get(self.message.fields, path)
            found = np.asarray(vector_of(value)) if value is not None and is_vector(value) else None
            self._vectors[path] = found
        return self._vectors[path]

    def masked(self, paths: tuple[FieldPath, ...]) -> bytes:
        """Serialized, with only the fields at these paths."""
        part = Document(name=self.message.name)
        field_paths.masked(self.message, part, paths)
        return bytes(part.SerializeToString()) + self.times

    def _make_key(self, path: FieldPath) -> Key | None:
        if path == field_paths.NAME:
            return reference_key(self.path)
        value = field_paths.get(self.message.fields, path)
        return None if value is None else key_of(value)


def encode(name: DatabaseName, path: str, message: Any) -> bytes:
    """The canonical bytes of a document's name and fields: equal documents have equal bytes."""
    message.name = name.document(path)
    message.ClearField("create_time")
    message.ClearField("update_time")
    return bytes(message.SerializeToString(deterministic=True))
