"""What a provider's prompt cache would have given and taken of a request, by the rules of Anthropic's.

A block that is marked ends a prefix that is kept; a later request reads the longest kept prefix that it
begins with, byte for byte. Prefixes of fewer tokens than a minimum are not kept, in silence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.adapters.tokens import count_tokens

# From a mark, the provider looks back over so many blocks for a prefix that it holds.
_LOOK_BACK = 20


@dataclass(frozen=True, slots=True)
class Cached:
    """Tokens of a request: read from the cache, taken into it, and neither."""

    read: int
    written: int
    fresh: int


@dataclass(slots=True)
class PromptCache:
    """The prefixes that are kept, by model; forgotten by `clear`, not by time."""

    minimum: int = 1024
    _kept: set[bytes] = field(default_factory=set)

    def clear(self) -> None:
        self._kept.clear()

    def use(self, body: Mapping[str, Any]) -> Cached:
        """Counts a request, and keeps its marked prefixes."""
        prefixes = list(_prefixes(body))
        total = prefixes[-1].tokens if prefixes else 0
        marked = [place for place, prefix in enumerate(prefixes) if prefix.marked]
        near = {place for mark in marked for place in range(max(0, mark - _LOOK_BACK), mark + 1)}
        read = max((prefixes[place].tokens for place in near if prefixes[place].key in self._kept), default=0)
        kept = [prefixes[mark] for mark in marked if prefixes[mark].tokens >= self.minimum]
        self._kept.update(prefix.key for prefix in kept)
        written = max(0, max((prefix.tokens for prefix in kept), default=0) - read)
        return Cached(read, written, total - read - written)


@dataclass(frozen=True, slots=True)
class _Prefix:
    key: bytes
    tokens: int
    marked: bool


def blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(whose, text, whether it is marked) of a request's blocks, in the order in which they are read."""
    yield from _blocks("system", body.get("system") or [])
    for message in body.get("messages", []):
        yield from _blocks(message["role"], message["content"])


def _blocks(whose: str, content: Any) -> Iterator[tuple[str, str, bool]]:
    for block in [{"text": content}] if isinstance(content, str) else content:
        yield whose, _content(block), "cache_control" in block


def _content(block: Mapping[str, Any]) -> str:
    """A block's text; of an image what tells it from others."""
    if "text" in block:
        return str(block["text"])
    return hashlib.sha256(str(block["source"]["data"]).encode()).hexdigest()


def _prefixes(body: Mapping[str, Any]) -> Iterator[_Prefix]:
    digest = hashlib.sha256(str(body.get("model")).encode())
    tokens = 0
    for whose, text, marked in blocks(body):
        data = f"{whose}\0{text}\0".encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
        tokens += count_tokens(text)
        yield _Prefix(digest.digest(), tokens, marked)
