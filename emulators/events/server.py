"""A Pub/Sub `Publisher` whose one topic has push triggers, as Eventarc sets them up for a bucket."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
from google.pubsub_v1.types import PublishRequest, PublishResponse

from emulators.delivery.clock import MovableClock
from emulators.delivery.dispatcher import Dispatcher
from emulators.delivery.outbox import Delivery, Outbox
from emulators.events.cloudevent import DELETED, FINALIZED, ObjectEvent, from_message, from_resource
from emulators.events.disturbance import Disturbance
from emulators.serving import GrpcServer

log = logging.getLogger(__name__)

_LANE = "events"
_CALM = Disturbance()
_RETENTION = 24 * 3600.0
# Of the push subscription that Eventarc makes: seconds before the second attempt, and at most.
_FIRST_WAIT = 10.0
_LONGEST_WAIT = 600.0
# An event function may take 540 s.
_TIMEOUT = httpx2.Timeout(600.0, connect=5.0)
_ATTEMPTS_SHOWN = 10_000
# Which objects have been heard of, so that a lost notification is noticed at the next start.
_HEARD = (
    "CREATE TABLE IF NOT EXISTS heard (name TEXT PRIMARY KEY, generation INTEGER NOT NULL, resource TEXT);"
)


@dataclass(frozen=True, slots=True)
class Attempted:
    """One attempt to deliver; `status` None when no answer came (or was let through)."""

    event: ObjectEvent
    attempt: int
    status: int | None


class EventsEmulator:
    """Delivers at least once and in no order, at growing intervals, for 24 hours of its clock.

    `targets` maps a CloudEvent type to the address of a function; types without one are dropped. With
    `data_dir` undelivered events survive a restart. `wait_scale` shortens the waits between attempts.
    """

    def __init__(
        self,
        *,
        project: str,
        targets: Mapping[str, str],
        topic: str = "objects",
        data_dir: Path | None = None,
        clock: MovableClock | None = None,
        wait_scale: float = 1.0,
        concurrency: int = 4,
    ) -> None:
        self.attempted: deque[Attempted] = deque(maxlen=_ATTEMPTS_SHOWN)
        self._topic = f"projects/{project}/topics/{topic}"
        self._targets = dict(targets)
        self._clock = clock or MovableClock()
        self._wait_scale = wait_scale
        self._disturbance = _CALM
        self._outbox = Outbox(None if data_dir is None else data_dir / "events.sqlite", _HEARD)
        self._dispatcher = Dispatcher(
            self._outbox, _LANE, self._attempt, self._clock, concurrency=concurrency
        )
        self._client = httpx2.Client(timeout=_TIMEOUT, trust_env=False)
        publish = grpc.unary_unary_rpc_method_handler(
            self._publish, PublishRequest.deserialize, PublishResponse.serialize
        )
        self._server = GrpcServer("google.pubsub.v1.Publisher", {"Publish": publish})
        self._ids = threading.Lock()
        self._last_id = 0

    @property
    def host(self) -> str:
        """What `PUBSUB_EMULATOR_HOST` takes."""
        return self._server.host

    def start(self) -> None:
        """What an earlier run left undelivered is due at once: whoever starts again does not want to wait."""
        self._outbox.hasten(_LANE, self._clock.now())
        self._server.start()
        self._dispatcher.start()

    def stop(self) -> None:
        self._server.stop()
        self._dispatcher.stop()
        self._client.close()
        self._outbox.close()

    # --- for tests -----------------------------------------------------------------------------

    def disturb(self, disturbance: Disturbance | None) -> None:
        """From now on; None calms down."""
        self._disturbance = disturbance or _CALM

    def hold(self) -> None:
        """Keeps events back until `release`."""
        self._dispatcher.hold()

    def release(self) -> None:
        self._dispatcher.release()

    def waiting(self) -> list[ObjectEvent]:
        return [ObjectEvent.unpack(delivery.payload) for delivery in self._outbox.all(_LANE)]

    def deliver(self, event: ObjectEvent) -> int | None:
        """Delivers one event now, in this thread, once more than anything else would: the status of the
        answer, None when there was none."""
        return self._post(event)

    def hasten(self) -> None:
        """What waits for its next attempt is tried at once."""
        self._outbox.hasten(_LANE, self._clock.now())
        self._dispatcher.wake()

    def wait_until_idle(self, timeout: float = 30.0, *, due_only: bool = False) -> bool:
        """Whether every event was delivered within `timeout` seconds; or tried, when it was due by then."""
        return self._dispatcher.wait_until_idle(timeout, due_only=due_only)

    # --- in ------------------------------------------------------------------------------------

    def catch_up(self, resources: Iterable[Mapping[str, Any]]) -> None:
        """Compares the bucket with what was heard of it: a notification that got lost when everything died
        at once is made up for. Called after a start, before anybody else writes to the bucket."""
        there = {str(resource["name"]): resource for resource in resources}
        rows = self._outbox.execute("SELECT name, generation, resource FROM heard")
        heard = {str(name): (int(str(generation)), str(known)) for name, generation, known in rows}
        for name, resource in there.items():
            if name not in heard or heard[name][0] != int(resource["generation"]):
                self._take(from_resource(self._new_id(), FINALIZED, resource))
        for name in heard.keys() - there.keys():
            event = ObjectEvent.unpack(heard[name][1].encode())
            self._take(ObjectEvent(self._new_id(), DELETED, *_rest(event)))

    def _publish(self, request: PublishRequest, context: grpc.ServicerContext) -> PublishResponse:
        if request.topic != self._topic:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Resource not found (resource={request.topic}).")
        ids = []
        for message in request.messages:
            ids.append(self._new_id())
            event = from_message(ids[-1], message.attributes, message.data)
            if event is not None:
                self._take(event)
        return PublishResponse(message_ids=ids)

    def _take(self, event: ObjectEvent) -> None:
        if event.type in self._targets:
            now = self._clock.now()
            for copy, delay in enumerate(self._disturbance.delays()):
                self._outbox.add(_LANE, f"{event.id}/{copy}", now + delay, now, event.pack())
            self._dispatcher.wake()
        if event.type == FINALIZED:
            self._outbox.execute(
                "INSERT INTO heard VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
                " generation = excluded.generation, resource = excluded.resource"
                " WHERE excluded.generation > generation",
                (event.name, event.generation, event.pack().decode()),
            )
        else:
            self._outbox.execute(
                "DELETE FROM heard WHERE name = ? AND generation <= ?", (event.name, event.generation)
            )

    def _new_id(self) -> str:
        with self._ids:
            self._last_id = max(self._last_id + 1, time.time_ns() // 1000)
            return str(self._last_id)

    # --- out -----------------------------------------------------------------------------------

    def _attempt(self, delivery: Delivery) -> float | None:
        event = ObjectEvent.unpack(delivery.payload)
        status = None if self._disturbance.loses() else self._post(event)
        if status is not None and self._disturbance.forgets():
            status = None
        self.attempted.append(Attempted(event, delivery.attempts + 1, status))
        if status is not None and 200 <= status < 300:
            return None
        now = self._clock.now()
        if now - delivery.created > _RETENTION:
            log.warning("an event expired", extra={"event": event.id, "object": event.name})
            return None
        return now + self._wait_scale * min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**delivery.attempts)

    def _post(self, event: ObjectEvent) -> int | None:
        try:
            answer = self._client.post(
                self._targets[event.type], content=event.data.encode(), headers=event.headers()
            )
        except httpx2.TransportError as error:
            log.info("an event met no answer", extra={"event": event.id, "error": type(error).__name__})
            return None
        return answer.status_code


def _rest(event: ObjectEvent) -> tuple[str, str, int, str, str]:
    return event.bucket, event.name, event.generation, event.time, event.data
