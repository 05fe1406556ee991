"""Documents that follow pages of a test's own site, for flow tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from shared.adapters.web.fetcher import WebFetcher
from shared.domain.accounts import Account, Caller, Plan
from shared.domain.knowledge import Document, DocumentStatus, KnowledgeBase, RefreshReport
from shared.domain.text import StoredChunk
from shared.ingest.flow import advance
from shared.library.objects import RevisionRef
from shared.ports import Query
from shared.records import ACCOUNT, CHUNKS, DOCUMENTS
from shared.refresh.addresses import AddressInfo, create_from_address, request_refresh
from shared.refresh.due import find_due
from shared.refresh.flow import Outcome, refresh_document
from tests.flows.library import caller, make_base, read
from tests.flows.workbench import Workbench
from tests.site import Site, SitePage


def page(text: str, **more: Any) -> SitePage:
    """A page with what usually stands around its content."""
    body = f"""<!doctype html><html lang="en"><head><title>Opening hours</title></head><body>
<nav><a href="/">Home</a> <a href="/news">News</a></nav>
<main><h1>Opening hours</h1>{text}</main><footer>All rights reserved</footer></body></html>"""
    return SitePage(body.encode(), **more)


NINE = "<p>The reading room opens at nine in the morning on every working day of the week.</p>"
TEN = NINE.replace("nine", "ten")


@dataclass
class Follower:
    """One account that follows pages of `site`."""

    bench: Workbench
    site: Site
    who: Caller
    base: KnowledgeBase

    def add(self, path: str = "/page", days: int | None = 7, title: str | None = None) -> Document:
        info = AddressInfo(f"{self.site.url}{path}", days, title)
        return create_from_address(self.bench, self.who, self.base.id, info)

    def ready(self, path: str = "/page", days: int | None = 7) -> Document:
        document = self.add(path, days)
        assert self.run() == [Outcome.CHANGED]
        document = self.now(document)
        assert document.status is DocumentStatus.READY
        return document

    def refresh(self, document: Document) -> Document:
        """Asks for a read now and lets everything that follows happen."""
        self.bench.clock.pass_seconds(3600)
        request_refresh(self.bench, self.who, document.id)
        self.run()
        return self.now(document)

    def run(self) -> list[str]:
        """Runs the reads that wait and what the events of their objects start; outcomes of the reads."""
        outcomes = []
        for task in self.bench.queue.take("/refresh"):
            body = task.body
            outcome = refresh_document(
                self.bench, str(body["account"]), str(body["document"]), int(body["window"])
            )
            outcomes.append(outcome)
            if outcome is Outcome.CHANGED:
                self.ingest(str(body["document"]))
        return outcomes

    def ingest(self, document_id: str) -> None:
        document = self.bench.store.of(self.who.account_id).get(DOCUMENTS, document_id)
        assert document is not None
        advance(self.bench, RevisionRef(self.who.account_id, document_id, document.latest_revision))

    def tick(self, days: float = 0) -> list[str]:
        """Time passes, the scheduled job runs, and what it found is done."""
        self.bench.clock.time += timedelta(days=days)
        find_due(self.bench)
        return self.run()

    def now(self, document: Document) -> Document:
        return read(self.bench, self.who, document)

    def report(self, document: Document) -> RefreshReport:
        refresh = self.now(document).refresh
        assert refresh is not None
        assert refresh.last is not None
        return refresh.last

    def paid(self) -> tuple[int, int]:
        """Texts summarised and embedded so far."""
        return len(self.bench.summarizer.inputs), len(self.bench.embedder.inputs)


def follower_on(bench: Workbench, site: Site, account_id: str) -> Follower:
    settings = replace(bench.settings, web_sites=(site.host,), fetch_pause_seconds=0)
    fetcher = WebFetcher(local_sites=[site.host], pause=0, seconds=5)
    bench = replace(bench, settings=settings, fetcher=fetcher)
    who = caller(account_id)
    account = Account(account_id, "Acme", Plan.PRO, bench.clock.now())
    bench.store.of(account_id).create(ACCOUNT, account)
    return Follower(bench, site, who, make_base(bench, who))


@pytest.fixture(scope="module")
def followed_site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def follower(bench: Workbench, followed_site: Site, account_id: str) -> Follower:
    followed_site.pages = {"/page": page(NINE)}
    followed_site.requests.clear()
    return follower_on(bench, followed_site, account_id)


def texts(follower: Follower) -> list[str]:
    chunks: Iterator[StoredChunk] = follower.bench.store.of(follower.who.account_id).every(CHUNKS, Query())
    return [chunk.text for chunk in chunks]
