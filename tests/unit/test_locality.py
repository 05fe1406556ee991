"""An edit of a long document pays for its neighbourhood only, wherever it is."""

from __future__ import annotations

import random

import pytest

from tests.bench.locality import edited, edits, inputs, megabyte

_SIZE = 300_000


@pytest.mark.parametrize("script", ["latin", "chinese"])
@pytest.mark.parametrize("headings", [False, True])
def test_a_paragraph_costs_two_summaries_and_a_few_embeddings(script: str, *, headings: bool) -> None:
    rng = random.Random(17)
    parts = megabyte(rng, script, headings=headings, size=_SIZE)
    before = inputs("\n\n".join(parts))
    for kind, place in edits(rng, parts, 3):
        after = inputs("\n\n".join(edited(rng, parts, kind, place, script)))
        assert len(after.summaries - before.summaries) <= 2, (kind, place)
        assert len(after.embeddings - before.embeddings) <= 8, (kind, place)
