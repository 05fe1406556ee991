"""Jobs that post at the times of a cron expression, as Cloud Scheduler does."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx2
from cronsim import CronSim

from emulators.delivery.clock import MovableClock
from emulators.delivery.dispatcher import Dispatcher
from emulators.delivery.outbox import Delivery, Outbox
from emulators.identity import TokenIssuer

log = logging.getLogger(__name__)

_LANE = "scheduler"
_FIRST_RETRY = 5.0
_LONGEST_RETRY = 3600.0
_RUNS_SHOWN = 10_000


@dataclass(frozen=True, slots=True)
class Job:
    """`schedule` is a cron expression of five fields in `time_zone`. With `service_account` each call carries
    an OIDC token of it for `audience` (the URL when that is empty). After a failure there are `retries` more
    tries; a call may take `deadline` seconds."""

    name: str
    schedule: str
    url: str
    body: str = "{}"
    service_account: str = ""
    audience: str = ""
    time_zone: str = "UTC"
    retries: int = 0
    deadline: float = 180.0

    def next_after(self, moment: float) -> float:
        """The next time after `moment`, both in seconds since the epoch."""
        start = datetime.fromtimestamp(moment, ZoneInfo(self.time_zone))
        return next(CronSim(self.schedule, start)).timestamp()


@dataclass(frozen=True, slots=True)
class Ran:
    """One call of a job; `status` None when no answer came."""

    job: str
    scheduled: float
    status: int | None


class SchedulerEmulator:
    """Runs its jobs until it is stopped. A job never runs beside itself; one whose times passed while nothing
    ran is run once. With `data_dir` a restart knows what is due. `wait_scale` shortens the waits before
    retries."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        tokens: TokenIssuer | None = None,
        data_dir: Path | None = None,
        clock: MovableClock | None = None,
        wait_scale: float = 1.0,
    ) -> None:
        self.ran: deque[Ran] = deque(maxlen=_RUNS_SHOWN)
        self._jobs = {job.name: job for job in jobs}
        self._tokens = tokens
        self._clock = clock or MovableClock()
        self._wait_scale = wait_scale
        self._outbox = Outbox(None if data_dir is None else data_dir / "scheduler.sqlite")
        self._dispatcher = Dispatcher(
            self._outbox, _LANE, self._attempt, self._clock, concurrency=max(1, len(self._jobs))
        )
        self._client = httpx2.Client(trust_env=False, follow_redirects=False)

    def start(self) -> None:
        now = self._clock.now()
        kept = {delivery.name: delivery for delivery in self._outbox.all(_LANE)}
        for name in kept.keys() - self._jobs.keys():
            self._outbox.remove(kept[name].id)
        for job in self._jobs.values():
            if job.name not in kept:
                self._outbox.add(_LANE, job.name, job.next_after(now), now, _state(job, 0))
            elif json.loads(kept[job.name].payload)["schedule"] != job.schedule:
                self._outbox.rewrite(kept[job.name].id, _state(job, 0))
                self._outbox.schedule(kept[job.name].id, job.next_after(now))
        self._dispatcher.start()

    def stop(self) -> None:
        self._dispatcher.stop()
        self._client.close()
        self._outbox.close()

    def hold(self) -> None:
        """Starts no job until `release`."""
        self._dispatcher.hold()

    def release(self) -> None:
        self._dispatcher.release()

    def run(self, name: str) -> None:
        """Runs a job now, whatever its schedule says."""
        delivery = self._outbox.find(name)
        if delivery is None:
            raise KeyError(f"no job is called {name}")
        self._outbox.schedule(delivery.id, self._clock.now())
        self._dispatcher.wake()

    def next_times(self) -> dict[str, float]:
        """When each job runs next, in seconds since the epoch."""
        return {delivery.name: delivery.due for delivery in self._outbox.all(_LANE)}

    def wait_until_idle(self, timeout: float = 30.0) -> bool:
        """Whether within `timeout` seconds no job was running or due."""
        return self._dispatcher.wait_until_idle(timeout, due_only=True)

    def _attempt(self, delivery: Delivery) -> float | None:
        job = self._jobs[delivery.name]
        failures = int(json.loads(delivery.payload)["failures"])
        status = self._post(job, delivery.due)
        self.ran.append(Ran(job.name, delivery.due, status))
        now = self._clock.now()
        if status is not None and 200 <= status < 300:
            self._outbox.rewrite(delivery.id, _state(job, 0))
            return job.next_after(now)
        log.info("a job failed", extra={"job": job.name, "status": status})
        if failures < job.retries:
            self._outbox.rewrite(delivery.id, _state(job, failures + 1))
            return now + self._wait_scale * min(_LONGEST_RETRY, _FIRST_RETRY * 2.0**failures)
        self._outbox.rewrite(delivery.id, _state(job, 0))
        return job.next_after(now)

    def _post(self, job: Job, scheduled: float) -> int | None:
        headers = {
            "User-Agent": "Google-Cloud-Scheduler",
            "X-CloudScheduler": "true",
            "X-CloudScheduler-JobName": job.name,
            "X-CloudScheduler-ScheduleTime": datetime.fromtimestamp(scheduled, UTC).isoformat(),
            "Content-Type": "application/json",
        }
        if job.service_account and self._tokens is not None:
            token = self._tokens.token(job.service_account, job.audience or job.url)
            headers["Authorization"] = f"Bearer {token}"
        try:
            answer = self._client.post(
                job.url, content=job.body.encode(), headers=headers, timeout=httpx2.Timeout(job.deadline)
            )
        except httpx2.TransportError as error:
            log.info("a job met no answer", extra={"job": job.name, "error": type(error).__name__})
            return None
        return answer.status_code


def _state(job: Job, failures: int) -> bytes:
    return json.dumps({"schedule": job.schedule, "failures": failures}).encode()
