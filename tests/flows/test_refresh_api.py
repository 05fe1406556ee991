"""Documents of an address as the API shows and changes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.adapters.web.fetcher import WebFetcher
from tests.flows.api_stack import Stack, Tenant, created, problem, stack_on
from tests.flows.chat_stack import Chat
from tests.flows.following import NINE, page
from tests.flows.workbench import Workbench
from tests.site import Site, SitePage


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.pages = {"/page": page(NINE)}
    return running


@pytest.fixture
def stack(bench: Workbench, site: Site) -> Stack:
    settings = replace(bench.settings, web_sites=(site.host,))
    fetcher = WebFetcher(local_sites=[site.host], pause=0)
    return stack_on(replace(bench, settings=settings, fetcher=fetcher))


@pytest.fixture
def tenant(stack: Stack) -> Tenant:
    return stack.tenant()


@pytest.fixture
def path(tenant: Tenant) -> str:
    base = created(tenant.admin("POST", "/v1/knowledge-bases", {"name": "Web", "type": "files"}))
    return f"/v1/knowledge-bases/{base['id']}/documents"


def test_an_address_is_taken_read_and_shown(stack: Stack, tenant: Tenant, path: str, site: Site) -> None:
    body = {"url": f"{site.url}/page#top", "refresh_interval_days": 7, "metadata": {"area": "library"}}
    answer = tenant.admin("POST", path, body)
    assert answer.status_code == 202
    document = created(answer)
    assert document["source"] == {
        "kind": "url", "filename": None, "content_type": None, "url": f"{site.url}/page"
    }  # fmt: skip
    assert (document["status"], document["version"], document["last_refresh"]) == ("uploaded", None, None)
    assert document["refresh_interval_days"] == 7

    assert stack.run_tasks() == ["changed"]
    stack.ingest(tenant, document)
    document = created(tenant.admin("GET", f"/v1/documents/{document['id']}"))
    assert (document["status"], document["title"]) == ("ready", "Opening hours")
    assert document["last_refresh"]["outcome"] == "changed"
    assert document["next_refresh_at"] > document["last_refreshed_at"]

    site.pages["/page"] = SitePage(status=500)
    answer = tenant.admin("POST", f"/v1/documents/{document['id']}:refresh", {})
    assert answer.status_code == 202
    assert stack.run_tasks()[-1] == "failed"
    document = created(tenant.admin("GET", f"/v1/documents/{document['id']}"))
    assert document["status"] == "ready"
    assert document["last_refresh"]["outcome"] == "failed"
    assert document["last_refresh"]["code"] == "fetch_failed"
    assert "500" in document["last_refresh"]["detail"]


def test_the_interval_changes_and_ends(stack: Stack, tenant: Tenant, path: str, site: Site) -> None:
    document = created(tenant.admin("POST", path, {"url": f"{site.url}/page"}))
    assert document["refresh_interval_days"] is None
    one = f"/v1/documents/{document['id']}"
    stack.run_tasks()
    assert created(tenant.admin("GET", one))["next_refresh_at"] is None
    changed = created(tenant.admin("PATCH", one, {"refresh_interval_days": 3}))
    assert changed["refresh_interval_days"] == 3
    assert changed["next_refresh_at"] is not None
    changed = created(tenant.admin("PATCH", one, {"title": "Hours", "refresh_interval_days": None}))
    assert (changed["title"], changed["next_refresh_at"]) == ("Hours", None)


def test_a_failed_address_is_listed_and_tried_again(
    stack: Stack, tenant: Tenant, path: str, site: Site
) -> None:
    site.pages["/page"] = SitePage(status=404)
    document = created(tenant.admin("POST", path, {"url": f"{site.url}/page"}))
    assert stack.run_tasks() == ["failed"]
    (failed,) = created(tenant.admin("GET", "/v1/documents?status=failed"))["items"]
    assert failed["id"] == document["id"]
    assert failed["error"]["code"] == "fetch_failed"
    site.pages["/page"] = page(NINE)
    assert tenant.admin("POST", f"/v1/documents/{document['id']}:retry", {}).status_code == 202
    assert stack.run_tasks() == ["changed"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "http://169.254.169.254/"}, "url_forbidden"),
        ({"url": "http://metadata.google.internal/"}, "url_forbidden"),
        ({"url": "https://user:pass@example.org/"}, "url_forbidden"),
        ({"url": "https://example.org:8443/"}, "url_forbidden"),
        ({"url": ""}, "invalid_request"),
        ({"url": "https://example.org/", "filename": "a.pdf", "size": 3}, "invalid_request"),
        ({"url": "https://example.org/", "refresh_interval_days": 0}, "invalid_request"),
        ({"filename": "a.pdf", "size": 3, "refresh_interval_days": 7}, "invalid_request"),
        ({"refresh_interval_days": 7}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
def test_what_is_no_address_is_refused(body: dict[str, object], code: str, tenant: Tenant, path: str) -> None:
    assert problem(tenant.admin("POST", path, body))[1] == code
    assert created(tenant.admin("GET", "/v1/documents"))["items"] == []


def test_a_file_has_nothing_to_read_again(tenant: Tenant, path: str) -> None:
    document = created(tenant.admin.upload(path, b"Notes.", "notes.txt"))
    one = f"/v1/documents/{document['id']}"
    assert problem(tenant.admin("POST", f"{one}:refresh", {})) == (409, "conflict")
    assert problem(tenant.admin("PATCH", one, {"refresh_interval_days": 3})) == (400, "invalid_request")


def test_others_cannot_have_it_read(stack: Stack, tenant: Tenant, path: str, site: Site) -> None:
    document = created(tenant.admin("POST", path, {"url": f"{site.url}/page"}))
    other = stack.tenant()
    assert problem(other.admin("POST", f"/v1/documents/{document['id']}:refresh", {})) == (404, "not_found")


def test_a_citation_names_the_address(chat: Chat, site: Site) -> None:
    chat.bench.settings = replace(chat.bench.settings, web_sites=(site.host,))
    chat.bench.fetcher = WebFetcher(local_sites=[site.host], pause=0)
    base = chat.base()
    body = {"url": f"{site.url}/page"}
    document = created(chat.tenant.admin("POST", f"/v1/knowledge-bases/{base['id']}/documents", body))
    assert chat.stack.run_tasks() == ["changed"]
    chat.stack.ingest(chat.tenant, document)
    ask = chat.of(chat.tenant.admin)
    question = "When does the reading room open in the morning?"
    found = created(ask("POST", "/v1/retrieve", {"query": question}))
    assert found["passages"][0]["url"] == f"{site.url}/page"
    answer = created(ask("POST", "/v1/chat", {"message": question}))
    assert answer["citations"][0]["url"] == f"{site.url}/page"
    run = created(ask("GET", f"/v1/runs/{answer['id']}"))
    assert run["citations"][0]["url"] == f"{site.url}/page"
