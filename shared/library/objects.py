"""Names of a document's objects. The account comes from the name, which only the server makes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SOURCE = re.compile(r"accounts/([\w-]{1,64})/documents/([\w-]{1,64})/([1-9]\d{0,8})/source\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class RevisionRef:
    """One revision of one document."""

    account_id: str
    document_id: str
    revision: int


def account_prefix(account_id: str) -> str:
    """What the names of all objects of an account start with, in both buckets."""
    return f"accounts/{account_id}/"


def prefix(account_id: str, document_id: str, revision: int | None = None) -> str:
    """What the names of all objects of a document (or of one revision) start with, in both buckets."""
    whole = f"{account_prefix(account_id)}documents/{document_id}/"
    return whole if revision is None else f"{whole}{revision}/"


def source_name(ref: RevisionRef) -> str:
    """The uploaded bytes, in the uploads bucket."""
    return f"{prefix(ref.account_id, ref.document_id, ref.revision)}source"


def text_name(ref: RevisionRef) -> str:
    """The extraction, in the derived bucket."""
    return f"{prefix(ref.account_id, ref.document_id, ref.revision)}text.json"


def parse_source_name(name: str) -> RevisionRef | None:
    """The revision that an object of the uploads bucket is the source of; None for any other name."""
    match = _SOURCE.match(name)
    return RevisionRef(match[1], match[2], int(match[3])) if match else None
