"""What a file becomes on its way to the index. Offsets count Unicode characters, `text[start:end]`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from shared.domain.knowledge import Coverage


@dataclass(frozen=True, slots=True)
class PageSpan:
    """Page `number` (from 1) covers `markdown[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """Markdown of a whole file. `language` is an ISO 639-1 code where it could be told.

    `notes` are machine-readable remarks such as `invisible_characters_removed`.
    """

    markdown: str
    coverage: Coverage
    title: str | None = None
    language: str | None = None
    pages: tuple[PageSpan, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text_sha256(self) -> str:
        """Of the text with every run of blanks as one: equal for what reads alike."""
        return hashlib.sha256(" ".join(self.markdown.split()).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A section of a document: `markdown[start:end] == text` unless a table's header row was repeated in
    front (then `text` is longer and `header` holds the repeated lines).

    `ordinal` counts from 0 in reading order. `pages` is the first and last page, where known.
    `heading_path` is what all sections in it share; `outer` holds the headings (level, title) in force just
    before its text, so that the path of any place inside can be told.
    """

    id: str
    ordinal: int
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    title: str
    pages: tuple[int, int] | None = None
    header: str = ""
    outer: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of a chunk: `chunk.text[start:end] == text`. The unit that is embedded, matched and cited.

    A window that starts between the rows of a table repeats its header row in front: `header` is where that
    stands in the chunk, and `text == chunk.text[header[0]:header[1]] + chunk.text[start:end]`.
    """

    id: str
    chunk_id: str
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    pages: tuple[int, int] | None = None
    header: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as readers get it. It does not hold its position: an edit elsewhere moves that, and the
    chunk's id, text and summary stay. The outline of a revision holds positions."""

    id: str
    document_id: str
    text: str
    summary: str
    tokens: int


@dataclass(frozen=True, slots=True)
class OuterHeading:
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class PageStart:
    """From `at` in a chunk's text on, until the next one, it is on this page."""

    at: int
    page: int


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """`outer` are the headings in force just before the chunk's text; `page_starts` is empty for a chunk that
    stands on one page, or in a format without pages."""

    chunk_id: str
    start: int
    end: int
    heading_path: tuple[str, ...]
    title: str
    pages: tuple[int, int] | None
    outer: tuple[OuterHeading, ...] = ()
    page_starts: tuple[PageStart, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """The chunks of one revision in reading order; its id is the document's id and the revision."""

    id: str
    document_id: str
    revision: int
    entries: tuple[OutlineEntry, ...]
