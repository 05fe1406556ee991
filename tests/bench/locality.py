"""What an edit of a long document costs: `python -m tests.bench.locality [--edits 100] [--script latin]`.

Documents of a megabyte, with headings and without, are edited one paragraph at a time: changed, inserted and
deleted at the start, in the middle and at the end, then at random. Counted is what a model has to be paid for
again: summaries by the text of a chunk, embedding inputs by what is embedded. Prints one JSON object last.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.ingest.chunk import chunk
from shared.ingest.passages import embedding_text, passages
from tests.markdown_samples import document, paragraph

MEGABYTE = 1_000_000
MAX_TOKENS = 480
_KINDS = ("change", "insert", "delete")


@dataclass(frozen=True)
class Inputs:
    """What models are asked for one version of a document."""

    summaries: frozenset[str]
    embeddings: frozenset[str]


def inputs(text: str) -> Inputs:
    chunks = chunk("doc", Extraction(text, Coverage("document", 1, 1)))
    found = passages("doc", chunks, pages=(), count_tokens=lambda part: len(part) // 3, max_tokens=MAX_TOKENS)
    return Inputs(
        frozenset(c.text for c in chunks), frozenset(embedding_text(p.heading_path, p.text) for p in found)
    )


def megabyte(rng: random.Random, script: str, *, headings: bool, size: int = MEGABYTE) -> list[str]:
    """The paragraphs of a document of about `size` bytes."""
    parts: list[str] = []
    written = 0
    while written < size:
        more = document(rng, script, 200, headings=headings).split("\n\n")
        written += sum(len(part.encode()) + 2 for part in more)
        parts += more
    return parts


def edited(rng: random.Random, parts: Sequence[str], kind: str, place: int, script: str) -> list[str]:
    new = [] if kind == "delete" else [paragraph(rng, script)]
    return [*parts[:place], *new, *parts[place + (kind != "insert") :]]


def edits(rng: random.Random, parts: Sequence[str], count: int) -> Iterator[tuple[str, int]]:
    for place in (0, len(parts) // 2, len(parts) - 1):
        for kind in _KINDS:
            yield kind, place
    for _ in range(count):
        yield rng.choice(_KINDS), rng.randrange(len(parts))


def measure(script: str, count: int, *, headings: bool) -> dict[str, object]:
    rng = random.Random(3)
    parts = megabyte(rng, script, headings=headings)
    before = inputs("\n\n".join(parts))
    summaries, embeddings = [], []
    for kind, place in edits(rng, parts, count):
        after = inputs("\n\n".join(edited(rng, parts, kind, place, script)))
        summaries.append(len(after.summaries - before.summaries))
        embeddings.append(len(after.embeddings - before.embeddings))
    return {
        "chunks": len(before.summaries),
        "passages": len(before.embeddings),
        "edits": len(summaries),
        "summaries_median": statistics.median(summaries),
        "summaries_most": max(summaries),
        "embeddings_median": statistics.median(embeddings),
        "embeddings_most": max(embeddings),
    }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="What an edit of a long document costs.")
    parser.add_argument("--edits", type=int, default=100, help="at random, beside nine that are fixed")
    parser.add_argument("--script", default="latin")
    options = parser.parse_args(arguments)
    result = {
        name: measure(options.script, options.edits, headings=headings)
        for name, headings in (("with_headings", True), ("without_headings", False))
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
