"""From ranked candidates to what the model reads: the minimum first, then one pass that fills k and the token
budget. Every candidate that is left out is told why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.domain.retrieval import Dropped, RetrievedPassage
from shared.retrieve.policy import Policy

BELOW_MINIMUM = "below the minimum similarity"


@dataclass(frozen=True, slots=True)
class Selection:
    chosen: tuple[RetrievedPassage, ...]
    dropped: tuple[Dropped, ...]
    tokens: int


def passes(similarity: float, lexical_share: float, *, minimum: float, lexical_bar: float) -> bool:
    """The minimum is on the raw cosine; strong lexical evidence is the one other way in."""
    return similarity >= minimum or lexical_share >= lexical_bar


def select(candidates: Iterable[RetrievedPassage], policy: Policy) -> Selection:
    """Takes candidates in the order given (best first) as long as the policy has room for them."""
    chosen: list[RetrievedPassage] = []
    dropped: list[Dropped] = []
    chunks: set[str] = set()
    texts: set[str] = set()
    tokens = 0
    rules: tuple[tuple[str, Callable[[RetrievedPassage], bool]], ...] = (
        ("the same text is in the result already", lambda p: _normal(p.text) in texts),
        ("beyond the number of passages", lambda _: _full(len(chosen), policy.max_passages)),
        (
            "beyond the number of chunks",
            lambda p: p.chunk_id not in chunks and _full(len(chunks), policy.max_chunks),
        ),
        ("over the token budget", lambda p: tokens + p.tokens > policy.max_tokens),
    )
    for passage in candidates:
        reason = next((why for why, broken in rules if broken(passage)), None)
        if reason is not None:
            dropped.append(drop(passage, reason))
            continue
        chosen.append(passage)
        chunks.add(passage.chunk_id)
        texts.add(_normal(passage.text))
        tokens += passage.tokens
    return Selection(tuple(chosen), tuple(dropped), tokens)


def drop(passage: RetrievedPassage, reason: str) -> Dropped:
    return Dropped(
        passage.id,
        passage.document_id,
        reason,
        passage.similarity,
        passage.lexical,
        passage.score,
        passage.fused,
        passage.boost,
    )


def _full(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()
