"""The indexes that a database has, read from `firestore.indexes.json` in the official format.

Format: https://firebase.google.com/docs/reference/firestore/indexes. A field without an override has the
automatic indexes: ascending, descending and array-contains, for queries on one collection. An override
replaces them, for the field and for what is nested in it; with an empty list the field is exempt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from emulators.firestore import fields as field_paths
from emulators.firestore.fields import FieldPath

COLLECTION, COLLECTION_GROUP = "COLLECTION", "COLLECTION_GROUP"
ASCENDING, DESCENDING, CONTAINS = "ASCENDING", "DESCENDING", "CONTAINS"

_ANY_FIELD = "*"


@dataclass(frozen=True, slots=True)
class IndexField:
    """`mode` is ASCENDING, DESCENDING or CONTAINS; `dimension` is set for a vector instead."""

    path: FieldPath
    mode: str | None = None
    dimension: int | None = None

    def as_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"fieldPath": field_paths.text(self.path)}
        if self.dimension is not None:
            entry["vectorConfig"] = {"dimension": self.dimension, "flat": {}}
        elif self.mode == CONTAINS:
            entry["arrayConfig"] = CONTAINS
        else:
            entry["order"] = self.mode
        return entry


@dataclass(frozen=True, slots=True)
class CompositeIndex:
    group: str
    scope: str
    fields: tuple[IndexField, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "collectionGroup": self.group,
            "queryScope": self.scope,
            "fields": [field.as_json() for field in self.fields],
        }


Modes = frozenset[tuple[str, str]]
"""(scope, mode) of each single-field index that a field has."""

AUTOMATIC: Modes = frozenset((COLLECTION, mode) for mode in (ASCENDING, DESCENDING, CONTAINS))


class GroupIndexes:
    """The indexes of the collections with one id."""

    def __init__(self, overrides: Mapping[FieldPath, Modes], composite: Iterable[CompositeIndex]) -> None:
        self._overrides = overrides
        self._modes: dict[FieldPath, Modes] = {}
        self.composite = tuple(composite)

    def modes(self, path: FieldPath) -> Modes:
        """A field's single-field indexes: its own override, the nearest outer one, or the automatic ones."""
        found = self._modes.get(path)
        if found is None:
            found = self._modes[path] = self._resolve(path)
        return found

    @cached_property
    def is_plain(self) -> bool:
        return not self._overrides

    def _resolve(self, path: FieldPath) -> Modes:
        for length in range(len(path), 0, -1):
            found = self._overrides.get(path[:length])
            if found is not None:
                return found
        return self._overrides.get((_ANY_FIELD,), AUTOMATIC)


class Indexes:
    """What the file lists, by collection group. Raises ValueError when it is not in the official format."""

    def __init__(self, source: Path | Mapping[str, Any] | None = None) -> None:
        content = json.loads(source.read_text()) if isinstance(source, Path) else source or {}
        self._composite: dict[str, list[CompositeIndex]] = {}
        self._overrides: dict[str, dict[FieldPath, Modes]] = {}
        self._groups: dict[str, GroupIndexes] = {}
        for entry in content.get("indexes", ()):
            index = _composite(entry)
            self._composite.setdefault(index.group, []).append(index)
        for entry in content.get("fieldOverrides", ()):
            path = entry["fieldPath"]
            parsed = (_ANY_FIELD,) if path == _ANY_FIELD else field_paths.parse(path)
            modes = frozenset(_single(index) for index in entry["indexes"])
            self._overrides.setdefault(entry["collectionGroup"], {})[parsed] = modes

    def group(self, group: str) -> GroupIndexes:
        found = self._groups.get(group)
        if found is None:
            overrides = self._overrides.get(group, {})
            found = self._groups[group] = GroupIndexes(overrides, self._composite.get(group, ()))
        return found


def _composite(entry: Mapping[str, Any]) -> CompositeIndex:
    scope = entry["queryScope"]
    if scope not in {COLLECTION, COLLECTION_GROUP}:
        raise ValueError(f"queryScope must be {COLLECTION} or {COLLECTION_GROUP}, got {scope!r}")
    return CompositeIndex(entry["collectionGroup"], scope, tuple(map(_field, entry["fields"])))


def _field(entry: Mapping[str, Any]) -> IndexField:
    path = field_paths.parse(entry["fieldPath"])
    if "vectorConfig" in entry:
        return IndexField(path, dimension=int(entry["vectorConfig"]["dimension"]))
    return IndexField(path, _mode(entry))


def _single(entry: Mapping[str, Any]) -> tuple[str, str]:
    return entry.get("queryScope", COLLECTION), _mode(entry)


def _mode(entry: Mapping[str, Any]) -> str:
    mode = entry.get("arrayConfig") or entry.get("order")
    if mode not in {ASCENDING, DESCENDING, CONTAINS}:
        raise ValueError(f"an index entry needs an order or an arrayConfig, got {dict(entry)!r}")
    return str(mode)
