"""What a question finds, for whom, and what it is told about the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.accounts import Caller
from shared.domain.errors import NotFoundError, TransientError
from shared.domain.knowledge import DocumentStatus
from shared.domain.retrieval import Retrieval, RetrievalStatus, Tier
from shared.records import DEPARTMENTS, DOCUMENTS, KNOWLEDGE_BASES
from shared.retrieve.flow import RetrieveRequest, retrieve
from shared.retrieve.policy import Limits, PolicyName
from shared.retrieve.scope import Asked
from shared.tenancy.accounts import create_department
from tests.flows.library import caller, change, ingest, make_base, read, upload
from tests.flows.workbench import Workbench

PUMP = "# Pumps\n\nThe drainage pump in hall seven is serviced every spring by the plumbing crew."
LEAVE = "# Leave\n\nEvery employee has twenty six days of annual leave in a calendar year."
CODE = "# Codes\n\nCode QX-9917-B means that the valve is stuck; turn the handle twice."


@pytest.fixture
def who(account_id: str) -> Caller:
    return caller(account_id)


def ask(bench: Workbench, who: Caller, query: str, **asked: object) -> Retrieval:
    return retrieve(bench, who, RetrieveRequest(query, Asked(**asked)))  # type: ignore[arg-type]


def texts(found: Retrieval) -> list[str]:
    return [passage.text for passage in found.passages]


def test_a_question_finds_its_passage_with_all_scores(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    document = ingest(bench, who, upload(bench, who, base, PUMP))
    ingest(bench, who, upload(bench, who, base, LEAVE, "b.md"))
    found = ask(bench, who, "Which crew services the drainage pump in hall seven?")
    best = found.passages[0]
    assert found.status is RetrievalStatus.OK
    assert found.covered
    assert "plumbing crew" in best.text
    assert best.document_id == document.id
    assert best.heading_path == ("Pumps",)
    assert best.version == 1
    assert best.similarity >= 0.3
    assert best.lexical > 0
    assert found.tokens == sum(passage.tokens for passage in found.passages)
    assert [(e.knowledge_base_id, e.tier) for e in found.scope] == [(base.id, Tier.AUTO)]


def test_an_exact_code_is_found_although_no_vector_is_near(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    for n in range(30):
        ingest(
            bench,
            who,
            upload(bench, who, base, f"# Note {n}\n\nWorkshop note {n} about the lathe.", f"{n}.md"),
        )
    ingest(bench, who, upload(bench, who, base, CODE, "codes.md"))
    found = ask(bench, who, "QX-9917-B")
    assert "valve is stuck" in found.passages[0].text


def test_departments_decide_before_anything_is_searched(bench: Workbench, who: Caller) -> None:
    records = bench.store.of(who.account_id)
    engineering = create_department(records, bench.clock, "Engineering").id
    limited = make_base(bench, who, "Field", department_ids=(engineering,))
    document = ingest(bench, who, upload(bench, who, limited, PUMP))
    question = "Which crew services the drainage pump?"
    insider = caller(who.account_id, engineering)
    outsider = caller(who.account_id, "marketing")
    assert texts(ask(bench, insider, question))
    assert ask(bench, outsider, question).status is RetrievalStatus.EMPTY
    attached = ask(bench, outsider, question, knowledge_base_ids=(limited.id,))
    assert attached.status is RetrievalStatus.EMPTY
    assert attached.scope == ()
    with pytest.raises(NotFoundError):
        ask(bench, outsider, question, document_ids=(document.id,))
    # A change of departments holds from the next question on.
    records.put_many(
        KNOWLEDGE_BASES,
        [replace(r, department_ids=()) for r in records.get_many(KNOWLEDGE_BASES, [limited.id]).values()],
    )
    assert texts(ask(bench, outsider, question))
    assert records.get(DEPARTMENTS, engineering) is not None


def test_another_account_finds_nothing_and_its_ids_do_not_exist(bench: Workbench, who: Caller) -> None:
    document = ingest(bench, who, upload(bench, who, make_base(bench, who), PUMP))
    stranger = caller(f"{who.account_id}-other")
    question = "Which crew services the drainage pump?"
    assert ask(bench, stranger, question).status is RetrievalStatus.EMPTY
    with pytest.raises(NotFoundError):
        ask(bench, stranger, question, document_ids=(document.id,))
    with pytest.raises(NotFoundError):
        ask(bench, who, question, document_ids=("no/such id",))


def test_the_three_tiers_merge_and_the_first_one_names_the_reason(bench: Workbench, who: Caller) -> None:
    auto = make_base(bench, who, "Auto")
    attached = make_base(bench, who, "Attached", is_auto_context=False)
    other = make_base(bench, who, "Other", is_auto_context=False)
    idle = make_base(bench, who, "Idle", active=False)
    ingest(bench, who, upload(bench, who, auto, LEAVE))
    ingest(bench, who, upload(bench, who, attached, PUMP))
    named = ingest(bench, who, upload(bench, who, other, CODE))
    ingest(bench, who, upload(bench, who, other, PUMP + " Also at night.", "night.md"))
    found = ask(
        bench,
        who,
        "Which crew services the drainage pump?",
        document_ids=(named.id,),
        knowledge_base_ids=(attached.id, idle.id),
    )
    assert [(e.knowledge_base_id, e.tier) for e in found.scope] == [
        (other.id, Tier.EXPLICIT),
        (attached.id, Tier.ATTACHED),
        (auto.id, Tier.AUTO),
    ]
    assert not any("at night" in text for text in texts(found)), (
        "only the named document of its base is in scope"
    )
    assert ask(bench, who, "pump", auto_context=False).status is RetrievalStatus.EMPTY


def test_below_the_minimum_a_run_falls_back_to_summaries_and_a_message_does_not(
    bench: Workbench, who: Caller
) -> None:
    ingest(bench, who, upload(bench, who, make_base(bench, who), LEAVE))
    query = "zebra quagga okapi"
    run = retrieve(bench, who, RetrieveRequest(query, policy=PolicyName.RUN))
    assert run.status is RetrievalStatus.FALLBACK
    assert not run.passages
    assert run.summaries[0].text.startswith("In short: ")
    assert {d.reason for d in run.dropped} == {"below the minimum similarity"}
    message = retrieve(bench, who, RetrieveRequest(query, policy=PolicyName.MESSAGE))
    assert message.status is RetrievalStatus.EMPTY
    assert not message.summaries
    assert not message.covered


def test_what_is_deleted_archived_or_replaced_is_gone_from_the_next_question_on(
    bench: Workbench, who: Caller
) -> None:
    records = bench.store.of(who.account_id)
    base = make_base(bench, who)
    pump = ingest(bench, who, upload(bench, who, base, PUMP))
    code = ingest(bench, who, upload(bench, who, base, CODE, "code.md"))
    question = "Which crew services the drainage pump in hall seven?"
    assert "plumbing" in texts(ask(bench, who, question))[0]
    ingest(bench, who, change(bench, who, pump, PUMP.replace("plumbing", "electrical")))
    assert "electrical" in texts(ask(bench, who, question))[0]
    assert not any("plumbing" in text for text in texts(ask(bench, who, question)))
    records.put_many(DOCUMENTS, [replace(read(bench, who, pump), archived=True)])
    assert not any("crew" in text for text in texts(ask(bench, who, question)))
    past = retrieve(bench, who, RetrieveRequest(question, include_archived=True))
    assert "electrical" in past.passages[0].text
    asked = ask(bench, who, "Which crew serviced the drainage pump in hall seven previously?")
    assert "electrical" in asked.passages[0].text
    records.put_many(DOCUMENTS, [replace(read(bench, who, code), status=DocumentStatus.DELETING)])
    assert not any("valve" in text for text in texts(ask(bench, who, "QX-9917-B")))


def test_a_search_that_fails_says_so_and_does_not_raise(bench: Workbench, who: Caller) -> None:
    ingest(bench, who, upload(bench, who, make_base(bench, who), PUMP))

    def down(_: str) -> object:
        raise TransientError("Firestore did not answer")

    bench.embedder.query = down  # type: ignore[method-assign,assignment]
    found = ask(bench, who, "Which crew?")
    assert found.status is RetrievalStatus.FAILED
    assert found.detail == "internal: Firestore did not answer"
    assert not found.covered


def test_a_call_may_explore_with_limits_of_its_own_and_sees_every_score(
    bench: Workbench, who: Caller
) -> None:
    base = make_base(bench, who)
    for name, text in (("a.md", PUMP), ("b.md", LEAVE), ("c.md", CODE)):
        ingest(bench, who, upload(bench, who, base, text, name))
    query = "Which crew services the drainage pump in hall seven?"
    limits = Limits(minimum=-1.0, max_passages=2)
    found = retrieve(bench, who, RetrieveRequest(query, policy=PolicyName.MESSAGE, limits=limits))
    assert len(found.passages) == 2
    assert {d.reason for d in found.dropped} == {"beyond the number of passages"}
    everything = [(p.fused, p.boost, p.score) for p in (*found.passages, *found.dropped)]
    assert len(everything) == 3
    assert all(0 < fused == pytest.approx(score) and boost == 1.0 for fused, boost, score in everything)
    strict = retrieve(bench, who, RetrieveRequest(query, limits=Limits(minimum=0.99)))
    assert {d.reason for d in strict.dropped} == {"below the minimum similarity"}
