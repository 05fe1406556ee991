"""Random interleavings of writers and readers of one index, and the judgement of what the readers saw.

A sequence is one account with one knowledge base. Two writers and two instances (each with a cache of its
own) work at the same time; every call to the store may be held up, and every commit may be late. Each
operation notes when it began and ended on one counter, so that afterwards it can be said for each question
what it had to see, and what it may have seen.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from unittest.mock import patch

from emulators.firestore.server import FirestoreEmulator
from shared.adapters.firestore.store import FirestoreStore, connect
from shared.domain.errors import LeaseLostError, NotFoundError
from shared.domain.knowledge import Document, DocumentStatus
from shared.index.cache import IndexCache, ScopeItem
from shared.index.manifest import MANIFESTS, Manifest, dump, with_publication
from shared.index.merge import merge
from shared.index.publication import published
from shared.index.publish import publish, remove, write_segments
from shared.index.resolve import Question, search
from shared.index.segment import SEGMENTS, Segment
from shared.ports import Transaction
from shared.records import DOCUMENTS, KNOWLEDGE_BASES
from tests.flows.index_library import (
    CLOCK,
    add_knowledge_base,
    claimed,
    new_document,
    publication_of,
    segments_of,
)
from tests.flows.unhurried import Unhurried
from tests.unit.index_passages import FINGERPRINT, unit

_NAMES = ("doc-a", "doc-b")
_DEPARTMENTS = ((), ("sales",))
_AT_ONCE = 4


@dataclass
class Event:
    """Something done between two moments. `passages` is what a publication shows. One that `failed` need not
    have had an effect; it had one if another publisher folded it before a removal overtook it."""

    what: str
    start: int = 0
    end: int = 0
    document: str = ""
    revision: int = 0
    passages: frozenset[str] = frozenset()
    departments: tuple[str, ...] = ()
    failed: bool = False


@dataclass
class Seen:
    """When a question began and ended and what it was shown; `departments` are those that it read."""

    instance: int
    start: int
    end: int
    departments: tuple[str, ...]
    passages: frozenset[str]


@dataclass
class Outcome:
    sequences: int = 0
    questions: int = 0
    during_changes: int = 0
    violations: list[str] = field(default_factory=list)


def run(seeds: Sequence[int]) -> Outcome:
    """Runs one sequence a seed on a Firestore of its own, whose commits are late at random."""
    delays = random.Random(seeds[0])
    outcome = Outcome()
    with (
        FirestoreEmulator(commit_delay=lambda _: delays.choice((0.0, 0.0, 0.001, 0.003))) as emulator,
        patch.dict(os.environ, {"FIRESTORE_EMULATOR_HOST": emulator.host}),
        patch("shared.index.manifest._DEAD_ROWS", 0),  # with so few passages nothing would be compacted
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        client = connect(f"test-{uuid.uuid4().hex[:12]}", "(default)")
        store = FirestoreStore(client)
        for story in pool.map(lambda seed: Story(store, seed).played(), seeds):
            outcome.sequences += 1
            outcome.questions += len(story.seen)
            outcome.during_changes += sum(map(story.changed_during, story.seen))
            outcome.violations += story.violations()
        client.close()
    return outcome


def _publish_event(document: Document, segments: Sequence[Segment], start: int = 0) -> Event:
    revision, count = document.latest_revision, sum(segment.rows for segment in segments)
    passages = frozenset(f"{document.id}/{revision}/{n}" for n in range(count))
    return Event("publish", start, document=document.id, revision=revision, passages=passages)


class Story:
    """One account's sequence."""

    def __init__(self, store: FirestoreStore, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.store = Unhurried(store.of(f"account-{seed}"), random.Random(seed + 1))
        self.caches = [IndexCache(1 << 24) for _ in range(2)]
        self.events: list[Event] = []
        self.seen: list[Seen] = []
        self.errors: list[str] = []
        self._moments = itertools.count(1)
        self._claims = threading.Lock()
        self._prepared: dict[str, tuple[Document, list[Segment]]] = {}

    def played(self) -> Story:
        self._set_the_stage()
        kinds = (self.publish, self.publish, self.publish, self.remove, self.merge, self.edit)
        writers = [
            [self.random.choice(kinds) for _ in range(count)] for count in (1, self.random.randint(1, 2))
        ]
        readers = [
            [partial(self.store.after, self.random.randint(0, 20)), partial(self.ask, n)] for n in (0, 1)
        ]
        threads = [threading.Thread(target=self._all, args=(calls,)) for calls in (*writers, *readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Now that nothing changes any more, both instances must see the same.
        self.store.hold = 0.0
        self._all([partial(self.ask, 0), partial(self.ask, 1)])
        return self

    def _set_the_stage(self) -> None:
        """A knowledge base and two documents, each published already or not. Their next revision is ready."""
        manifest = Manifest(version=1)
        written: list[Segment] = []
        for name in _NAMES:
            document = claimed(new_document(name), 1)
            if self.random.random() < 0.6:
                segments = self._segments(document)
                written += segments
                made = publication_of(document, [segment.ref for segment in segments])
                manifest = with_publication(manifest, name, 1, made.segments, {}).manifest
                self.events.append(_publish_event(document, segments, start=next(self._moments)))
                self.events[-1].end = next(self._moments)
                document = claimed(published(document, made, CLOCK.now()), 2)
            self._prepared[name] = (document, self._segments(document))
            written += self._prepared[name][1]
        add_knowledge_base(self.store, index_version=1)
        self.store.put_many(MANIFESTS, [dump("kb", manifest)])
        self.store.put_many(DOCUMENTS, [document for document, _ in self._prepared.values()])
        self.store.put_many(SEGMENTS, written)

    def _segments(self, document: Document) -> list[Segment]:
        return segments_of(document, ["alpha"] * self.random.randint(1, 3), parts=self.random.randint(1, 2))

    # --- what happens ---

    def publish(self) -> None:
        """A worker finishes a revision: the one that was prepared, or the next one, which it claims."""
        name = self.random.choice(_NAMES)
        document, segments = self._next(name)
        if document is None:
            return
        with self._event(_publish_event(document, segments)) as event:
            try:
                publish(self.store, CLOCK, publication_of(document, [s.ref for s in segments]))
            except (LeaseLostError, NotFoundError):
                event.failed = True

    def _next(self, name: str) -> tuple[Document | None, list[Segment]]:
        with self._claims:
            if name in self._prepared:
                return self._prepared.pop(name)

            def claim(tx: Transaction) -> Document | None:
                current = tx.get(DOCUMENTS, name)
                if current is None or current.status is DocumentStatus.DELETING:
                    return None
                document = claimed(current, current.latest_revision + 1)
                tx.put(DOCUMENTS, document)
                return document

            document = self.store.transact(claim)
        segments = self._segments(document) if document is not None else []
        write_segments(self.store, segments)
        return document, segments

    def remove(self) -> None:
        """A delete counts from its tombstone on; the index follows."""
        name = self.random.choice(_NAMES)

        def bury(tx: Transaction) -> Document | None:
            document = tx.get(DOCUMENTS, name)
            if document is not None:
                document = replace(document, status=DocumentStatus.DELETING)
                tx.put(DOCUMENTS, document)
            return document

        with self._event(Event("remove", document=name)):
            document = self.store.transact(bury)
        if document is not None:
            remove(self.store, CLOCK, document)

    def merge(self) -> None:
        with self._event(Event("merge")):
            merge(self.store, "kb", allowed=1)

    def edit(self) -> None:
        """Limits the knowledge base to a department, or opens it."""
        departments = self.random.choice(_DEPARTMENTS)

        def body(tx: Transaction) -> None:
            base = tx.get(KNOWLEDGE_BASES, "kb")
            if base is not None:
                version = base.index_version + 1
                tx.put(KNOWLEDGE_BASES, replace(base, department_ids=departments, index_version=version))

        with self._event(Event("edit", departments=departments)):
            self.store.transact(body)

    def ask(self, instance: int) -> None:
        """By a caller who has no department."""
        start = next(self._moments)
        base = self.store.get_many(KNOWLEDGE_BASES, ["kb"])["kb"]
        items = [] if base.department_ids else [ScopeItem(base)]
        question = Question("alpha", unit([1.0, 1.0]), FINGERPRINT, 50, CLOCK.now())
        hits = search(self.caches[instance], self.store, items, question).found.hits
        shown = [hit.passage_id for hit in hits]
        if len(set(shown)) < len(shown):
            self.errors.append(f"shown twice: {shown}")
        self.seen.append(Seen(instance, start, next(self._moments), base.department_ids, frozenset(shown)))

    @contextmanager
    def _event(self, event: Event) -> Iterator[Event]:
        event.start = next(self._moments)
        self.events.append(event)
        yield event
        event.end = next(self._moments)

    def _all(self, calls: Sequence[Callable[[], None]]) -> None:
        try:
            for call in calls:
                call()
        except Exception as error:  # noqa: BLE001  # a thread has nobody else to tell
            self.errors.append(repr(error))

    # --- what that means ---

    def changed_during(self, seen: Seen) -> bool:
        return any(event.start < seen.end and event.end > seen.start for event in self.events)

    def violations(self) -> Iterator[str]:
        story = "\n  ".join(map(str, (*self.events, *self.seen)))
        refused = (e for e in self.events if e.failed and not self._overtaken(e))
        unjust = (f"{event}: refused, and nothing overtook it" for event in refused)
        for why in itertools.chain(self.errors, unjust, *map(self._wrong, self.seen)):
            yield f"seed {self.seed}: {why}\n  {story}"
        if not self.errors and self.seen[-1].passages != self.seen[-2].passages:
            yield f"seed {self.seed}: the instances differ at rest\n  {story}"

    def _overtaken(self, publication: Event) -> bool:
        """Whether a removal or a claim of a newer revision may have come before the publication's end."""
        return any(
            event.document == publication.document
            and (event.what == "remove" or event.revision > publication.revision)
            for event in self.events
        )

    def _wrong(self, seen: Seen) -> Iterator[str]:
        if seen.departments not in self._possible_departments(seen):
            yield f"{seen}: these departments were over"
        elif seen.departments:
            if seen.passages:
                yield f"{seen}: passages out of scope"
        else:
            for name in _NAMES:
                yield from self._wrong_document(seen, name)

    def _possible_departments(self, seen: Seen) -> set[tuple[str, ...]]:
        edits = [event for event in self.events if event.what == "edit"]
        before = [event for event in edits if event.end < seen.start]
        possible = {
            event.departments
            for event in edits
            if event.start < seen.end and not any(later.start > event.end for later in before)
        }
        return possible if before else possible | {()}

    def _wrong_document(self, seen: Seen, name: str) -> Iterator[str]:
        shown = {passage for passage in seen.passages if passage.startswith(f"{name}/")}
        removals = [e for e in self.events if e.what == "remove" and e.document == name]
        shown_by = [
            e
            for e in self.events
            if e.what == "publish" and e.document == name and e.start < seen.end and not e.failed
        ]
        newest = max((e.revision for e in shown_by if e.end < seen.start), default=0)
        overtaken = [
            e
            for e in self.events
            if e.what == "publish"
            and e.document == name
            and e.start < seen.end
            and e.failed
            and any(r.start < e.end and r.end > e.start for r in removals)
        ]
        match = next((e for e in (*shown_by, *overtaken) if e.passages == shown), None)
        if any(e.end < seen.start for e in removals):
            if shown:
                yield f"{seen}: {name} was deleted before"
        elif not shown:
            if newest and not any(e.start < seen.end for e in removals):
                yield f"{seen}: {name} was published before and is missed"
        elif match is None:
            yield f"{seen}: no revision of {name} was ever like this"
        elif match.revision < newest:
            yield f"{seen}: revision {match.revision} of {name} was replaced before"
