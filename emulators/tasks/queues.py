"""Queues and their tasks: what is kept, and how it is dispatched."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import httpx2
from google.cloud.tasks_v2.types import Queue, Task

from emulators.delivery.clock import MovableClock
from emulators.delivery.dispatcher import Dispatcher
from emulators.delivery.outbox import Delivery, Outbox
from emulators.delivery.rate import Rate
from emulators.identity import TokenIssuer
from emulators.tasks.checks import check_queue, check_task
from emulators.tasks.dispatch import noted, send
from emulators.tasks.rejection import Rejection, exists, not_found
from emulators.tasks.retry import exhausted, wait_after, with_defaults

log = logging.getLogger(__name__)

# A name stays taken for an hour after its task ended, a queue's for seven days after it was deleted.
_TASK_NAME_TAKEN = 3600.0
_QUEUE_NAME_TAKEN = 7 * 24 * 3600.0
_MOST_THREADS = 32
_DISPATCHES_SHOWN = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, queue BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS taken (name TEXT PRIMARY KEY, until REAL NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """One attempt; `status` None when no answer came."""

    task: str
    url: str
    attempt: int
    status: int | None


class Queues:
    def __init__(
        self, data_dir: Path | None, clock: MovableClock, wait_scale: float, tokens: TokenIssuer
    ) -> None:
        self.dispatched: deque[Dispatched] = deque(maxlen=_DISPATCHES_SHOWN)
        self._clock = clock
        self._wait_scale = wait_scale
        self._tokens = tokens
        self._outbox = Outbox(None if data_dir is None else data_dir / "tasks.sqlite", _SCHEMA)
        self._lock = threading.RLock()
        self._client = httpx2.Client(trust_env=False, follow_redirects=False)
        self._running: dict[str, Dispatcher] = {}

    def start(self) -> None:
        self._outbox.execute("DELETE FROM taken WHERE until < ?", (self._clock.now(),))
        for queue in self.all_queues():
            self._run(queue)

    def stop(self) -> None:
        for dispatcher in self._running.values():
            dispatcher.stop()
        self._client.close()
        self._outbox.close()

    def hasten(self) -> None:
        """What is scheduled for later is due now."""
        for name, dispatcher in self._running.items():
            self._outbox.hasten(name, self._clock.now())
            dispatcher.wake()

    def hold(self, *, held: bool) -> None:
        """Dispatches nothing, from outside of the API."""
        for queue in self.all_queues():
            if held:
                self._running[queue.name].hold()
            elif queue.state == Queue.State.RUNNING:
                self._running[queue.name].release()

    def wait_until_idle(self, timeout: float, *, due_only: bool) -> bool:
        return all(d.wait_until_idle(timeout, due_only=due_only) for d in tuple(self._running.values()))

    # --- queues --------------------------------------------------------------------------------

    def create_queue(self, parent: str, queue: Queue) -> Queue:
        check_queue(parent, queue)
        with self._lock:
            if self._read_queue(queue.name) is not None:
                raise exists("Queue already exists")
            if self._is_taken(queue.name):
                raise Rejection(
                    grpc.StatusCode.FAILED_PRECONDITION,
                    "The queue cannot be created because a queue with this name existed too recently.",
                )
            made = with_defaults(queue)
            made.state = Queue.State.RUNNING
            self._write_queue(made)
            self._run(made)
            return made

    def queue(self, name: str) -> Queue:
        found = self._read_queue(name)
        if found is None:
            raise not_found("Queue does not exist.")
        return found

    def all_queues(self) -> list[Queue]:
        rows = self._outbox.execute("SELECT queue FROM queues ORDER BY name")
        return [Queue.deserialize(packed) for (packed,) in rows]

    def set_state(self, name: str, state: Queue.State) -> Queue:
        with self._lock:
            queue = self.queue(name)
            queue.state = state
            self._write_queue(queue)
            if state == Queue.State.PAUSED:
                self._running[name].hold()
            else:
                self._running[name].release()
            return queue

    def purge(self, name: str) -> Queue:
        with self._lock:
            queue = self.queue(name)
            for delivery in self._outbox.all(name):
                self._end(delivery)
            queue.purge_time = self._now()
            self._write_queue(queue)
            return queue

    def delete_queue(self, name: str) -> None:
        with self._lock:
            self.queue(name)
            self._running.pop(name).stop()
            self._outbox.clear(name)
            self._outbox.execute("DELETE FROM queues WHERE name = ?", (name,))
            self._take_name(name, _QUEUE_NAME_TAKEN)

    # --- tasks ---------------------------------------------------------------------------------

    def create_task(self, parent: str, task: Task) -> Task:
        with self._lock:
            self.queue(parent)
            check_task(parent, task, self._clock.now())
            made = Task(task)
            made.name = task.name or f"{parent}/tasks/{secrets.randbits(63)}"
            if self._outbox.find(made.name) is not None:
                raise exists("Requested entity already exists")
            if self._is_taken(made.name):
                raise exists("The task cannot be created because a task with this name existed too recently.")
            made.create_time = self._now()
            if "schedule_time" not in task or task.schedule_time < made.create_time:
                made.schedule_time = made.create_time
            if "dispatch_deadline" not in task:
                made.dispatch_deadline = timedelta(minutes=10)
            due, created = made.schedule_time.timestamp(), made.create_time.timestamp()
            self._outbox.add(parent, made.name, due, created, Task.serialize(made))
            self._running[parent].wake()
            return made

    def task(self, name: str) -> Task:
        return Task.deserialize(self._delivery(name).payload)

    def tasks(self, parent: str) -> list[Task]:
        self.queue(parent)
        return [Task.deserialize(delivery.payload) for delivery in self._outbox.all(parent)]

    def delete_task(self, name: str) -> None:
        with self._lock:
            self._end(self._delivery(name))

    def run_task(self, name: str) -> Task:
        """Dispatches it now, whatever its schedule says."""
        with self._lock:
            delivery = self._delivery(name)
            self._outbox.schedule(delivery.id, self._clock.now())
            self._running[delivery.lane].wake()
            return Task.deserialize(delivery.payload)

    # --- inside --------------------------------------------------------------------------------

    def _run(self, queue: Queue) -> None:
        concurrency = min(_MOST_THREADS, queue.rate_limits.max_concurrent_dispatches)
        limits = queue.rate_limits
        dispatcher = Dispatcher(
            self._outbox,
            queue.name,
            self._attempt,
            self._clock,
            concurrency=concurrency,
            rate=Rate(limits.max_dispatches_per_second, limits.max_burst_size),
        )
        if queue.state == Queue.State.PAUSED:
            dispatcher.hold()
        self._running[queue.name] = dispatcher
        dispatcher.start()

    def _attempt(self, delivery: Delivery) -> float | None:
        task = Task.deserialize(delivery.payload)
        sent = self._clock.now()
        answered = send(self._client, task, delivery.attempts, self._tokens)
        ended = self._clock.now()
        attempts = delivery.attempts + 1
        self.dispatched.append(Dispatched(task.name, task.http_request.url, attempts, answered.status))
        config = self.queue(delivery.lane).retry_config
        noted_task = noted(task, answered, scheduled=delivery.due, sent=sent, ended=ended)
        first = noted_task.first_attempt.dispatch_time.timestamp()
        if answered.accepted or exhausted(config, attempts, ended - first):
            self._take_name(task.name, _TASK_NAME_TAKEN)
            return None
        log.info("a task failed", extra={"task": task.name, "attempt": attempts, "status": answered.status})
        again = ended + self._wait_scale * wait_after(config, attempts)
        noted_task.schedule_time = datetime.fromtimestamp(again, UTC)
        self._outbox.rewrite(delivery.id, Task.serialize(noted_task))
        return again

    def _delivery(self, name: str) -> Delivery:
        found = self._outbox.find(name)
        if found is None:
            raise not_found("The task no longer exists." if self._is_taken(name) else "Task does not exist.")
        return found

    def _end(self, delivery: Delivery) -> None:
        self._take_name(delivery.name, _TASK_NAME_TAKEN)
        self._outbox.remove(delivery.id)

    def _take_name(self, name: str, seconds: float) -> None:
        self._outbox.execute(
            "INSERT OR REPLACE INTO taken (name, until) VALUES (?, ?)", (name, self._clock.now() + seconds)
        )

    def _is_taken(self, name: str) -> bool:
        now = self._clock.now()
        return bool(self._outbox.execute("SELECT 1 FROM taken WHERE name = ? AND until > ?", (name, now)))

    def _read_queue(self, name: str) -> Queue | None:
        rows = self._outbox.execute("SELECT queue FROM queues WHERE name = ?", (name,))
        return Queue.deserialize(rows[0][0]) if rows else None

    def _write_queue(self, queue: Queue) -> None:
        self._outbox.execute(
            "INSERT OR REPLACE INTO queues VALUES (?, ?)", (queue.name, Queue.serialize(queue))
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)
