"""From a bucket through the topic to a function: what arrives, how often, and when nothing does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import grpc
import pytest
from google.pubsub_v1.types import PublishRequest, PubsubMessage, Topic

from emulators.delivery.clock import MovableClock
from emulators.events.cloudevent import DELETED, FINALIZED
from emulators.events.disturbance import Disturbance
from emulators.events.server import EventsEmulator
from emulators.storage.server import StorageEmulator
from shared.adapters.storage import GcsObjects, connect
from tests.emulated import DERIVED, PROJECT, UPLOADS
from tests.receiver import Received, Receiver

FAST = 0.001  # the first wait is 10 ms
RESOURCE = {
    "name": "accounts/a/source",
    "bucket": UPLOADS,
    "generation": "17",
    "size": "5",
    "contentType": "text/plain",
    "timeCreated": "2026-01-01T00:00:00Z",
    "updated": "2026-01-01T00:00:00Z",
}


def make_events(
    receiver: Receiver,
    data_dir: Path | None = None,
    clock: MovableClock | None = None,
    wait_scale: float = FAST,
) -> EventsEmulator:
    targets = {FINALIZED: f"{receiver.url}/ingest", DELETED: f"{receiver.url}/cleanup"}
    events = EventsEmulator(
        project=PROJECT, targets=targets, data_dir=data_dir, clock=clock, wait_scale=wait_scale
    )
    events.start()
    return events


@pytest.fixture
def events(receiver: Receiver) -> Iterator[EventsEmulator]:
    events = make_events(receiver)
    yield events
    events.stop()


def publish(
    events: EventsEmulator, *, kind: str = "OBJECT_FINALIZE", topic: str = "objects", **more: str
) -> None:
    message = PubsubMessage(attributes={"eventType": kind}, data=json.dumps(RESOURCE | more).encode())
    request = PublishRequest(topic=f"projects/{PROJECT}/topics/{topic}", messages=[message])
    with grpc.insecure_channel(events.host) as channel:
        channel.unary_unary(
            "/google.pubsub.v1.Publisher/Publish", request_serializer=PublishRequest.serialize
        )(request)


def subjects(received: list[Received]) -> list[tuple[str, str]]:
    return [(event.path, event.headers["ce-subject"]) for event in received]


def test_a_bucket_tells_of_what_is_made_replaced_and_deleted(receiver: Receiver, tmp_path: Path) -> None:
    events = make_events(receiver)
    storage = StorageEmulator(
        project=PROJECT,
        buckets=(UPLOADS, DERIVED),
        run_dir=tmp_path,
        events_host=events.host,
        notify=UPLOADS,
    )
    storage.start()
    storage.wait_until_ready()
    client = connect(PROJECT, storage.url)
    try:
        GcsObjects(client, DERIVED).write("silent", b"x", content_type="text/plain")
        uploads = GcsObjects(client, UPLOADS)
        first = uploads.write("accounts/a/source", b"one", content_type="text/plain")
        receiver.wait_for(lambda got: len(got) == 1)
        second = uploads.write("accounts/a/source", b"three", content_type="text/csv", replace=True)
        receiver.wait_for(lambda got: len(got) == 3)
        uploads.delete_prefix("accounts/a/")
        received = receiver.wait_for(lambda got: len(got) == 4)
    finally:
        client.close()
        storage.stop()
        events.stop()

    told = [(event.path, int(json.loads(event.body)["generation"])) for event in received]
    assert told[0] == ("/ingest", first)
    assert sorted(told[1:3]) == [("/cleanup", first), ("/ingest", second)]
    assert told[3] == ("/cleanup", second)
    made = next(event for event in received if event.path == "/ingest" and str(second) in event.body.decode())
    assert made.headers["ce-type"] == FINALIZED
    assert made.headers["ce-specversion"] == "1.0"
    assert made.headers["ce-source"] == f"//storage.googleapis.com/projects/_/buckets/{UPLOADS}"
    assert made.headers["ce-subject"] == "objects/accounts/a/source"
    assert made.headers["content-type"] == "application/json"
    data = json.loads(made.body)
    assert (data["bucket"], data["name"], data["contentType"]) == (UPLOADS, "accounts/a/source", "text/csv")
    assert (data["generation"], data["size"], data["metageneration"]) == (str(second), "5", "1")
    assert data["md5Hash"]
    assert data["crc32c"]
    assert len({event.headers["ce-id"] for event in received}) == 4


def test_a_failed_delivery_is_repeated_until_it_is_accepted(
    events: EventsEmulator, receiver: Receiver
) -> None:
    receiver.statuses = [500, 429, 404]
    publish(events)
    received = receiver.wait_for(lambda got: len(got) == 4)
    assert events.wait_until_idle()
    assert len({event.headers["ce-id"] for event in received}) == 1
    waits = [later.at - earlier.at for earlier, later in pairwise(received)]
    assert all(wait >= FAST * 10 * 2**number for number, wait in enumerate(waits))
    assert [attempt.status for attempt in events.attempted] == [500, 429, 404, 200]


def test_nobody_listening_is_a_failed_delivery(receiver: Receiver) -> None:
    events = EventsEmulator(project=PROJECT, targets={FINALIZED: "http://127.0.0.1:1/"}, wait_scale=FAST)
    events.start()
    publish(events)
    assert not events.wait_until_idle(0.3)
    assert events.attempted[0].status is None
    assert [event.generation for event in events.waiting()] == [17]
    events.stop()


def test_waits_grow_to_ten_minutes_and_events_expire_after_a_day(receiver: Receiver) -> None:
    clock = MovableClock()
    events = make_events(receiver, clock=clock, wait_scale=1.0)
    receiver.statuses = [503] * 1000
    publish(events)
    assert events.wait_until_idle(due_only=True)
    for attempts, wait in enumerate((10, 20, 40, 80, 160, 320, 600, 600), 1):
        clock.advance(wait - 2)
        assert events.wait_until_idle(due_only=True)
        assert len(receiver.received) == attempts
        clock.advance(4)
        assert events.wait_until_idle(due_only=True)
        assert len(receiver.received) == attempts + 1
    clock.advance(24 * 3600)
    assert events.wait_until_idle(5)
    assert len(receiver.received) == 10
    events.stop()


def test_undelivered_events_survive_a_restart(receiver: Receiver, tmp_path: Path) -> None:
    events = make_events(receiver, tmp_path)
    events.hold()
    publish(events, generation="1")
    publish(events, generation="2")
    events.stop()
    assert receiver.received == []
    again = make_events(receiver, tmp_path)
    assert again.wait_until_idle()
    again.stop()
    assert {json.loads(event.body)["generation"] for event in receiver.received} == {"1", "2"}
    third = make_events(receiver, tmp_path)
    assert third.wait_until_idle(1)
    third.stop()
    assert len(receiver.received) == 2


def test_a_start_makes_up_for_notifications_that_got_lost(receiver: Receiver, tmp_path: Path) -> None:
    events = make_events(receiver, tmp_path)
    publish(events, name="kept")
    publish(events, name="replaced", generation="1")
    publish(events, name="deleted")
    publish(events, name="gone")
    publish(events, name="gone", kind="OBJECT_DELETE")
    assert events.wait_until_idle()
    events.stop()
    receiver.received.clear()

    again = make_events(receiver, tmp_path)
    there = [RESOURCE | {"name": "kept"}, RESOURCE | {"name": "replaced", "generation": "2"}]
    again.catch_up([*there, RESOURCE | {"name": "new"}])
    assert again.wait_until_idle()
    assert sorted(subjects(receiver.received)) == [
        ("/cleanup", "objects/deleted"),
        ("/ingest", "objects/new"),
        ("/ingest", "objects/replaced"),
    ]
    again.catch_up([*there, RESOURCE | {"name": "new"}])
    assert again.wait_until_idle()
    assert len(receiver.received) == 3
    again.stop()


def test_events_can_be_duplicated_delayed_and_reordered(events: EventsEmulator, receiver: Receiver) -> None:
    events.disturb(Disturbance(duplicates=2, spread=0.3, seed=1))
    for number in range(10):
        publish(events, generation=str(number))
    assert events.wait_until_idle()
    order = [int(json.loads(event.body)["generation"]) for event in receiver.received]
    assert sorted(order) == sorted([*range(10)] * 3)
    assert order != sorted(order)
    assert len({event.headers["ce-id"] for event in receiver.received}) == 10
    events.disturb(None)
    publish(events)
    assert events.wait_until_idle()
    assert len(receiver.received) == 31


def test_attempts_and_their_answers_can_get_lost(events: EventsEmulator, receiver: Receiver) -> None:
    events.disturb(Disturbance(lost=0.3, forgotten=0.3, seed=3))
    for number in range(20):
        publish(events, generation=str(number))
    assert events.wait_until_idle()
    counts = [sum(attempt.event.generation == n for attempt in events.attempted) for n in range(20)]
    assert max(counts) > 1
    assert len(receiver.received) > 20
    assert len(events.attempted) > len(receiver.received)
    assert {json.loads(event.body)["generation"] for event in receiver.received} == set(map(str, range(20)))


def test_held_events_are_delivered_by_hand_in_any_order(events: EventsEmulator, receiver: Receiver) -> None:
    events.hold()
    for number in (1, 2):
        publish(events, generation=str(number))
    older, newer = sorted(events.waiting(), key=lambda event: event.generation)
    receiver.statuses = [200, 500]
    assert events.deliver(newer) == 200
    assert events.deliver(older) == 500
    assert [json.loads(event.body)["generation"] for event in receiver.received] == ["2", "1"]
    events.release()
    assert events.wait_until_idle()
    assert len(receiver.received) == 4


def test_names_outside_ascii_travel_in_the_subject(events: EventsEmulator, receiver: Receiver) -> None:
    publish(events, name="accounts/a/ü %.txt")
    assert events.wait_until_idle()
    assert receiver.received[0].headers["ce-subject"] == "objects/accounts/a/%C3%BC%20%25.txt"


def test_other_kinds_and_other_methods_are_not_answered_wrongly(
    events: EventsEmulator, receiver: Receiver
) -> None:
    publish(events, kind="OBJECT_METADATA_UPDATE")
    assert events.wait_until_idle()
    assert receiver.received == []
    with pytest.raises(grpc.RpcError) as missing:
        publish(events, topic="other")
    assert missing.value.code() is grpc.StatusCode.NOT_FOUND
    with grpc.insecure_channel(events.host) as channel, pytest.raises(grpc.RpcError) as unknown:
        channel.unary_unary("/google.pubsub.v1.Publisher/CreateTopic", request_serializer=Topic.serialize)(
            Topic(name="projects/p/topics/t")
        )
    assert unknown.value.code() is grpc.StatusCode.UNIMPLEMENTED
