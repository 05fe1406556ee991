"""The stack inside a test: its parts can be watched and disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
import requests

from emulators.environment import QUEUE, SERVICE_ACCOUNT, Addresses, function_environment
from emulators.events.disturbance import Disturbance
from emulators.identity import TokenIssuer
from emulators.models.server import ModelStubs
from emulators.stack import EmbeddedStack
from shared.adapters.tasks import connect
from shared.settings import Settings
from tests.site import Site, SitePage

TEXT = "# Opening hours\n\nThe workshop opens at seven in the morning and closes at four in the afternoon.\n"


@pytest.fixture(scope="module")
def stubs() -> Iterator[ModelStubs]:
    with ModelStubs() as stubs:
        yield stubs


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture(scope="module")
def stack(stubs: ModelStubs, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    folder = tmp_path_factory.mktemp("stack")
    env = {
        **stubs.environment(),
        "ALMANAC_LEASE_SECONDS": "3",
        "ALMANAC_WEB_EMULATOR_HOST": site.host,
        "ALMANAC_FETCH_PAUSE_SECONDS": "0",
    }
    with EmbeddedStack(data_dir=folder, instances={"chat": 2}, env=env, wait_scale=0.02) as stack:
        yield stack


@pytest.fixture(scope="module")
def knowledge_base(stack: EmbeddedStack) -> str:
    body = {"name": "Hours", "type": "files", "description": "When we are open"}
    name: str = call(stack, "POST", "/v1/knowledge-bases", json=body).json()["id"]
    return name


def call(stack: EmbeddedStack, method: str, path: str, **arguments: object) -> requests.Response:
    headers = {"Authorization": f"Bearer {stack.accounts['acme']['keys']['admin']}"}
    return requests.request(  # type: ignore[no-any-return]
        method, f"{stack.api_url}{path}", headers=headers, timeout=60, **arguments
    )


def wait_for(condition: Callable[[], bool], explain: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.05)


def wait_until_ready(stack: EmbeddedStack, document: str) -> None:
    def shown() -> dict[str, object]:
        seen: dict[str, object] = call(stack, "GET", f"/v1/documents/{document}").json()
        return seen

    wait_for(lambda: shown()["status"] == "ready", shown)


def upload(stack: EmbeddedStack, knowledge_base: str, text: str) -> str:
    answer = call(
        stack,
        "POST",
        f"/v1/knowledge-bases/{knowledge_base}/documents",
        files={"file": ("hours.md", text.encode())},
    )
    assert answer.status_code == 202, answer.text
    name: str = answer.json()["id"]
    return name


def test_an_upload_by_the_client_itself_is_ingested(
    stack: EmbeddedStack, knowledge_base: str, stubs: ModelStubs
) -> None:
    answer = call(
        stack,
        "POST",
        f"/v1/knowledge-bases/{knowledge_base}/documents",
        json={"filename": "hours.md", "size": len(TEXT)},
    )
    assert answer.status_code == 201, answer.text
    target, document = answer.json()["upload"], answer.json()["document"]
    assert datetime.fromisoformat(target["expires_at"]) > datetime.now(UTC)
    sent = requests.request(
        target["method"], target["url"], headers=target["headers"], data=TEXT.encode(), timeout=30
    )
    assert sent.status_code == 200, sent.text
    wait_until_ready(stack, document["id"])
    assert any("seven in the morning" in text for text in stubs.openai.inputs())


def test_every_chat_instance_answers_from_the_same_knowledge(
    stack: EmbeddedStack, knowledge_base: str, stubs: ModelStubs
) -> None:
    body = {"message": "When does the workshop open?", "knowledge_base_ids": [knowledge_base]}
    for _ in stack.functions.instances("chat"):
        answer = call(stack, "POST", "/v1/chat", json=body)
        assert answer.status_code == 200, answer.text
        assert "seven in the morning" in answer.json()["answer"]
        assert answer.json()["citations"][0]["title"] == "hours"
    asked = [made.texts[-1] for made in stubs.anthropic.calls if "<question>" in made.texts[-1]]
    assert len(asked) == 2


def test_documents_become_whole_through_disturbed_events_and_kills(
    stack: EmbeddedStack, knowledge_base: str
) -> None:
    stack.events.disturb(Disturbance(duplicates=1, spread=0.5, lost=0.2, forgotten=0.2, seed=5))
    documents = [
        upload(stack, knowledge_base, f"{TEXT}\n## Door {n}\n\nDoor {n} is locked.") for n in range(6)
    ]
    for _ in range(3):
        time.sleep(0.3)
        stack.functions.kill("ingest")
    stack.firestore.kill()
    stack.firestore.start()
    for document in documents:
        wait_until_ready(stack, document)
    stack.events.disturb(None)
    assert stack.events.wait_until_idle()


def test_a_page_is_followed(stack: EmbeddedStack, site: Site, knowledge_base: str) -> None:
    site.pages["/hours"] = SitePage(b"<h1>Library</h1><p>The library opens at nine.</p>")
    body = {"url": f"{site.url}/hours", "refresh_interval_days": 1}
    made = call(stack, "POST", f"/v1/knowledge-bases/{knowledge_base}/documents", json=body)
    assert made.status_code == 202, made.text
    document = made.json()["id"]
    wait_until_ready(stack, document)
    site.pages["/hours"] = SitePage(b"<h1>Library</h1><p>The library opens at ten, except on Mondays.</p>")
    assert call(stack, "POST", f"/v1/documents/{document}:refresh", json={}).status_code == 202
    wait_for(lambda: call(stack, "GET", f"/v1/documents/{document}").json()["version"] == 2)
    query = {"query": "When does the library open?", "knowledge_base_ids": [knowledge_base]}
    found = call(stack, "POST", "/v1/retrieve", json=query).json()
    (passage,) = [one for one in found["passages"] if one["document_id"] == document]
    assert "ten, except on Mondays" in passage["text"]
    assert passage["url"] == f"{site.url}/hours"


def test_the_schedule_makes_up_for_a_task_that_got_lost(
    stack: EmbeddedStack, site: Site, knowledge_base: str
) -> None:
    site.pages["/rules"] = SitePage(b"<h1>Rules</h1><p>Books are lent for three weeks.</p>")
    stack.tasks.hold()
    body = {"url": f"{site.url}/rules"}
    made = call(stack, "POST", f"/v1/knowledge-bases/{knowledge_base}/documents", json=body)
    client = connect(stack.tasks.host)
    client.purge_queue(name=QUEUE)
    client.transport.close()
    stack.tasks.release()
    assert site.hits("/rules") == 0
    stack.clock.advance(2 * 3600)  # the name of the lost task is free again, and every job's time has come
    wait_until_ready(stack, made.json()["id"])
    assert stack.scheduler.wait_until_idle()
    assert {(ran.job, ran.status) for ran in stack.scheduler.ran} == {("refresh-due", 200), ("sweep", 200)}
    assert site.hits("/rules") == 1


def test_nobody_else_may_call_for_work(stack: EmbeddedStack) -> None:
    url = stack.functions.url("tasks")
    forged = f"Bearer {TokenIssuer().token(SERVICE_ACCOUNT, url)}"
    other = f"Bearer {stack.tokens.token('eve@demo-almanac.iam.gserviceaccount.com', url)}"
    for headers, status in (({}, 401), ({"Authorization": forged}, 401), ({"Authorization": other}, 403)):
        answer = requests.post(f"{url}/due", json={}, headers=headers, timeout=10)
        assert answer.status_code == status
    ours = f"Bearer {stack.tokens.token(SERVICE_ACCOUNT, url)}"
    assert requests.post(f"{url}/due", json={}, headers={"Authorization": ours}, timeout=10).ok


def test_the_router_can_go_away_and_come_back(stack: EmbeddedStack) -> None:
    address = stack.api_url
    stack.router.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{address}/health", timeout=5)
    stack.router.start()
    assert stack.api_url == address
    assert requests.get(f"{address}/health", timeout=30).status_code == 200


def test_functions_see_the_stack_and_nothing_foreign() -> None:
    addresses = Addresses(
        firestore_host="127.0.0.1:1",
        storage_url="http://127.0.0.1:2",
        tasks_host="127.0.0.1:3",
        redis_url="redis://127.0.0.1:4/0",
        tasks_function_url="http://127.0.0.1:5",
    )
    inherited = {
        "PATH": "/bin",
        "K_SERVICE": "chat",
        "OPENAI_API_KEY": "sk-real",
        "FIRESTORE_EMULATOR_HOST": "elsewhere:1",
        "REDIS_URL": "redis://elsewhere:1/0",
        "NO_PROXY": "intranet",
    }
    seen = function_environment(inherited, addresses, {"ALMANAC_LEASE_SECONDS": "5"}, paid_models=False)
    assert seen["PATH"] == "/bin"
    assert seen["FIRESTORE_EMULATOR_HOST"] == "127.0.0.1:1"
    assert Settings.from_env(seen).redis_url == "redis://127.0.0.1:4/0"
    assert seen["ALMANAC_LEASE_SECONDS"] == "5"
    assert seen["NO_PROXY"] == "intranet,127.0.0.1,localhost"
    assert not {"K_SERVICE", "OPENAI_API_KEY"} & set(seen)
    paid = function_environment(inherited, addresses, {}, paid_models=True)
    assert paid["OPENAI_API_KEY"] == "sk-real"
