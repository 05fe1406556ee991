"""How long the summary of a chunk should be."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.sentences import text_size

LEAST = 200
MOST = 400


@dataclass(frozen=True, slots=True)
class SummarySize:
    """Words (characters where a script puts no blanks): about `target`, at most `most`. `sentences` is set
    for a chunk that is itself shorter than a summary: then it counts, and the words only bound it."""

    target: int
    most: int
    sentences: int | None = None


def summary_size(text: str) -> SummarySize:
    """A third of the chunk, between 200 and 400 words; one to three sentences for less than 200 words."""
    size = text_size(text)
    if size < LEAST:
        return SummarySize(target=size, most=LEAST, sentences=1 if size < 40 else 2 if size < 100 else 3)
    return SummarySize(target=min(MOST, max(LEAST + 40, size // 3)), most=MOST)
