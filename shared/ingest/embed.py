"""A vector for every passage, each text paid for once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shared.domain.spending import Purpose, Spending
from shared.domain.text import Passage
from shared.ingest.deadline import Deadline
from shared.ingest.paid import Payer, keep, lookup, paid_id
from shared.ingest.passages import embedding_text
from shared.ingest.summarize import OnProgress
from shared.ports import AccountStore, Clock, Embedder

if TYPE_CHECKING:
    from shared.ports import Vectors


def embed(
    store: AccountStore,
    clock: Clock,
    embedder: Embedder,
    passages: Sequence[Passage],
    *,
    payer: Payer,
    deadline: Deadline,
    on_progress: OnProgress,
) -> Vectors:
    """Vectors, float32 [passages, dimensions], in the order of the passages. Each batch is kept as soon as it
    is made; `on_progress(done, total)` follows it.

    Raises `OutOfTimeError` between two batches, `ModelUnavailableError` when the model does not answer.
    """
    fingerprint = embedder.profile.fingerprint
    texts = [embedding_text(passage.heading_path, passage.text) for passage in passages]
    keys = [paid_id("vec", fingerprint, text) for text in texts]
    by_key = dict(zip(keys, texts, strict=True))
    known = dict(lookup(store, list(by_key)))
    on_progress(sum(key in known for key in keys), len(keys))
    missing = [key for key in by_key if key not in known]
    for batch in _batches(missing, embedder.batch_size):
        deadline.check()
        made = embedder.passages([by_key[key] for key in batch])
        vectors = made.vectors.astype("<f2")
        payloads = {key: row.tobytes() for key, row in zip(batch, vectors, strict=True)}
        spending = Spending(Purpose.EMBEDDING, made.use)
        keep(store, fingerprint, payloads, payer=payer, spending=spending, now=clock.now())
        known.update(payloads)
        on_progress(sum(key in known for key in keys), len(keys))
    rows = [np.frombuffer(known[key], dtype="<f2") for key in keys]
    return (
        np.stack(rows).astype(np.float32) if rows else np.zeros((0, embedder.profile.dimensions), np.float32)
    )


def _batches(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
