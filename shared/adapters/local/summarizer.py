"""Summaries without a model key: the sentences that say most of a chunk, in their original order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from shared.adapters.local.textrank import centred_similarity, choose, text_rank
from shared.domain.models import Summary, SummaryRequest, TokenUse
from shared.domain.sentences import is_unspaced, text_size
from shared.domain.summary_size import SummarySize, summary_size
from shared.domain.units import Unit, UnitKind, plain, units
from shared.ports import Embedder

# Embedding one sentence takes about 10 ms. A chunk of 40,000 characters has some 400 of them, and those that
# use its rarer words only never win; 96 keep its summary below a second.
_MOST_CANDIDATES = 96
_WORD = re.compile(r"[^\W\d_]{3,}")


class TextRankSummarizer:
    """Chooses among sentences, list items and table rows. Works in any script."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint = f"textrank-1/{embedder.profile.fingerprint}"

    def summarize(self, request: SummaryRequest) -> Summary:
        size = summary_size(request.text)
        candidates = _candidates(request.text)
        if not candidates:
            return Summary(_opening(request, size))
        if size.sentences is not None and len(candidates) <= size.sentences:
            return Summary(_joined(candidates))
        embedded = self._embedder.passages([unit.text for unit in candidates])
        similarity = centred_similarity(embedded.vectors)
        scores = text_rank(similarity)
        if size.sentences is not None:
            chosen = choose(scores, similarity, [1] * len(candidates), size.sentences)
        else:
            chosen = choose(scores, similarity, [text_size(unit.text) for unit in candidates], size.target)
        text = _joined([candidates[at] for at in chosen])
        return Summary(text, TokenUse(self.fingerprint, embedded.use.input, calls=1))


def _candidates(markdown: str) -> list[Unit]:
    """At most 96 pieces that say something, each once, in reading order."""
    distinct = {unit.text: unit for unit in units(markdown) if _speaks(unit)}
    return _most_typical(list(distinct.values()))


def _speaks(unit: Unit) -> bool:
    return unit.kind in {UnitKind.SENTENCE, UnitKind.ITEM, UnitKind.ROW} and any(map(str.isalpha, unit.text))


def _most_typical(found: Sequence[Unit]) -> list[Unit]:
    """Those whose words are the chunk's frequent ones: mean relative frequency, as SumBasic weighs them."""
    if len(found) <= _MOST_CANDIDATES:
        return list(found)
    words = [_words(unit.text) for unit in found]
    counts = Counter(word for row in words for word in row)
    weight = [sum(counts[word] for word in row) / len(row) if row else 0.0 for row in words]
    best = sorted(range(len(found)), key=lambda at: (-weight[at], at))[:_MOST_CANDIDATES]
    return [found[at] for at in sorted(best)]


def _words(text: str) -> list[str]:
    """Words of three letters and more, and pairs of neighbours where a script puts no blanks."""
    lowered = text.casefold()
    pairs = (a + b for a, b in pairwise(lowered) if is_unspaced(a) and is_unspaced(b))
    return [*_WORD.findall(lowered), *pairs]


def _joined(chosen: Sequence[Unit]) -> str:
    """Running text: scripts without blanks get none between sentences, rows and items get a stop."""
    text = ""
    for unit in chosen:
        piece = unit.text if unit.kind is UnitKind.SENTENCE else _stopped(unit.text)
        glue = "" if not text or (is_unspaced(piece[0]) and text[-1] in "。！？」』”") else " "
        text += glue + piece
    return text


def _stopped(text: str) -> str:
    if text[-1] in ".!?。！？…;；:：":
        return text
    return text + ("。" if is_unspaced(text[-1]) else ".")


def _opening(request: SummaryRequest, size: SummarySize) -> str:
    """For what has no sentence (code, numbers): where it stands, and its first words."""
    lines = (line for line in request.text.splitlines() if not line.strip().startswith(("```", "~~~")))
    words = plain("\n".join(lines))[: 4 * size.target].rstrip()
    place = " > ".join(request.heading_path)
    return ": ".join(part for part in (place, words) if part) or request.text.strip()
