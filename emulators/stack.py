"""All of it together: what `python -m emulators up` runs, and what end-to-end tests run."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from emulators.delivery.clock import MovableClock
from emulators.environment import (
    DERIVED,
    PROJECT,
    QUEUE,
    SERVICE_ACCOUNT,
    UPLOADS,
    Addresses,
    function_environment,
)
from emulators.events.cloudevent import DELETED, FINALIZED
from emulators.events.server import EventsEmulator
from emulators.examples import seed
from emulators.firestore_process import FirestoreProcess
from emulators.functions import FUNCTIONS, Functions, FunctionSource
from emulators.identity import TokenIssuer
from emulators.processes import ROOT
from emulators.redis.server import RedisServer
from emulators.router import router
from emulators.scheduler.server import Job, SchedulerEmulator
from emulators.serving import AsgiServer
from emulators.storage.server import StorageEmulator
from emulators.tasks.server import TasksEmulator

_TRIGGERS = {FINALIZED: "ingest", DELETED: "cleanup"}
_DISPATCHES_AT_ONCE = 8
_SCHEDULE = ROOT / "infra" / "schedule.json"


class EmbeddedStack:
    """A context manager. Without `data_dir` everything is thrown away at the end.

    `instances` is how many of a function there are, one by default. `env` is added to the environment of the
    functions; keys of paid models in this process's environment reach them only with `paid_models`.
    `wait_scale` shortens the waits between the attempts of events and tasks. A Redis that `REDIS_URL` names
    is used as it is, in place of one of the stack's own.

    While it runs, its parts are there to look at and to disturb.
    """

    accounts: Mapping[str, Any]
    addresses: Addresses
    events: EventsEmulator
    firestore: FirestoreProcess
    functions: Functions
    redis: RedisServer | None
    router: AsgiServer
    storage: StorageEmulator
    scheduler: SchedulerEmulator
    tasks: TasksEmulator
    tokens: TokenIssuer

    def __init__(
        self,
        *,
        data_dir: Path | None = None,
        functions: Sequence[FunctionSource] = FUNCTIONS,
        instances: Mapping[str, int] | None = None,
        env: Mapping[str, str] | None = None,
        paid_models: bool = False,
        wait_scale: float = 1.0,
    ) -> None:
        self.clock = MovableClock()
        self.project = PROJECT
        self._data_dir = data_dir
        self._sources = functions
        self._counts = instances
        self._env = dict(env or {})
        self._paid_models = paid_models
        self._wait_scale = wait_scale
        self._undo = ExitStack()

    @property
    def api_url(self) -> str:
        return self.router.url

    def details(self) -> dict[str, Any]:
        """What the ready file holds."""
        return {
            "api_url": self.api_url,
            "firestore_host": self.addresses.firestore_host,
            "storage_url": self.addresses.storage_url,
            "tasks_host": self.addresses.tasks_host,
            "redis_url": self.addresses.redis_url,
            "project": self.project,
            "accounts": dict(self.accounts),
        }

    def start(self) -> None:
        """Returns when everything answers; what had started is stopped again when something does not."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Within five seconds: the functions end first, while what they stand on is still there."""
        self._undo.close()

    def __enter__(self) -> EmbeddedStack:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        folder = self._folder()
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        kept = None if self._data_dir is None else folder

        self.firestore = FirestoreProcess(run_dir=logs, data_dir=_below(kept, "firestore"))
        self._undo.callback(self.firestore.stop)
        self.firestore.start()
        redis_url = self._start_redis(logs, kept)

        self.functions = Functions(self._sources, run_dir=logs, instances=self._counts)
        self._undo.callback(self.functions.close)
        self._start_deliveries(kept)

        self.storage = StorageEmulator(
            project=PROJECT,
            buckets=(UPLOADS, DERIVED),
            run_dir=logs,
            data_dir=_below(kept, "storage"),
            events_host=self.events.host,
            notify=UPLOADS,
        )
        self._undo.callback(self.storage.stop)
        self.storage.start()
        self.storage.wait_until_ready()

        self.addresses = Addresses(
            firestore_host=self.firestore.host,
            storage_url=self.storage.url,
            tasks_host=self.tasks.host,
            redis_url=redis_url,
            tasks_function_url=self.functions.url("tasks") if self.functions.has("tasks") else "",
            tasks_certs_url=self.tokens.certs_url,
        )
        self.router = AsgiServer(router(self.functions.instances))
        self.router.start()
        self._undo.callback(self._stop_serving)
        self.functions.start(
            function_environment(os.environ, self.addresses, self._env, paid_models=self._paid_models)
        )
        self.firestore.wait_until_ready()
        if self.redis is not None:
            self.redis.wait_until_ready()
        self.accounts = seed(self.addresses, _below(kept, "example-keys.json"))
        if kept is not None:
            self.events.catch_up(self.storage.objects(UPLOADS))
        self.functions.wait_until_ready()
        self._start_schedule(kept)

    def _start_redis(self, logs: Path, kept: Path | None) -> str:
        """Its address; nothing is started when somebody has one running."""
        self.redis = None
        given = os.environ.get("REDIS_URL")
        if given:
            return given
        self.redis = RedisServer(run_dir=logs, data_dir=_below(kept, "redis"))
        self._undo.callback(self.redis.stop)
        self.redis.start()
        return self.redis.url

    def _start_deliveries(self, kept: Path | None) -> None:
        targets = {kind: self.functions.url(n) for kind, n in _TRIGGERS.items() if self.functions.has(n)}
        self.events = EventsEmulator(
            project=PROJECT,
            targets=targets,
            data_dir=kept,
            clock=self.clock,
            wait_scale=self._wait_scale,
        )
        self._undo.callback(self.events.stop)
        self.events.start()
        self.tokens = TokenIssuer()
        self._undo.callback(self.tokens.stop)
        self.tokens.start()
        self.tasks = TasksEmulator(
            data_dir=kept, clock=self.clock, wait_scale=self._wait_scale, tokens=self.tokens
        )
        self._undo.callback(self.tasks.stop)
        self.tasks.start()
        self.tasks.ensure_queue(QUEUE, max_concurrent=_DISPATCHES_AT_ONCE)

    def _start_schedule(self, kept: Path | None) -> None:
        url = self.addresses.tasks_function_url
        jobs = [
            Job(job["name"], job["schedule"], f"{url}{job['path']}", "{}", SERVICE_ACCOUNT, url)
            for job in json.loads(_SCHEDULE.read_text())["jobs"]
        ]
        self.scheduler = SchedulerEmulator(
            jobs if url else [],
            tokens=self.tokens,
            data_dir=kept,
            clock=self.clock,
            wait_scale=self._wait_scale,
        )
        self._undo.callback(self.scheduler.stop)
        self.scheduler.start()

    def _stop_serving(self) -> None:
        """No new work; what runs may end in a moment."""
        self.events.hold()
        self.tasks.hold()
        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(self.router.stop), pool.submit(self.functions.stop)]
        for end in ends:
            end.result()

    def _folder(self) -> Path:
        if self._data_dir is None:
            return Path(self._undo.enter_context(tempfile.TemporaryDirectory(prefix="almanac-")))
        self._data_dir.mkdir(parents=True, exist_ok=True)
        lock = self._undo.enter_context((self._data_dir / "lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError(f"Another stack is running on {self._data_dir}.") from error
        return self._data_dir


def _below(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name
