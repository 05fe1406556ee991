"""Images and the words that describe them."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.domain.models import TokenUse


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a closed vocabulary, and what it means here, where that is written down."""

    word: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """`content_type` is told from the bytes."""

    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class DescribeRequest:
    """`refused` are words of the answer before, which are in neither vocabulary."""

    image: Image
    tags: tuple[Word, ...]
    flags: tuple[Word, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    description: str
    tags: tuple[str, ...]
    flags: tuple[str, ...]
    use: TokenUse = field(default_factory=TokenUse)
