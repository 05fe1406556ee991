"""Resource names, document paths and the rules that ids follow.

Inside a database a document is known by its path below `documents/`: `collection/id/collection/id`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from emulators.firestore.errors import invalid

MAX_ID_BYTES = 1_500
MAX_NAME_BYTES = 6_144
MAX_DEPTH = 100

_RESERVED = re.compile(r"__.*__", re.DOTALL)
_NUMERIC_ID = re.compile(r"__id(-?\d{1,19})__")

SegmentKey = tuple[int, int | str]


@dataclass(frozen=True, slots=True)
class DatabaseName:
    project: str
    database: str

    def __str__(self) -> str:
        return f"projects/{self.project}/databases/{self.database}"

    def document(self, path: str) -> str:
        return f"projects/{self.project}/databases/{self.database}/documents/{path}"


@lru_cache(maxsize=1_024)
def parse_database(name: str) -> DatabaseName:
    parts = name.split("/")
    if len(parts) != 4 or parts[0] != "projects" or parts[2] != "databases" or not parts[1] or not parts[3]:
        raise invalid(f'"{name}" is not a database name: projects/{{project}}/databases/{{database}}.')
    return DatabaseName(parts[1], parts[3])


@lru_cache(maxsize=65_536)
def parse_document(name: str) -> tuple[DatabaseName, str]:
    """The database and the path of a document name, with every rule for names and ids checked."""
    database, path = split_name(name)
    segments = path.split("/")
    if len(segments) % 2 or not path:
        raise invalid(f'"{name}" does not name a document: its path needs an even number of segments.')
    if len(name.encode()) > MAX_NAME_BYTES:
        raise invalid(f'The document name "{name[:60]}..." is longer than {MAX_NAME_BYTES} bytes.')
    if len(segments) // 2 > MAX_DEPTH:
        raise invalid(f'The document name "{name[:60]}..." is nested deeper than {MAX_DEPTH} collections.')
    for segment in segments:
        check_id(segment)
    return database, path


@lru_cache(maxsize=16_384)
def parse_parent(name: str) -> tuple[DatabaseName, str]:
    """The database and the path of a parent: the root (path "") or a document."""
    parts = name.split("/", 5)
    if len(parts) == 5 and parts[4] == "documents":
        return parse_database("/".join(parts[:4])), ""
    return parse_document(name)


def split_name(name: str) -> tuple[DatabaseName, str]:
    parts = name.split("/", 5)
    if len(parts) != 6 or parts[4] != "documents":
        raise invalid(f'"{name}" is not a name below projects/{{project}}/databases/{{database}}/documents/.')
    return parse_database("/".join(parts[:4])), parts[5]


def check_id(value: str) -> None:
    """Document and collection ids: UTF-8, 1 to 1,500 bytes, not `.` or `..`, not `__.*__`."""
    if not value:
        raise invalid("A document or collection id must not be empty.")
    if value in {".", ".."}:
        raise invalid(f'"{value}" cannot be a document or collection id.')
    if "/" in value:
        raise invalid(f'The id "{value}" contains a slash.')
    if len(value.encode()) > MAX_ID_BYTES:
        raise invalid(f'The id "{value[:60]}..." is longer than {MAX_ID_BYTES} bytes.')
    if _RESERVED.fullmatch(value) and not _NUMERIC_ID.fullmatch(value):
        raise invalid(f'The id "{value}" is reserved: ids must not match __.*__.')


def segment_key(segment: str) -> SegmentKey:
    """Numeric ids (`__id7__`) come first and by number; other ids by their UTF-8 bytes, as `str` compares."""
    if segment.startswith("__id") and (match := _NUMERIC_ID.fullmatch(segment)):
        return 0, int(match[1])
    return 1, segment


@lru_cache(maxsize=65_536)
def path_key(path: str) -> tuple[SegmentKey, ...]:
    return tuple(segment_key(segment) for segment in path.split("/"))


def collection_of(path: str) -> tuple[str, str]:
    """The path of the collection and the id in it."""
    collection, _, document_id = path.rpartition("/")
    return collection, document_id
