"""When a document's address is read next."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from shared.domain.errors import AlmanacError
from shared.domain.knowledge import Document, Refresh, RefreshOutcome, RefreshReport, SourceKind
from shared.refresh.judge import MissingPageError

GONE_AFTER = 3  # reads in a row that found no page
_FIRST_RETRY = timedelta(minutes=5)
_LONGEST_RETRY = timedelta(days=1)
_LONGEST_PAUSE = timedelta(days=30)
_LONGEST_DETAIL = 500


def window(refresh: Refresh) -> int | None:
    """Names what is due, in microseconds; None when nothing is."""
    return None if refresh.next_at is None else int(refresh.next_at.timestamp() * 1_000_000)


def followed(document: Document | None) -> Refresh | None:
    """How the document follows its address; None when it has none to follow."""
    if document is None or document.source.kind is not SourceKind.URL:
        return None
    return document.refresh


def following(document: Document) -> Refresh:
    """`followed`, of a document that is known to follow an address."""
    refresh = followed(document)
    if refresh is None:
        raise ValueError(f"Document {document.id} follows no address")
    return refresh


def with_interval(refresh: Refresh, days: int | None, now: datetime) -> Refresh:
    """Read every so many days from now on, or only on request. What is due or on its way stays so."""
    if refresh.next_at is not None and (refresh.next_at <= now or refresh.confirmed_at is None):
        return replace(refresh, interval_days=days)
    return replace(refresh, interval_days=days, next_at=_after(now, days))


def after_success(refresh: Refresh, outcome: RefreshOutcome, now: datetime) -> Refresh:
    """The page was there: unchanged, or taken over."""
    return replace(
        refresh,
        last=RefreshReport(outcome, now),
        confirmed_at=now,
        next_at=_after(now, refresh.interval_days),
        failures=0,
        missing=0,
    )


def after_failure(refresh: Refresh, error: AlmanacError, now: datetime, *, max_attempts: int) -> Refresh:
    """The page could not be had. What may pass is tried again soon, then less and less often; the rest waits
    for its turn, and for longer when it stays so. An address with an interval is never given up."""
    failures = refresh.failures + 1
    missing = refresh.missing + 1 if isinstance(error, MissingPageError) else 0
    gone = missing >= GONE_AFTER
    report = RefreshReport(
        RefreshOutcome.GONE if gone else RefreshOutcome.FAILED,
        now,
        error.code,
        f"{error.message} (missing {missing} times in a row)"[:_LONGEST_DETAIL]
        if gone
        else error.message[:_LONGEST_DETAIL],
    )
    interval = None if refresh.interval_days is None else timedelta(days=refresh.interval_days)
    wait = _wait(error, failures, interval, max_attempts=max_attempts)
    return replace(
        refresh,
        last=report,
        failures=failures,
        missing=missing,
        next_at=None if wait is None else now + wait,
    )


def _wait(
    error: AlmanacError, failures: int, interval: timedelta | None, *, max_attempts: int
) -> timedelta | None:
    if error.retryable and (interval is not None or failures < max_attempts):
        soon = min(_FIRST_RETRY * 2.0 ** min(failures - 1, 20), interval or _LONGEST_RETRY, _LONGEST_RETRY)
        asked: float | None = getattr(error, "retry_after", None)
        return max(soon, min(timedelta(seconds=asked or 0), _LONGEST_RETRY))
    if interval is None:
        return None
    longer = interval * 2.0 ** min(max(failures - GONE_AFTER, 0), 5)
    return max(interval, min(longer, _LONGEST_PAUSE))


def _after(now: datetime, days: int | None) -> datetime | None:
    return None if days is None else now + timedelta(days=days)
