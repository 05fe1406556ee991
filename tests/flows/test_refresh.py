"""Documents that follow an address: what comes in, what counts as change, what failures leave."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.errors import (
    UrlForbiddenError,
)
from shared.domain.knowledge import DocumentStatus, RefreshOutcome
from shared.library.documents import DocumentFilter, list_documents
from shared.ports import Query
from shared.records import DOCUMENTS
from shared.refresh.addresses import retry
from shared.refresh.flow import Outcome
from tests.flows.following import NINE, TEN, Follower, page, texts
from tests.pdf_samples import drawn, lines
from tests.site import Site, SitePage, redirect

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
    assert document.refresh.confirmed_at is not None
    assert document.refresh.sha256 == document.sha256
    assert document.refresh.text_sha256 == document.text_sha256
    assert document.refresh.next_at == document.refresh.confirmed_at + timedelta(days=7)
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
