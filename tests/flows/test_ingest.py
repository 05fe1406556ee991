"""From bytes to published passages, undisturbed and disturbed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.accounts import Caller
from shared.domain.errors import ModelOverloadedError, ModelUnavailableError, NotFoundError
from shared.domain.knowledge import DocumentStatus
from shared.domain.text import Outline, StoredChunk
from shared.index.manifest import MANIFESTS, load
from shared.index.segment import SEGMENTS, Segment
from shared.ingest.claim import Lease
from shared.ingest.flow import Outcome, advance
from shared.ingest.tidy import tidy
from shared.library.objects import prefix
from shared.ports import Query
from shared.records import CHUNKS, OUTLINES
from tests.flows.library import caller, change, ingest, make_base, read, ref_of, upload
from tests.flows.workbench import Workbench

PARAGRAPH = (
    "The {n}th rule says that every crate of kind {n} is stored in hall {n}, dry and in the dark. " * 6
)


def handbook(sections: int, marks: dict[int, str] | None = None) -> str:
    marks = marks or {}
    parts = ["# Storage rules", "How goods are stored."]
    for n in range(sections):
        parts.append(f"## Rule {n}")
        parts += [PARAGRAPH.format(n=f"{n}.{k}") for k in range(8)]
        parts.append(marks.get(n, f"Rule {n} ends here."))
    return "\n\n".join(parts)


@pytest.fixture
def who(account_id: str) -> Caller:
    return caller(account_id)


def derived_state(bench: Workbench, who: Caller) -> tuple[object, ...]:
    """Everything that readers and later work depend on, without times and attempts."""
    store = bench.store.of(who.account_id)
    chunks: list[StoredChunk] = sorted(store.every(CHUNKS, Query()), key=lambda chunk: chunk.id)
    outlines: list[Outline] = sorted(store.every(OUTLINES, Query()), key=lambda outline: outline.id)
    segments: list[Segment] = sorted(store.every(SEGMENTS, Query()), key=lambda segment: segment.id)
    manifests = [load(manifest) for manifest in store.every(MANIFESTS, Query())]
    return chunks, outlines, segments, manifests


def test_a_document_is_published_whole(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    document = ingest(bench, who, upload(bench, who, base, handbook(3)))
    assert document.status is DocumentStatus.READY
    assert document.published is not None
    assert document.published.revision == document.settled_revision == 1
    assert document.work is None
    assert document.error is None
    assert document.published.passages == len(bench.embedder.inputs) > 10
    assert document.published.chunks == len(bench.summarizer.inputs) == 3
    assert document.bytes == len(handbook(3).encode())
    chunks, outlines, segments, _ = derived_state(bench, who)
    assert len(chunks) == 3  # type: ignore[arg-type]
    assert len(outlines) == 1  # type: ignore[arg-type]
    assert sum(segment.rows for segment in segments) == document.published.passages  # type: ignore[attr-defined]


def test_a_duplicate_event_does_nothing(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    document = ingest(bench, who, upload(bench, who, base, handbook(2)))
    before = (document, derived_state(bench, who), len(bench.embedder.inputs))
    bench.clock.pass_seconds(3600)
    assert advance(bench, ref_of(who, document)) is Outcome.NOTHING
    assert (read(bench, who, document), derived_state(bench, who), len(bench.embedder.inputs)) == before


class PulledPlug(BaseException):
    """Stands for the end of the process."""


def test_what_follows_a_publication_is_done_although_its_call_died_first(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_base(bench, who)
    document = ingest(bench, who, upload(bench, who, base, handbook(3)))
    bench.queue.tasks.clear()
    changed = change(bench, who, document, handbook(2))

    def die(_: object) -> None:
        raise PulledPlug

    with monkeypatch.context() as dying:
        dying.setattr(bench.queue, "enqueue", die)
        with pytest.raises(PulledPlug):
            advance(bench, ref_of(who, changed))
    assert read(bench, who, changed).settled_revision == 2
    assert advance(bench, ref_of(who, changed)) is Outcome.NOTHING
    assert advance(bench, ref_of(who, changed)) is Outcome.NOTHING
    assert [task.path for task in bench.queue.tasks] == ["/tidy"]


def test_nothing_of_a_refused_file_stays_although_its_call_died_first(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = upload(bench, who, make_base(bench, who), "\x00\x01\x02" * 900)

    def die(_: str) -> int:
        raise PulledPlug

    with monkeypatch.context() as dying:
        dying.setattr(bench.uploads, "delete_prefix", die)
        with pytest.raises(PulledPlug):
            advance(bench, ref_of(who, document))
    assert read(bench, who, document).status is DocumentStatus.FAILED
    assert bench.uploads.read(document.object_name)
    assert advance(bench, ref_of(who, document)) is Outcome.NOTHING
    with pytest.raises(NotFoundError):
        bench.uploads.read(document.object_name)


def test_an_older_revision_after_a_newer_one_changes_nothing(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    first = upload(bench, who, base, handbook(2))
    second = change(bench, who, first, handbook(2, {1: "This rule is new."}))
    document = ingest(bench, who, second)
    before = (document, derived_state(bench, who))
    assert advance(bench, ref_of(who, first, 1)) is Outcome.NOTHING
    assert (read(bench, who, document), derived_state(bench, who)) == before


def test_a_document_too_long_for_one_call_finishes_over_several(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    calm = ingest(bench, who, upload(bench, who, base, handbook(4)))
    assert calm.published is not None
    paid = len(bench.embedder.inputs), len(bench.summarizer.inputs)

    other = replace(who, account_id=f"{who.account_id}-slow")
    slow = replace(bench, embedder=type(bench.embedder)(), summarizer=type(bench.summarizer)())
    slow.settings = replace(bench.settings, advance_seconds=12)
    slow.clock.tick = timedelta(seconds=1)  # every look at the clock costs a second
    document = ingest(slow, other, upload(slow, other, make_base(slow, other), handbook(4)))
    slow.clock.tick = timedelta(0)
    assert document.status is DocumentStatus.READY
    assert document.attempts == 1
    assert (len(slow.embedder.inputs), len(slow.summarizer.inputs)) == paid
    assert document.published is not None
    assert document.published.passages == calm.published.passages
    assert sum(task.path == "/tidy" for task in slow.queue.tasks) == 2


def test_a_model_that_fails_is_asked_again_later_and_nothing_is_paid_twice(
    bench: Workbench, who: Caller
) -> None:
    base = make_base(bench, who)
    down = ModelUnavailableError("overloaded", retry_after=90)
    bench.summarizer.faults = [None, down]
    bench.embedder.faults = [None, ModelUnavailableError("overloaded"), None, down]
    document = upload(bench, who, base, handbook(3))
    started = bench.clock.time
    finished = ingest(bench, who, document)
    assert finished.status is DocumentStatus.READY
    assert finished.attempts == 4
    assert bench.clock.time - started >= timedelta(seconds=90 + 20 + 90)
    assert len(bench.summarizer.inputs) == 3
    assert len(bench.embedder.inputs) == len(set(bench.embedder.inputs))


def test_a_model_that_never_answers_ends_as_failed_with_its_reason(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    bench.summarizer.faults = [ModelUnavailableError("overloaded") for _ in range(20)]
    document = ingest(bench, who, upload(bench, who, base, handbook(1)))
    assert document.status is DocumentStatus.FAILED
    assert document.error is not None
    assert document.error.code == "model_unavailable"
    assert document.attempts == bench.settings.max_attempts


def test_a_worker_that_wakes_after_its_lease_was_lost_cannot_publish(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_base(bench, who)
    document = upload(bench, who, base, handbook(2))
    ref = ref_of(who, document)
    outcomes: list[Outcome] = []
    real = bench.embedder.passages

    def sleeps_in_the_first_batch(texts: list[str]) -> object:
        bench.embedder.passages = real  # type: ignore[method-assign]
        made = real(texts)
        bench.clock.pass_seconds(bench.settings.lease_seconds + 1)
        outcomes.append(advance(bench, ref))  # another instance takes over and finishes
        return made

    bench.embedder.passages = sleeps_in_the_first_batch  # type: ignore[method-assign,assignment]
    outcomes.append(advance(bench, ref))
    assert outcomes == [Outcome.PUBLISHED, Outcome.LOST]
    final = read(bench, who, document)
    assert final.attempts == 2
    assert final.status is DocumentStatus.READY


def test_a_delivery_under_a_live_lease_looks_again_when_it_ends(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_base(bench, who)
    document = upload(bench, who, base, handbook(1))
    ref = ref_of(who, document)

    def dies(self: Lease, *_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Lease, "checkpoint", dies)
        with pytest.raises(SystemExit):
            advance(bench, ref)
    assert advance(bench, ref) is Outcome.NOTHING
    (look,) = bench.queue.take("/advance")
    assert look.at is not None
    bench.clock.time = look.at
    assert advance(bench, ref) is Outcome.PUBLISHED


def test_an_edit_pays_for_what_changed_and_keeps_the_rest(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    first = ingest(bench, who, upload(bench, who, base, handbook(6)))
    before = {chunk.id for chunk in bench.store.of(who.account_id).every(CHUNKS, Query())}
    bench.embedder.inputs.clear()
    bench.summarizer.inputs.clear()
    changed = ingest(bench, who, change(bench, who, first, handbook(6, {3: "Hall 3 is closed on Sundays."})))
    assert changed.published is not None
    assert changed.published.revision == 2
    assert len(bench.summarizer.inputs) == 1
    assert 1 <= len(bench.embedder.inputs) <= 3
    assert tidy(bench, ref_of(who, changed)) == "tidied"
    after = {chunk.id for chunk in bench.store.of(who.account_id).every(CHUNKS, Query())}
    assert len(before & after) == 5
    assert len(after) == 6
    assert bench.uploads.delete_prefix(prefix(who.account_id, first.id, 1)) == 0


def test_the_tidied_state_equals_that_of_a_fresh_upload(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    first = ingest(bench, who, upload(bench, who, base, handbook(5)))
    text = handbook(4, {2: "Changed."})
    changed = ingest(bench, who, change(bench, who, first, text))
    tidy(bench, ref_of(who, changed))
    fresh = ingest(bench, who, upload(bench, who, make_base(bench, who, "Other"), text, "b.md"))
    assert fresh.published is not None
    assert changed.published is not None
    assert changed.published.passages == fresh.published.passages
    store = bench.store.of(who.account_id)
    texts = {
        document.id: sorted(
            chunk.text for chunk in store.every(CHUNKS, Query(where=(("document_id", "==", document.id),)))
        )
        for document in (changed, fresh)
    }
    assert texts[changed.id] == texts[fresh.id]


def test_a_new_version_that_fails_leaves_the_good_one(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    first = ingest(bench, who, upload(bench, who, base, handbook(2)))
    state = derived_state(bench, who)
    second = ingest(bench, who, change(bench, who, first, "\n \n"))
    assert second.status is DocumentStatus.FAILED
    assert second.error is not None
    assert second.error.code == "no_text"
    assert second.published == first.published
    assert second.live
    assert derived_state(bench, who) == state


def test_the_same_bytes_again_are_a_duplicate_and_add_nothing(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    first = ingest(bench, who, upload(bench, who, base, handbook(1)))
    state = derived_state(bench, who)
    second = ingest(bench, who, upload(bench, who, base, handbook(1), "copy.md"))
    assert second.status is DocumentStatus.DUPLICATE
    assert second.duplicate_of == first.id
    assert derived_state(bench, who) == state


def test_two_knowledge_bases_share_the_paid_work(bench: Workbench, who: Caller) -> None:
    ingest(bench, who, upload(bench, who, make_base(bench, who), handbook(2)))
    paid = len(bench.embedder.inputs), len(bench.summarizer.inputs)
    twin = ingest(bench, who, upload(bench, who, make_base(bench, who, "Second"), handbook(2)))
    assert twin.status is DocumentStatus.READY
    assert (len(bench.embedder.inputs), len(bench.summarizer.inputs)) == paid


def test_a_publication_is_refused_after_a_newer_revision(bench: Workbench, who: Caller) -> None:
    base = make_base(bench, who)
    document = upload(bench, who, base, handbook(1))
    real = bench.embedder.passages

    def replaced_meanwhile(texts: list[str]) -> object:
        bench.embedder.passages = real  # type: ignore[method-assign]
        change(bench, who, document, handbook(1, {0: "Newer."}))
        return real(texts)

    bench.embedder.passages = replaced_meanwhile  # type: ignore[method-assign,assignment]
    assert advance(bench, ref_of(who, document)) is Outcome.LOST
    assert read(bench, who, document).published is None
    newest = ingest(bench, who, read(bench, who, document))
    assert newest.published is not None
    assert newest.published.revision == 2


def test_documents_that_a_provider_sent_away_together_do_not_come_back_together(
    bench: Workbench, who: Caller
) -> None:
    base = make_base(bench, who)
    waits = []
    for number in range(6):
        bench.summarizer.faults = [ModelUnavailableError("busy", retry_after=60)]
        document = upload(bench, who, base, f"Note {number} of the house.")
        assert advance(bench, ref_of(who, document)) is Outcome.RETRY
        (task,) = bench.queue.take("/advance")
        assert task.at is not None
        waits.append((task.at - bench.clock.time).total_seconds())
    assert min(waits) >= 60
    assert max(waits) <= 75
    assert len(set(waits)) > 3


def test_a_busy_provider_does_not_use_up_a_documents_attempts(bench: Workbench, who: Caller) -> None:
    document = upload(bench, who, make_base(bench, who), handbook(3))
    waits = []
    bench.summarizer.faults = [None, *[ModelOverloadedError("busy")] * 12]
    for _ in range(12):
        assert advance(bench, ref_of(who, document)) is Outcome.RETRY
        (task,) = bench.queue.take("/advance")
        assert task.at is not None
        waits.append((task.at - bench.clock.time).total_seconds())
        bench.clock.time = task.at
    assert waits[0] < 15
    assert waits[-1] >= 600
    seen = read(bench, who, document)
    assert seen.error is not None
    assert (seen.attempts, seen.error.code) == (1, "model_unavailable")
    assert advance(bench, ref_of(who, document)) is Outcome.PUBLISHED
    assert len(bench.summarizer.inputs) == 3  # the first one's summary was kept all along
