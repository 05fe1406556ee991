"""A container for flow tests: real Firestore and storage of the embedded stack, scripted models, a clock that
is moved by hand, and a queue that is emptied by hand."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from shared.adapters.firestore.store import FirestoreStore
from shared.adapters.tokens import count_tokens
from shared.adapters.web.fetcher import WebFetcher
from shared.domain.errors import AlmanacError
from shared.domain.models import EmbeddingProfile, Summary, SummaryRequest
from shared.index.cache import IndexCache
from shared.library.inline import InlineTexts
from shared.ports import Embeddings, Fetcher, Objects, Task, TokenCounter
from shared.settings import Settings
from shared.tenancy.authenticate import Authenticator


@dataclass
class HandClock:
    time: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)
    tick: timedelta = timedelta(0)

    def now(self) -> datetime:
        self.time += self.tick
        return self.time

    def pass_seconds(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class HandQueue:
    """`ports.TaskQueue`; refuses a name that it has seen."""

    tasks: list[Task] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def enqueue(self, task: Task) -> bool:
        if task.name is not None and task.name in self.names:
            return False
        if task.name is not None:
            self.names.add(task.name)
        self.tasks.append(task)
        return True

    def take(self, path: str) -> list[Task]:
        taken = [task for task in self.tasks if task.path == path]
        self.tasks = [task for task in self.tasks if task.path != path]
        return taken


PROFILE = EmbeddingProfile("scripted/64", 64, 0.0, (("run", 0.3), ("message", 0.2)), 8_192)


@dataclass
class ScriptedEmbedder:
    """Vectors of hashed words. `faults` are raised before the calls that come next, one each."""

    batch_size: int = 4
    inputs: list[str] = field(default_factory=list)
    faults: list[AlmanacError | None] = field(default_factory=list)
    profile: EmbeddingProfile = PROFILE

    def passages(self, texts: Sequence[str]) -> Embeddings:
        _raise_next(self.faults)
        self.inputs += texts
        return Embeddings(np.stack([self._vector(text) for text in texts]))

    def query(self, text: str) -> Embeddings:
        return Embeddings(self._vector(text)[None, :])

    def _vector(self, text: str) -> np.ndarray:
        vector = np.full(64, 1e-3, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[hashlib.sha256(word.encode()).digest()[0] % 64] += 1
        return vector / np.linalg.norm(vector)


@dataclass
class ScriptedSummarizer:
    fingerprint: str = "scripted"
    inputs: list[str] = field(default_factory=list)
    faults: list[AlmanacError | None] = field(default_factory=list)

    def summarize(self, request: SummaryRequest) -> Summary:
        _raise_next(self.faults)
        self.inputs.append(request.text)
        return Summary(f"In short: {request.text[:60]}")


def _raise_next(faults: list[AlmanacError | None]) -> None:
    fault = faults.pop(0) if faults else None
    if fault is not None:
        raise fault


@dataclass
class Workbench:
    """What flows need of a container."""

    store: FirestoreStore
    uploads: Objects
    derived: Objects
    clock: HandClock = field(default_factory=HandClock)
    queue: HandQueue = field(default_factory=HandQueue)
    embedder: ScriptedEmbedder = field(default_factory=ScriptedEmbedder)
    summarizer: ScriptedSummarizer = field(default_factory=ScriptedSummarizer)
    settings: Settings = field(default_factory=Settings)
    count_tokens: TokenCounter = count_tokens
    fetcher: Fetcher = field(default_factory=WebFetcher)
    inline_texts: InlineTexts = field(default_factory=InlineTexts)
    index: IndexCache = field(default_factory=lambda: IndexCache(64 * 1024 * 1024))
    authenticator: Authenticator = field(init=False)

    def __post_init__(self) -> None:
        self.authenticator = Authenticator(self.store, self.clock)
