"""A summary for every chunk, each paid for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.domain.models import SummaryRequest
from shared.domain.spending import Purpose, Spending
from shared.domain.text import Chunk
from shared.ingest.deadline import Deadline
from shared.ingest.paid import Payer, keep, lookup, paid_id
from shared.ports import AccountStore, Clock, Summarizer

OnProgress = Callable[[int, int], None]


def summarize(
    store: AccountStore,
    clock: Clock,
    summarizer: Summarizer,
    chunks: Sequence[Chunk],
    *,
    payer: Payer,
    language: str | None,
    deadline: Deadline,
    on_progress: OnProgress,
) -> dict[str, str]:
    """Summaries by chunk id. Each one is kept as soon as it is made; `on_progress(done, total)` follows it.

    Raises `OutOfTimeError` between two calls, `ModelUnavailableError` when the model does not answer.
    """
    keys = {chunk.id: _key(summarizer, chunk) for chunk in chunks}
    known = dict(lookup(store, list(keys.values())))
    on_progress(sum(key in known for key in keys.values()), len(chunks))
    for chunk in chunks:
        key = keys[chunk.id]
        if key in known:
            continue
        deadline.check()
        summary = summarizer.summarize(SummaryRequest(chunk.text, chunk.heading_path, language))
        known[key] = summary.text.encode()
        keep(
            store,
            summarizer.fingerprint,
            {key: known[key]},
            payer=payer,
            spending=Spending(Purpose.SUMMARY, summary.use),
            now=clock.now(),
        )
        on_progress(sum(key in known for key in keys.values()), len(chunks))
    return {chunk.id: known[keys[chunk.id]].decode() for chunk in chunks}


def _key(summarizer: Summarizer, chunk: Chunk) -> str:
    # Without the headings above: renaming a document's title must not pay for all of its summaries again.
    return paid_id("sum", summarizer.fingerprint, chunk.text)
