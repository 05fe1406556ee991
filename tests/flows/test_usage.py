"""What is counted of calls to models, and what the API tells of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs
from shared.adapters.anthropic_models import AnthropicSummarizer
from shared.adapters.openai_embeddings import OpenAIEmbedder
from shared.domain.accounts import Permission
from shared.domain.models import TokenUse
from shared.domain.spending import Purpose, Spending
from shared.ingest.flow import advance
from shared.library.objects import RevisionRef
from shared.ports import Query
from shared.records import PENDING_USAGE, USAGE
from shared.tenancy.usage import SHARDS, count_work, settle_work
from tests.flows.api_stack import Api, Stack, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat, Unhurried
from tests.flows.test_chat_stream import ask

LONG = "\n\n".join(
    f"# Part {n}\n\n" + f"Rule {n} of the house is told here in full. " * 100 for n in range(3)
)


@pytest.fixture
def paid(chat: Chat, stubs: ModelStubs) -> Chat:
    """A chat whose documents are summarised and embedded by paid models too."""
    stubs.openai.reset()
    chat.bench.summarizer = AnthropicSummarizer(  # type: ignore[assignment]
        api_key="k", base_url=stubs.anthropic_url, model="claude-haiku-5-5", gateway=Unhurried()
    )
    chat.bench.embedder = OpenAIEmbedder(  # type: ignore[assignment]
        api_key="k", base_url=stubs.openai_url, gateway=Unhurried()
    )
    return chat


def usage(api: Api, query: str = "") -> dict[str, Any]:
    return created(api("GET", f"/v1/usage?{query}"))


def by(api: Api, group: str) -> dict[Any, dict[str, Any]]:
    return {item[group]: item for item in usage(api, f"group_by={group}")["items"]}


def document_of(chat: Chat, document: dict[str, Any]) -> dict[str, Any]:
    return created(chat.tenant.admin("GET", f"/v1/documents/{document['id']}"))


def test_a_document_is_counted_and_says_what_it_cost(paid: Chat, stubs: ModelStubs) -> None:
    base = paid.base()
    document = paid.upload(base, LONG)
    spent = document_of(paid, document)["spent"]
    assert spent["calls"] == len(stubs.anthropic.calls) + len(stubs.openai.calls) == 4
    found = by(paid.tenant.admin, "purpose")
    assert set(found) == {"summary", "embedding"}
    embedded = found["embedding"]
    assert embedded["cost_microdollars"] == pytest.approx(embedded["input_tokens"] * 0.02)
    summed = found["summary"]
    assert summed["calls"] == 3
    cost = summed["input_tokens"] * 0.10 + summed["output_tokens"] * 0.50
    assert summed["cost_microdollars"] == pytest.approx(cost)
    assert spent["cost_microdollars"] == pytest.approx(cost + embedded["cost_microdollars"])
    (item,) = usage(paid.tenant.admin)["items"]
    assert item["knowledge_base_id"] == base["id"]
    assert (item["documents"], item["runs"]) == (1, 0)
    assert item["input_tokens"] == spent["input_tokens"]
    assert paid.tenant.records.count(PENDING_USAGE, Query()) == 0


def test_what_was_paid_already_is_not_counted_again(paid: Chat) -> None:
    first, second = paid.base("First"), paid.base("Second")
    document = paid.upload(first, LONG)
    before = usage(paid.tenant.admin)["total"]
    paid.stack.ingest(paid.tenant, document)  # the event comes twice
    copy = paid.upload(second, LONG)
    assert document_of(paid, copy)["spent"]["calls"] == 0
    assert usage(paid.tenant.admin)["total"] == before


def test_a_broken_ingest_counts_each_call_once(paid: Chat, stubs: ModelStubs) -> None:
    stubs.openai.then(*[Fault.server_error()] * 3)
    document = paid.upload(paid.base(), LONG)
    assert document_of(paid, document)["spent"]["calls"] == 3  # the summaries; what failed cost nothing
    paid.stack.deps.clock.pass_seconds(600)
    paid.stack.run_tasks()
    assert document_of(paid, document)["status"] == "ready"
    assert document_of(paid, document)["spent"]["calls"] == 4
    assert usage(paid.tenant.admin)["total"]["calls"] == 4
    assert usage(paid.tenant.admin)["total"]["documents"] == 1


def test_a_worker_that_dies_leaves_what_it_paid_counted(paid: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dead(BaseException):
        pass

    def die(*_: object) -> None:
        raise Dead

    base = paid.base()
    path = f"/v1/knowledge-bases/{base['id']}/documents"
    document = created(paid.tenant.admin.upload(path, LONG.encode(), "a.md"))
    with monkeypatch.context() as patch:
        patch.setattr("shared.ingest.flow.publish_content", die)
        patch.setattr("shared.ingest.flow.settle_work", lambda *_: None)
        with pytest.raises(Dead):
            paid.stack.ingest(paid.tenant, document)
    total = usage(paid.tenant.admin)["total"]
    assert (total["calls"], total["documents"]) == (4, 0)
    paid.stack.deps.clock.pass_seconds(1_000)
    advance(paid.stack.deps, RevisionRef(paid.tenant.account.id, document["id"], 1))
    assert usage(paid.tenant.admin)["total"] == {**total, "documents": 1}
    assert document_of(paid, document)["spent"]["calls"] == 4


def test_a_run_is_counted_with_all_of_its_calls(paid: Chat) -> None:
    base = paid.base()
    paid.upload(base, HANDBOOK)
    api = paid.of(paid.tenant.admin)
    before = usage(paid.tenant.admin)["total"]
    answer = created(api("POST", "/v1/chat", {"message": LEAVE_QUESTION}))
    run = created(api("GET", f"/v1/runs/{answer['id']}"))
    question, answered = run["spent"]
    assert (question["purpose"], question["model"]) == ("question", "text-embedding-3-small")
    assert (answered["purpose"], answered["model"], answered["calls"]) == ("answer", "claude-sonnet-5-5", 1)
    assert answered["input_tokens"] == answer["usage"]["input_tokens"] > 0
    assert answered["cost_microdollars"] == pytest.approx(
        (answered["input_tokens"] - answered["cached_tokens"] - answered["cache_write_tokens"]) * 2
        + answered["cached_tokens"] * 0.2
        + answered["cache_write_tokens"] * 2.5
        + answered["output_tokens"] * 10
    )
    assert run["cost_microdollars"] == pytest.approx(
        question["cost_microdollars"] + answered["cost_microdollars"]
    )
    total = usage(paid.tenant.admin)["total"]
    assert total["runs"] == 1
    assert total["cost_microdollars"] - before["cost_microdollars"] == pytest.approx(run["cost_microdollars"])
    (item,) = usage(paid.tenant.admin)["items"]
    assert (item["knowledge_base_id"], item["day"]) == (base["id"], "2026-03-01")


def test_a_search_by_itself_is_counted(paid: Chat) -> None:
    paid.upload(paid.base(), HANDBOOK)
    api = paid.of(paid.tenant.admin)
    for _ in range(2):
        created(api("POST", "/v1/retrieve", {"query": LEAVE_QUESTION}))
    found = by(paid.tenant.admin, "purpose")["question"]
    assert (found["calls"], found["runs"]) == (2, None)


def test_an_answer_that_breaks_off_was_paid(paid: Chat, stubs: ModelStubs) -> None:
    paid.upload(paid.base(), HANDBOOK)
    api = paid.of(paid.tenant.admin)
    stubs.anthropic.always(Fault.cut(9))
    broken = ask(api)[-1]
    assert broken.name == "error"
    run = created(api("GET", f"/v1/runs/{broken.data['id']}"))
    assert run["usage"]["input_tokens"] > 100
    assert run["usage"]["output_tokens"] >= 1
    assert by(paid.tenant.admin, "purpose")["answer"]["cost_microdollars"] > 0


def test_a_call_that_was_refused_cost_nothing(paid: Chat, stubs: ModelStubs) -> None:
    paid.upload(paid.base(), HANDBOOK)
    stubs.anthropic.always(Fault.rate_limited(300))
    api = paid.of(paid.tenant.admin)
    assert problem(api("POST", "/v1/chat", {"message": LEAVE_QUESTION})) == (503, "model_unavailable")
    assert "answer" not in by(paid.tenant.admin, "purpose")
    assert usage(paid.tenant.admin)["total"]["runs"] == 1


def test_many_at_once_add_up(stack: Stack) -> None:
    acme = stack.tenant()
    clock = stack.deps.clock
    spending = Spending(Purpose.SUMMARY, TokenUse("m", 10, 5, calls=1, cost=7))

    def work(number: int) -> None:
        name = f"doc_{number % 6}"
        acme.records.transact(lambda tx: count_work(tx, name, "kb_1", spending, clock.now()))
        settle_work(acme.records, name)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(30)))
    total = usage(acme.admin)["total"]
    assert (total["calls"], total["input_tokens"], total["cost_microdollars"]) == (30, 300, 0.21)
    assert acme.records.count(PENDING_USAGE, Query()) == 0
    assert 1 < acme.records.count(USAGE, Query()) <= SHARDS


def test_days_and_groups_are_those_asked_for(stack: Stack) -> None:
    acme = stack.tenant()
    clock = stack.deps.clock
    for day, base in enumerate(("kb_1", "kb_2", "kb_1")):
        spending = Spending(Purpose.SUMMARY, TokenUse(f"model.{day}/x", 10, calls=1))
        acme.records.transact(
            lambda tx, base=base, spending=spending: count_work(tx, "doc_1", base, spending, clock.now())
        )
        clock.pass_seconds(24 * 3600)
    days = [item["day"] for item in usage(acme.admin)["items"]]
    assert days == ["2026-03-01", "2026-03-02", "2026-03-03"]
    report = usage(acme.admin, "from=2026-03-02&to=2026-03-03&group_by=model,knowledge_base")
    assert [(item["model"], item["knowledge_base_id"], item["day"]) for item in report["items"]] == [
        ("model.2/x", "kb_1", None),
        ("model.1/x", "kb_2", None),
    ]
    assert (report["from"], report["to"], report["total"]["calls"]) == ("2026-03-02", "2026-03-03", 2)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=2026-03-02&to=2026-03-01", "from"),
        ("from=2020-01-01", "from"),
        ("from=yesterday", "from"),
        ("group_by=tenant", "group_by"),
    ],
)
def test_a_report_that_cannot_be_is_refused(stack: Stack, query: str, field: str) -> None:
    refused = stack.tenant().admin("GET", f"/v1/usage?{query}")
    assert problem(refused) == (400, "invalid_request")
    assert refused.json["errors"][0]["field"] == field  # type: ignore[index]


def test_who_may_read_it_and_what_a_department_sees(paid: Chat) -> None:
    tenant = paid.tenant
    mine = paid.base("Marketing only", department_ids=[tenant.departments["marketing"]])
    other = paid.base("Engineering only", department_ids=[tenant.departments["engineering"]])
    paid.upload(mine, HANDBOOK)
    paid.upload(other, LONG)
    assert problem(tenant.marketing("GET", "/v1/usage")) == (403, "permission_denied")
    admin = paid.stack.api(tenant.records, tuple(Permission), [tenant.departments["marketing"]])
    assert [item["knowledge_base_id"] for item in usage(admin)["items"]] == [mine["id"]]
    assert usage(admin)["total"]["calls"] < usage(tenant.admin)["total"]["calls"]
    stranger = paid.stack.tenant().admin
    assert usage(stranger)["items"] == []
    assert set(usage(stranger)["total"].values()) == {0}


def test_usage_stays_when_the_document_goes(paid: Chat) -> None:
    document = paid.upload(paid.base(), HANDBOOK)
    before = usage(paid.tenant.admin)["total"]
    created(paid.tenant.admin("DELETE", f"/v1/documents/{document['id']}"))
    paid.stack.run_tasks()
    assert usage(paid.tenant.admin)["total"] == before
    assert before["calls"] > 0
