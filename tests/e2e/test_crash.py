"""The ingest process is killed at every commit, and the event delivered again: the end is always the same."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from emulators.firestore.server import FirestoreEmulator
from emulators.models.server import ModelStubs
from emulators.tasks.server import TasksEmulator
from shared.adapters.firestore.store import FirestoreStore, connect
from shared.adapters.storage import GcsObjects
from shared.adapters.storage import connect as connect_storage
from shared.domain.knowledge import (
    Document,
    DocumentStatus,
    KnowledgeBase,
    KnowledgeBaseType,
    Source,
    SourceKind,
)
from shared.index.manifest import MANIFESTS, load
from shared.index.segment import SEGMENTS
from shared.library.objects import RevisionRef, source_name
from shared.ports import AccountStore, Query
from shared.records import CHUNKS, DOCUMENTS, KNOWLEDGE_BASES, OUTLINES
from tests.emulated import PROJECT, UPLOADS, storage_url
from tests.functions.process import FunctionProcess

__all__ = ["storage_url"]

pytestmark = pytest.mark.slow

QUEUE = f"projects/{PROJECT}/locations/local/queues/work"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
PARAGRAPH = "Crate {n} holds the lamps of hall {n}; it is opened by two people and closed by one. " * 8
TEXT = "\n\n".join(
    [
        "# Crates",
        *(PARAGRAPH.format(n=n) for n in range(8)),
        "## Lids",
        *(PARAGRAPH.format(n=n) for n in range(8, 15)),
    ]
)


@dataclass
class Killer:
    """Watches the RPCs of the emulator; kills the armed process at its n-th commit, which is then carried out
    or (`lost`) never arrives."""

    process: FunctionProcess | None = None
    at: int = 0
    lost: bool = False
    commits: int = 0
    killed: threading.Event = field(default_factory=threading.Event)

    def arm(self, process: FunctionProcess, at: int, *, lost: bool) -> None:
        self.process, self.at, self.lost, self.commits = process, at, lost, 0
        self.killed.clear()

    def disarm(self) -> None:
        self.process = None

    def __call__(self, moment: str, rpc: str, request: Any) -> None:
        if moment != "before" or rpc != "Commit" or self.process is None:
            return
        self.commits += 1
        if self.commits == self.at:
            process, self.process = self.process, None
            process.child.kill()
            self.killed.set()
            if self.lost:
                raise RuntimeError("the process died before its commit was sent")


@dataclass
class Yard:
    """The stack in this process, and a store of ingest processes that are already started."""

    env: dict[str, str]
    stubs: ModelStubs
    killer: Killer
    store: FirestoreStore
    uploads: GcsObjects
    run_dir: Path
    spare: FunctionProcess | None = None

    def process(self) -> FunctionProcess:
        ready = self.spare or self._start()
        self.spare = self._start()
        ready.wait_until_ready()
        return ready

    def _start(self) -> FunctionProcess:
        return FunctionProcess("ingest", self.env, run_dir=self.run_dir, cloud_event=True)

    def close(self) -> None:
        if self.spare is not None:
            self.spare.child.kill()


@pytest.fixture(scope="module")
def yard(storage_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    killer = Killer()
    run_dir = tmp_path_factory.mktemp("crash")
    tasks = TasksEmulator()
    with (
        FirestoreEmulator(observer=killer) as firestore,
        ModelStubs() as stubs,
        pytest.MonkeyPatch.context() as patch,
    ):
        tasks.start()
        tasks.ensure_queue(QUEUE, max_concurrent=1)
        tasks.hold()
        env = {
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "FIRESTORE_EMULATOR_HOST": firestore.host,
            "STORAGE_EMULATOR_HOST": storage_url,
            "CLOUD_TASKS_EMULATOR_HOST": tasks.host,
            "ALMANAC_TASKS_QUEUE": QUEUE,
            "ALMANAC_TASKS_URL": "http://127.0.0.1:9",
            "ALMANAC_LEASE_SECONDS": "1",
            **stubs.environment(),
        }
        patch.setenv("FIRESTORE_EMULATOR_HOST", firestore.host)
        client = connect(PROJECT, "(default)")
        uploads = GcsObjects(connect_storage(PROJECT, storage_url), UPLOADS)
        made = Yard(env, stubs, killer, FirestoreStore(client), uploads, run_dir)
        yield made
        made.close()
        client.close()
        tasks.stop()


@dataclass(frozen=True)
class Case:
    """An account of its own with one document; ids are the same in every case, so that states compare."""

    yard: Yard
    account_id: str

    @property
    def records(self) -> AccountStore:
        return self.yard.store.of(self.account_id)

    @property
    def object_name(self) -> str:
        return source_name(RevisionRef(self.account_id, "doc_1", 1))

    def prepare(self) -> None:
        base = KnowledgeBase("kb_1", "B", "b", KnowledgeBaseType.FILES, "", None, (), True, True, 0, NOW, NOW)
        document = Document(
            id="doc_1",
            knowledge_base_id="kb_1",
            title="Crates",
            source=Source(SourceKind.UPLOAD, "crates.md"),
            status=DocumentStatus.UPLOADED,
            latest_revision=1,
            object_name=self.object_name,
            created_at=NOW,
            updated_at=NOW,
        )
        self.records.create(KNOWLEDGE_BASES, base)
        self.records.create(DOCUMENTS, document)
        self.yard.uploads.write(self.object_name, TEXT.encode(), content_type="text/markdown")
        self.yard.stubs.openai.reset()
        self.yard.stubs.anthropic.reset()

    def deliver_until_settled(self) -> None:
        process = self.yard.process()
        for _ in range(100):
            process.finalized(self.object_name).raise_for_status()
            if self.document().settled_revision == 1:
                process.child.kill()
                return
            threading.Event().wait(0.1)
        raise AssertionError(f"not settled: {self.document()} {process.child.last_output()}")

    def document(self) -> Document:
        found = self.records.get(DOCUMENTS, "doc_1")
        assert found is not None
        return found

    def state(self) -> tuple[Any, ...]:
        """All that readers and later work depend on; not times, tokens and attempts."""
        document = self.document()
        published = document.published
        assert published is not None
        base = self.records.get(KNOWLEDGE_BASES, "kb_1")
        assert base is not None
        return (
            document.status,
            document.work,
            document.error,
            document.sha256,
            (published.revision, published.chunks, published.passages, dict(published.segments)),
            base.index_version,
            sorted(self.records.every(CHUNKS, Query()), key=lambda chunk: chunk.id),
            list(self.records.every(OUTLINES, Query())),
            sorted(self.records.every(SEGMENTS, Query()), key=lambda segment: segment.id),
            [load(manifest) for manifest in self.records.every(MANIFESTS, Query())],
        )

    def paid(self) -> tuple[int, int]:
        """Calls for embeddings and for summaries."""
        return len(self.yard.stubs.openai.calls), len(self.yard.stubs.anthropic.calls)


def make_case(yard: Yard) -> Case:
    case = Case(yard, f"crash-{uuid.uuid4().hex[:10]}")
    case.prepare()
    return case


@pytest.fixture(scope="module")
def calm(yard: Yard) -> tuple[tuple[Any, ...], tuple[int, int], int]:
    """The undisturbed end, what it cost, and how many commits it took."""
    case = make_case(yard)
    process = yard.process()
    yard.killer.arm(process, at=-1, lost=False)
    process.finalized(case.object_name).raise_for_status()
    yard.killer.disarm()
    process.child.kill()
    return case.state(), case.paid(), yard.killer.commits


def test_killed_at_every_commit_the_end_is_that_of_an_undisturbed_run(
    yard: Yard, calm: tuple[tuple[Any, ...], tuple[int, int], int]
) -> None:
    state, (embeddings, summaries), commits = calm
    assert state[0] is DocumentStatus.READY
    assert summaries == 2
    assert commits > 10
    for at in range(1, commits + 1):
        lost = at % 2 == 0
        case = make_case(yard)
        process = yard.process()
        yard.killer.arm(process, at, lost=lost)
        with pytest.raises(requests.ConnectionError):
            process.finalized(case.object_name)
        assert yard.killer.killed.wait(10)
        case.deliver_until_settled()
        where = f"killed at commit {at}, which was {'lost' if lost else 'carried out'}"
        assert case.state() == state, where
        paid = case.paid()
        assert embeddings <= paid[0] <= embeddings + 1, where
        assert summaries <= paid[1] <= summaries + 1, where
        assert paid[0] + paid[1] <= embeddings + summaries + 1, where
