"""A whole site in one refresh cycle: what is fetched, read, and paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from emulators.models.server import ModelStubs
from shared.adapters.anthropic_models import AnthropicSummarizer
from shared.adapters.openai_embeddings import OpenAIEmbedder
from shared.domain.knowledge import Document, RefreshOutcome
from shared.domain.text import Extraction
from shared.ingest.extract import sandbox
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read
from shared.ports import Query
from shared.records import DOCUMENTS
from tests.flows.following import Follower, follower_on, page
from tests.flows.workbench import Workbench
from tests.site import Site, SitePage, redirect

PAGES, CHANGED, GONE, FAILING, LOGIN, VOLATILE = 200, 20, 5, 5, 5, 10


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def _text(number: int, mood: str = "dry") -> str:
    return f"<p>Hall {number} keeps crates of kind {number}, {mood} and in the dark.</p>"


def _content(number: int, visit: int) -> SitePage:
    """Every other page has a tag; the volatile ones show another stamp at every visit."""
    if CHANGED <= number < CHANGED + VOLATILE:
        stamp = (
            f"<p>Generated at 2026-12-01 10:00:{visit:02} by node-{visit}</p><script>nonce={visit}</script>"
        )
        return page(_text(number) + stamp)
    return page(_text(number), etag=f'"{number}"' if number % 2 else None)


def _later(site: Site) -> dict[str, RefreshOutcome]:
    """Changes the site; what each of its pages should come to."""
    expected = {}
    kinds = [RefreshOutcome.CHANGED] * CHANGED + [RefreshOutcome.UNCHANGED] * VOLATILE
    kinds += [RefreshOutcome.FAILED] * (GONE + FAILING + LOGIN)
    kinds += [RefreshOutcome.UNCHANGED] * (PAGES - len(kinds))
    for number, kind in enumerate(kinds):
        path = f"/{number}"
        expected[path] = kind
        place = number - CHANGED - VOLATILE
        if kind is RefreshOutcome.CHANGED:
            site.pages[path] = page(_text(number, "cold"), etag=f'"{number}b"')
        elif place < 0 or place >= GONE + FAILING + LOGIN:
            site.pages[path] = _content(number, 2)
        elif place < GONE:
            site.pages[path] = SitePage(status=410)
        elif place < GONE + FAILING:
            site.pages[path] = SitePage(b"<h1>500</h1>", 500)
        else:
            site.pages[path] = redirect("/login")
    site.pages["/login"] = page("<h1>Sign in</h1>")
    return expected


@dataclass
class _Extractions:
    """Counts the files that are read, and reads them here: a process for each would take half a minute."""

    count: int = 0

    def __call__(self, data: bytes, *, name_hint: str, type_hint: str, **_: object) -> Extraction:
        self.count += 1
        return read(data, Hints(name_hint, type_hint))


def _with_paid_models(bench: Workbench, stubs: ModelStubs) -> Workbench:
    embedder = OpenAIEmbedder(api_key="k", base_url=stubs.openai_url, model="text-embedding-3-small")
    summarizer = AnthropicSummarizer(api_key="k", base_url=stubs.anthropic_url, model="claude-haiku-5-5")
    return replace(bench, embedder=embedder, summarizer=summarizer)  # type: ignore[arg-type]


def _paths(follower: Follower) -> dict[str, Document]:
    store = follower.bench.store.of(follower.who.account_id)
    documents: Iterator[Document] = store.every(DOCUMENTS, Query())
    return {(document.source.url or "").removeprefix(follower.site.url): document for document in documents}


@pytest.mark.slow
def test_a_cycle_pays_for_what_changed_and_for_nothing_else(
    bench: Workbench, site: Site, stubs: ModelStubs, account_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubs.openai.reset()
    stubs.anthropic.reset()
    extractions = _Extractions()
    monkeypatch.setattr(sandbox, "run", extractions)
    follower = follower_on(_with_paid_models(bench, stubs), site, account_id)
    for number in range(PAGES):
        site.pages[f"/{number}"] = _content(number, 1)
        follower.add(f"/{number}", days=1)
    assert Counter(follower.run()) == {"changed": PAGES}
    before = _paths(follower)
    imported = len(stubs.anthropic.calls), len(stubs.openai.inputs()), site.hits(), extractions.count

    expected = _later(site)
    outcomes = Counter(follower.tick(days=1.1))

    after = _paths(follower)
    table = {
        "due": sum(outcomes.values()),
        "fetched": site.hits() - imported[2],
        "conditional": sum(1 for path, headers in site.requests[-PAGES:] if "if-none-match" in headers),
        "extracted": extractions.count - imported[3],
        "summarised": len(stubs.anthropic.calls) - imported[0],
        "embedded": len(stubs.openai.inputs()) - imported[1],
    }
    print(table)
    assert imported[:2] == (PAGES, PAGES)
    assert outcomes == {"changed": CHANGED, "failed": GONE + FAILING + LOGIN, "unchanged": PAGES - 35}
    assert table["due"] == PAGES
    assert table["fetched"] == PAGES + LOGIN
    assert table["extracted"] == CHANGED + VOLATILE
    assert table["summarised"] == CHANGED
    assert table["embedded"] == CHANGED
    for path, outcome in expected.items():
        refresh = after[path].refresh
        assert refresh is not None
        assert refresh.last is not None
        assert refresh.last.outcome is outcome
        assert refresh.next_at is not None
        assert after[path].live
        if outcome is not RefreshOutcome.CHANGED:
            assert after[path].published == before[path].published
