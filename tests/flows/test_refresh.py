"""Documents that follow an address: what comes in, what counts as change, what failures leave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.errors import (
    ConflictError,
    ModelUnavailableError,
    TransientError,
    UrlForbiddenError,
)
from shared.domain.knowledge import DocumentStatus, RefreshOutcome
from shared.domain.text import StoredChunk
from shared.ingest.flow import advance
from shared.ingest.tidy import tidy
from shared.library.deletes import delete_document
from shared.library.documents import DocumentFilter, list_documents
from shared.library.objects import RevisionRef, prefix
from shared.library.purge import purge
from shared.ports import Fetched, FetchRequest, Query
from shared.records import CHUNKS, DOCUMENTS, OUTLINES
from shared.refresh.addresses import request_refresh, retry
from shared.refresh.flow import Outcome, refresh_document
from tests.flows.following import NINE, TEN, Follower, follower_on, page
from tests.flows.library import make_base
from tests.flows.workbench import Workbench
from tests.pdf_samples import drawn, lines
from tests.site import Site, SitePage, redirect


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def follower(bench: Workbench, running: Site, account_id: str) -> Follower:
    running.pages = {"/page": page(NINE)}
    running.requests.clear()
    return follower_on(bench, running, account_id)


def texts(follower: Follower) -> list[str]:
    chunks: Iterator[StoredChunk] = follower.bench.store.of(follower.who.account_id).every(CHUNKS, Query())
    return [chunk.text for chunk in chunks]


# --- the first read --------------------------------------------------------------------------------


def test_an_address_becomes_a_document(follower: Follower) -> None:
    document = follower.add()
    assert document.status is DocumentStatus.UPLOADED
    assert document.title == f"{follower.site.host}/page"
    assert follower.run() == [Outcome.CHANGED]
    document = follower.now(document)
    assert document.status is DocumentStatus.READY
    assert document.title == "Opening hours"
    assert document.source.url == f"{follower.site.url}/page"
    assert document.refresh is not None
    assert document.refresh.sha256 == document.sha256
    assert document.refresh.text_sha256 == document.text_sha256
    assert document.refresh.next_at == document.refresh.confirmed_at + timedelta(days=7)  # type: ignore[operator]
    assert "opens at nine" in texts(follower)[0]
    assert "Home" not in texts(follower)[0]


def test_a_title_that_was_given_stays(follower: Follower) -> None:
    document = follower.add(title="Library")
    follower.run()
    assert follower.now(document).title == "Library"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://localhost:1/", "ftp://example.org/", "http://a@b.org/"]
)
def test_a_forbidden_address_is_refused_at_once(url: str, follower: Follower) -> None:
    follower.site = type("Other", (), {"url": url})()  # type: ignore[assignment]
    with pytest.raises(UrlForbiddenError):
        follower.add("")
    assert list(follower.bench.store.of(follower.who.account_id).every(DOCUMENTS, Query())) == []


@pytest.mark.parametrize("kind", ["application/pdf", "text/html; charset=utf-8", "application/octet-stream"])
def test_the_type_comes_from_the_bytes(kind: str, follower: Follower) -> None:
    follower.site.pages["/download"] = SitePage(drawn(lines("Tide table for the west pier.")), type=kind)
    follower.ready("/download?id=7")
    (text,) = texts(follower)
    assert "Tide table for the west pier." in text
    assert "endobj" not in text


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (SitePage(bytes(range(256)) * 8, type="application/octet-stream"), "unsupported_type"),
        (SitePage(b"\x89PNG\r\n", type="image/png"), "unsupported_type"),
        (SitePage(status=404), "fetch_failed"),
        (SitePage(b"<html><body><script>render()</script></body></html>"), "no_text"),
        (SitePage(b"<h1>Sign in</h1><form><input type='password'></form>"), "fetch_failed"),
        (redirect("http://169.254.169.254/"), "url_forbidden"),
        (SitePage(b"x" * (10 * 1024 * 1024 + 1), type="text/plain"), "too_large"),
    ],
)
def test_what_cannot_become_a_document_is_failed_and_listed(
    answer: SitePage, code: str, follower: Follower
) -> None:
    follower.site.pages["/page"] = answer
    document = follower.add(days=None)
    assert follower.run() == [Outcome.FAILED]
    document = follower.now(document)
    assert document.status is DocumentStatus.FAILED
    assert document.error is not None
    assert document.error.code == code
    assert follower.tick(days=400) == []
    store = follower.bench.store.of(follower.who.account_id)
    wanted = DocumentFilter(status=DocumentStatus.FAILED)
    failed = list_documents(store, follower.who, wanted, limit=10, cursor=None)
    assert [one.id for one in failed.items] == [document.id]


def test_a_server_that_fails_is_asked_again_and_less_and_less_often(follower: Follower) -> None:
    follower.site.pages["/page"] = SitePage(status=503)
    document = follower.add(days=None)
    waits = []
    for attempt in range(1, follower.bench.settings.max_attempts + 1):
        assert follower.tick() == [Outcome.FAILED]
        document = follower.now(document)
        assert document.attempts == attempt
        assert document.refresh is not None
        if document.refresh.next_at is not None:
            assert document.status is DocumentStatus.UPLOADED
            waits.append(document.refresh.next_at - follower.bench.clock.time)
            follower.bench.clock.time = document.refresh.next_at
    assert waits == [timedelta(minutes=5 * 2**n) for n in range(len(waits))]
    assert document.status is DocumentStatus.FAILED
    assert follower.tick(days=100) == []
    follower.site.pages["/page"] = page(NINE)
    retry(follower.bench, follower.who, document.id)
    assert follower.run() == [Outcome.CHANGED]
    assert follower.now(document).status is DocumentStatus.READY


def test_a_server_says_when_to_come_back(follower: Follower) -> None:
    document = follower.ready()
    follower.site.pages["/page"] = SitePage(status=429, headers={"Retry-After": "7200"})
    document = follower.refresh(document)
    assert document.refresh is not None
    assert document.refresh.next_at == follower.bench.clock.time + timedelta(hours=2)


# --- what counts as change -------------------------------------------------------------------------


def test_the_same_bytes_cost_nothing(follower: Follower) -> None:
    document = follower.ready()
    paid = follower.paid()
    again = follower.refresh(document)
    assert follower.report(again).outcome is RefreshOutcome.UNCHANGED
    assert (again.latest_revision, again.published, follower.paid()) == (1, document.published, paid)


def test_a_page_with_a_tag_is_not_even_sent(follower: Follower) -> None:
    follower.site.pages["/page"] = page(NINE, etag='"v1"')
    document = follower.refresh(follower.ready())
    assert follower.site.requests[-1][1]["if-none-match"] == '"v1"'
    assert follower.report(document).outcome is RefreshOutcome.UNCHANGED
    assert document.refresh is not None
    assert document.refresh.etag == '"v1"'


def test_what_changes_at_every_visit_is_no_change(follower: Follower) -> None:
    def visit(number: int) -> SitePage:
        noise = f"""<!-- build {number} --><script nonce=a{number}>x()</script>
<form><input type=hidden name=csrf value=token{number}></form>
<p>Last updated: 2026-12-0{number} 10:00:0{number}</p><p>Page generated in 0.01{number} s by node-{number}</p>
<p>{number},204 views</p><p>Build a9f8b7c{number}</p><p>更新时间：2026-12-0{number} 10:00</p>
<p>More on <a href="/next?sid=aaa{number}&p=2">the next page</a>.</p>
<nav><a href=/{number}>Page {number}</a></nav>"""
        return page(NINE + noise)

    follower.site.pages["/page"] = visit(1)
    document = follower.ready()
    paid = follower.paid()
    follower.site.pages["/page"] = visit(2)
    document = follower.refresh(document)
    assert follower.report(document).outcome is RefreshOutcome.UNCHANGED
    assert (document.latest_revision, follower.paid()) == (1, paid)


def test_an_edit_becomes_a_version_and_pays_for_what_changed(follower: Follower) -> None:
    sections = [
        f"<h2>Hall {n}</h2><p>{f'Hall {n} keeps crates of kind {n}, dry and dark. ' * 95}</p>"
        for n in range(6)
    ]
    follower.site.pages["/page"] = page("".join(sections))
    document = follower.ready()
    paid = follower.paid()
    sections[3] = sections[3].replace("crates of kind 3", "nothing at all", 1)
    follower.site.pages["/page"] = page("".join(sections))
    document = follower.refresh(document)
    assert follower.report(document).outcome is RefreshOutcome.CHANGED
    assert document.published is not None
    assert document.published.revision == 2
    summaries, embeddings = (now - then for now, then in zip(follower.paid(), paid, strict=True))
    assert summaries == 1
    assert 1 <= embeddings <= 3


def test_many_small_changes_do_not_add_up_unseen(follower: Follower) -> None:
    follower.site.pages["/page"] = page(NINE + "<p>100 views</p>")
    document = follower.ready()
    follower.site.pages["/page"] = page(NINE + "<p>200 views</p>")
    document = follower.refresh(document)
    follower.site.pages["/page"] = page(TEN + "<p>200 views</p>")
    document = follower.refresh(document)
    assert follower.report(document).outcome is RefreshOutcome.CHANGED
    assert "opens at ten" in texts(follower)[0] + texts(follower)[-1]


# --- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (SitePage(b"<h1>500</h1>", 500), "fetch_failed"),
        (redirect("/account/login?next=/page"), "fetch_failed"),
        (SitePage(b"<html><body><div id=app></div><script>render()</script></body></html>"), "no_text"),
        (SitePage(b"<html><title>Error 503</title><p>We are working on it.</p></html>"), "fetch_failed"),
        (redirect("http://10.0.0.1/"), "url_forbidden"),
    ],
)
def test_a_failure_keeps_the_last_good_version_and_shows_itself(
    answer: SitePage, code: str, follower: Follower
) -> None:
    document = follower.ready()
    paid = follower.paid()
    follower.site.pages |= {"/page": answer, "/account/login": page("<h1>Sign in</h1><p>Please sign in.</p>")}
    failed = follower.refresh(document)
    report = follower.report(failed)
    assert (report.outcome, report.code) == (RefreshOutcome.FAILED, code)
    assert report.detail
    assert (failed.status, failed.published, failed.error) == (DocumentStatus.READY, document.published, None)
    assert failed.refresh is not None
    assert failed.refresh.next_at is not None
    assert follower.paid() == paid
    follower.site.pages["/page"] = page(NINE)
    again = follower.refresh(failed)
    assert follower.report(again).outcome is RefreshOutcome.UNCHANGED
    assert again.refresh is not None
    assert (again.refresh.failures, again.latest_revision) == (0, 1)


def test_another_host_in_its_place_is_a_failure(follower: Follower) -> None:
    with Site() as other:
        other.pages["/welcome"] = page("<p>Domains for sale.</p>")
        bench = follower.bench
        hosts = (follower.site.host, other.host.replace("127.0.0.1", "localhost"))
        follower.bench = replace(
            bench,
            settings=replace(bench.settings, web_sites=hosts),
            fetcher=type(bench.fetcher)(local_sites=hosts, pause=0),  # type: ignore[call-arg]
        )
        document = follower.ready()
        follower.site.pages["/page"] = redirect(f"http://{hosts[1]}/welcome")
        failed = follower.refresh(document)
        assert other.hits() == 1
    report = follower.report(failed)
    assert report.outcome is RefreshOutcome.FAILED
    assert "another host, localhost" in (report.detail or "")
    assert failed.published == document.published


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_stays_away_is_gone_but_not_forgotten(status: int, follower: Follower) -> None:
    document = follower.ready(days=1)
    follower.site.pages["/page"] = SitePage(status=status)
    outcomes, waits = [], []
    for _ in range(8):
        refresh = follower.now(document).refresh
        assert refresh is not None
        assert refresh.next_at is not None
        waits.append(refresh.next_at - follower.bench.clock.time)
        follower.bench.clock.time = refresh.next_at
        assert follower.tick() == [Outcome.FAILED]
        outcomes.append(follower.report(document).outcome)
    assert outcomes == [RefreshOutcome.FAILED] * 2 + [RefreshOutcome.GONE] * 6
    assert waits == sorted(waits)
    assert waits[0] == timedelta(days=1)
    assert waits[-1] <= timedelta(days=30)
    assert follower.now(document).live
    follower.site.pages["/page"] = page(TEN)
    assert follower.tick(days=40) == [Outcome.CHANGED]
    assert follower.report(document).outcome is RefreshOutcome.CHANGED


def test_the_same_page_at_every_address_replaces_nothing(follower: Follower) -> None:
    follower.site.pages |= {"/a": page(NINE), "/b": page(TEN)}
    first, second = follower.ready("/a"), follower.ready("/b")
    follower.site.pages["/b"] = follower.site.pages["/a"]
    failed = follower.refresh(second)
    report = follower.report(failed)
    assert report.outcome is RefreshOutcome.FAILED
    assert first.id in (report.detail or "")
    assert failed.published == second.published


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
