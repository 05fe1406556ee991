"""Ids: random ones for what a tenant makes, content hashes for what derives from it."""

from __future__ import annotations

import hashlib
import re
import secrets

# Not with two underscores in front: the store keeps such names for itself. Written without looking ahead,
# which not every engine of regular expressions can.
ID_REGEX = "(?:[A-Za-z0-9-][A-Za-z0-9_-]{0,63}|_(?:[A-Za-z0-9-][A-Za-z0-9_-]{0,62})?)"
_ID = re.compile(rf"{ID_REGEX}\Z")


def new_id(prefix: str) -> str:
    """A random id of 96 bits, e.g. `doc_1f0c…`; the prefix only helps people who read logs."""
    return f"{prefix}_{secrets.token_hex(12)}"


def content_id(prefix: str, *parts: str | int) -> str:
    """The same parts give the same id: SHA-256 over the length-prefixed parts, cut to 128 bits."""
    digest = hashlib.sha256()
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{prefix}_{digest.hexdigest()[:32]}"


def is_id(value: str) -> bool:
    """Whether `value` could be an id of ours; everything else is not even looked up."""
    return bool(_ID.match(value))
