"""Reads of an address that come late, twice or at the same time, and the schedule that asks for them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.errors import (
    ConflictError,
    ModelUnavailableError,
    TransientError,
)
from shared.domain.knowledge import DocumentStatus
from shared.ingest.flow import advance
from shared.ingest.tidy import tidy
from shared.library.deletes import delete_document
from shared.library.objects import RevisionRef, prefix
from shared.library.purge import purge
from shared.ports import Fetched, FetchRequest, Query
from shared.records import DOCUMENTS, OUTLINES
from shared.refresh.addresses import request_refresh, retry
from shared.refresh.flow import Outcome, refresh_document
from tests.flows.following import NINE, TEN, Follower, page, texts
from tests.flows.library import make_base
from tests.site import SitePage, redirect

# --- late, repeated and concurrent tasks -----------------------------------------------------------


def test_a_repeated_or_late_task_does_nothing(follower: Follower) -> None:
    document = follower.add()
    (task,) = follower.bench.queue.take("/refresh")
    account, due = follower.who.account_id, int(task.body["window"])
    assert refresh_document(follower.bench, account, document.id, due) is Outcome.CHANGED
    hits = follower.site.hits()
    follower.bench.clock.pass_seconds(60)
    assert refresh_document(follower.bench, account, document.id, due) is Outcome.NOTHING
    assert refresh_document(follower.bench, account, document.id, due - 1) is Outcome.NOTHING
    assert refresh_document(follower.bench, account, "doc_none", due) is Outcome.NOTHING
    assert follower.site.hits() == hits


class Slow:
    """A fetcher whose n-th fetch ends only when it is told to."""

    def __init__(self, follower: Follower, first: str) -> None:
        self._real = follower.bench.fetcher
        self._first = first
        self._follower = follower
        self.started, self.go = threading.Event(), threading.Event()

    def fetch(self, request: FetchRequest) -> Fetched:
        if self.started.is_set():
            return self._real.fetch(request)
        fetched = self._real.fetch(request)
        self.started.set()
        assert self.go.wait(10)
        return fetched


def test_the_newest_of_two_reads_wins(follower: Follower) -> None:
    document = follower.ready()
    account = follower.who.account_id
    follower.site.pages["/page"] = page(NINE.replace("nine", "six"))
    slow = Slow(follower, "six")
    bench = replace(follower.bench, fetcher=slow)
    bench.clock.pass_seconds(3600)
    request_refresh(bench, follower.who, document.id)
    (task,) = bench.queue.take("/refresh")
    outcomes: list[Outcome] = []

    def read() -> None:
        outcomes.append(refresh_document(bench, account, document.id, int(task.body["window"])))

    late = threading.Thread(target=read)
    late.start()
    assert slow.started.wait(10)
    follower.site.pages["/page"] = page(TEN)
    read()
    slow.go.set()
    late.join()
    assert outcomes == [Outcome.CHANGED, Outcome.SUPERSEDED]
    follower.ingest(document.id)
    final = follower.now(document)
    assert final.published is not None
    assert final.published.revision == final.latest_revision == 2
    tidy(bench, RevisionRef(account, document.id, 2))
    assert [text for text in texts(follower) if "opens at" in text] == [
        t for t in texts(follower) if "ten" in t
    ]
    assert len(list(bench.store.of(account).every(OUTLINES, Query()))) == 1
    assert bench.uploads.delete_prefix(prefix(account, document.id, 3)) == 0


def test_a_read_cut_off_before_its_object_was_stored_starts_over(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = follower.ready()
    follower.site.pages["/page"] = page(TEN)
    follower.bench.clock.pass_seconds(3600)
    request_refresh(follower.bench, follower.who, document.id)
    (task,) = follower.bench.queue.take("/refresh")
    due = int(task.body["window"])

    def breaks(*_: object, **__: object) -> int:
        raise TransientError("Storage did not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(follower.bench.uploads, "write", breaks)
        with pytest.raises(TransientError):
            refresh_document(follower.bench, follower.who.account_id, document.id, due)
    assert refresh_document(follower.bench, follower.who.account_id, document.id, due) is Outcome.CHANGED
    follower.ingest(document.id)
    final = follower.now(document)
    assert final.status is DocumentStatus.READY
    assert final.published is not None
    assert final.published.revision == final.latest_revision == 3


def test_a_failed_version_is_read_again(follower: Follower) -> None:
    document = follower.ready()
    follower.site.pages["/page"] = page(TEN)
    follower.bench.clock.pass_seconds(3600)
    request_refresh(follower.bench, follower.who, document.id)
    (task,) = follower.bench.queue.take("/refresh")
    refresh_document(follower.bench, follower.who.account_id, document.id, int(task.body["window"]))
    store = follower.bench.store.of(follower.who.account_id)
    broken = replace(follower.now(document), status=DocumentStatus.FAILED, settled_revision=2)
    store.put_many(DOCUMENTS, [broken])
    final = follower.refresh(document)
    assert final.status is DocumentStatus.READY
    assert final.latest_revision == 3


def test_a_delete_while_an_address_is_read_leaves_nothing(follower: Follower) -> None:
    document = follower.ready()
    follower.site.pages["/page"] = page(TEN)
    bench, account = follower.bench, follower.who.account_id
    write = bench.uploads.write

    def deleted_meanwhile(name: str, data: bytes, **more: object) -> int:
        receipt = delete_document(bench, follower.who, document.id)
        assert purge(bench, account, receipt.id) == "done"
        return write(name, data, **more)  # type: ignore[arg-type]

    bench.clock.pass_seconds(3600)
    request_refresh(bench, follower.who, document.id)
    (task,) = bench.queue.take("/refresh")
    bench.uploads.write = deleted_meanwhile  # type: ignore[method-assign]
    outcome = refresh_document(bench, account, document.id, int(task.body["window"]))
    assert outcome is Outcome.SUPERSEDED
    assert bench.store.of(account).get(DOCUMENTS, document.id) is None
    assert bench.uploads.delete_prefix(prefix(account, document.id)) == 0
    assert bench.derived.delete_prefix(prefix(account, document.id)) == 0
    assert advance(bench, RevisionRef(account, document.id, 2)) == "nothing"


# --- the schedule ----------------------------------------------------------------------------------


def test_the_job_finds_what_is_due_once(follower: Follower) -> None:
    follower.site.pages |= {f"/{n}": page(NINE + f"<p>Floor {n} is closed.</p>") for n in range(3)}
    documents = [follower.ready(f"/{n}", days=n + 1) for n in range(3)]
    follower.add("/page", days=None)
    follower.run()
    assert follower.tick(days=0.9) == []
    assert follower.tick(days=0.2) == [Outcome.UNCHANGED]
    follower.bench.clock.time += timedelta(days=10)
    assert follower.tick() == [Outcome.UNCHANGED] * 3
    assert follower.tick() == []
    receipt = delete_document(follower.bench, follower.who, documents[0].id)
    assert receipt.removed["passages"] > 0
    assert len(follower.tick(days=10)) == 2


def test_reads_of_one_host_are_spread(follower: Follower) -> None:
    follower.bench.settings = replace(follower.bench.settings, fetch_pause_seconds=2.0)
    follower.site.pages |= {f"/{n}": page(NINE + f"<p>Floor {n} is closed.</p>") for n in range(3)}
    for n in range(3):
        follower.ready(f"/{n}", days=1)
    follower.bench.clock.time += timedelta(days=2)
    from shared.refresh.due import find_due

    assert find_due(follower.bench) == "3 due"
    now = follower.bench.clock.time
    tasks = follower.bench.queue.take("/refresh")
    assert [task.at for task in tasks] == [None, now + timedelta(seconds=2), now + timedelta(seconds=4)]


def test_only_documents_with_an_address_are_read(follower: Follower) -> None:
    from tests.flows.library import upload

    document = upload(follower.bench, follower.who, follower.base, "# Notes\n\nHello.")
    with pytest.raises(ConflictError):
        request_refresh(follower.bench, follower.who, document.id)


def test_a_page_through_good_and_bad_days(follower: Follower) -> None:
    """One page through all that may happen to it, one after the other."""
    site = follower.site
    good = page(NINE, etag='"v1"')
    site.pages |= {"/page": good, "/login": page("<h1>Sign in</h1><p>Please sign in to go on.</p>")}
    document = follower.ready(days=1)
    paid = follower.paid()
    steps = [
        (SitePage(b"<h1>500</h1><p>Something broke on our side.</p>", 500), "failed"),
        (redirect("/login"), "failed"),
        (SitePage(b"<html><body><script>render()</script><div id=app></div></body></html>"), "failed"),
        (good, "unchanged"),
        (SitePage(b"<h1>Not here</h1>", 404), "failed"),
        (SitePage(b"<h1>Not here</h1>", 404), "failed"),
        (SitePage(b"<h1>Not here</h1>", 404), "gone"),
        (good, "unchanged"),
    ]
    for answer, outcome in steps:
        site.pages["/page"] = answer
        seen = follower.refresh(document)
        assert follower.report(seen).outcome == outcome
        assert (seen.status, seen.published, seen.error) == (DocumentStatus.READY, document.published, None)
        assert seen.refresh is not None
        assert seen.refresh.next_at is not None
    assert (seen.latest_revision, seen.refresh.failures, seen.refresh.missing) == (1, 0, 0)
    assert follower.paid() == paid


def test_a_version_that_cannot_be_embedded_leaves_the_old_one_until_it_can(follower: Follower) -> None:
    document = follower.ready()
    follower.site.pages["/page"] = page(TEN)
    down = ModelUnavailableError("overloaded")
    follower.bench.embedder.faults = [down] * follower.bench.settings.max_attempts
    failed = follower.refresh(document)
    for _ in range(follower.bench.settings.max_attempts):
        for task in follower.bench.queue.take("/advance"):
            follower.bench.clock.time = max(follower.bench.clock.time, task.at or follower.bench.clock.time)
            follower.ingest(document.id)
    failed = follower.now(document)
    assert failed.status is DocumentStatus.FAILED
    assert failed.error is not None
    assert failed.error.code == "model_unavailable"
    assert failed.published == document.published
    assert failed.live
    retry(follower.bench, follower.who, document.id)
    follower.bench.queue.take("/advance")
    follower.ingest(document.id)
    final = follower.now(document)
    assert final.status is DocumentStatus.READY
    assert final.published is not None
    assert final.published.revision == 2
    tidy(follower.bench, RevisionRef(follower.who.account_id, document.id, 2))
    assert [text for text in texts(follower) if "nine" in text] == []


def test_an_address_that_is_added_again_is_the_same_document(follower: Follower) -> None:
    document = follower.ready(days=7)
    paid = follower.paid()
    follower.bench.clock.pass_seconds(60)
    again = follower.add("/page#part", days=1, title="Hours")
    assert again.id == document.id
    assert follower.run() == [Outcome.UNCHANGED]
    again = follower.now(document)
    assert (again.title, again.refresh and again.refresh.interval_days) == ("Hours", 1)
    assert (again.latest_revision, follower.paid()) == (1, paid)
    other = replace(follower, base=make_base(follower.bench, follower.who, "Second"))
    assert other.add().id != document.id
    delete_document(follower.bench, follower.who, document.id)
    assert follower.add().id != document.id


def test_two_that_add_an_address_at_once_add_it_once(follower: Follower) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: follower.add().id, range(4)))
    assert len(set(made)) == 1
    assert follower.run().count(Outcome.CHANGED) == 1
