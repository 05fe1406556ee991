"""The queue adapter and the unmodified client against the tasks emulator."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from google.api_core import exceptions
from google.cloud.tasks_v2 import CloudTasksClient, types

from emulators.delivery.clock import MovableClock
from emulators.identity import TokenIssuer
from emulators.serving import free_port
from emulators.tasks.retry import exhausted, wait_after
from emulators.tasks.server import TasksEmulator
from shared.adapters.oidc import ServiceAccountTokens
from shared.adapters.tasks import CloudTasksQueue, connect
from shared.domain.errors import TransientError, UnauthenticatedError
from shared.ports import Task
from tests.receiver import Receiver

LOCATION = "projects/demo/locations/local"
FAST = 0.1  # the first wait is 10 ms


@pytest.fixture
def emulator(clock: MovableClock, tokens: TokenIssuer) -> Iterator[TasksEmulator]:
    emulator = TasksEmulator(clock=clock, wait_scale=FAST, tokens=tokens)
    emulator.start()
    yield emulator
    emulator.stop()


@pytest.fixture
def client(emulator: TasksEmulator) -> Iterator[CloudTasksClient]:
    client = connect(emulator.host)
    yield client
    client.transport.close()


@pytest.fixture
def queue(emulator: TasksEmulator) -> str:
    name = f"{LOCATION}/queues/q-{uuid.uuid4().hex[:8]}"
    emulator.ensure_queue(name, max_concurrent=4)
    return name


def post(receiver: Receiver, **more: object) -> types.Task:
    request = types.HttpRequest(url=f"{receiver.url}/work", body=b"{}")
    return types.Task(http_request=request, **more)  # type: ignore[arg-type]


# --- the adapter -----------------------------------------------------------------------------------


def test_a_task_calls_the_function_with_its_body(
    client: CloudTasksClient, queue: str, receiver: Receiver
) -> None:
    tasks = CloudTasksQueue(client, queue, receiver.url)
    assert tasks.enqueue(Task("/continue", {"document_id": "döc", "revision": 3}, name="doc-3"))
    (got,) = receiver.wait_for(lambda received: len(received) == 1)
    assert got.path == "/continue"
    assert json.loads(got.body) == {"document_id": "döc", "revision": 3}
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-cloudtasks-queuename"] == queue.rsplit("/", 1)[-1]
    assert got.headers["x-cloudtasks-taskname"] == "doc-3"
    assert got.headers["x-cloudtasks-taskretrycount"] == "0"
    assert got.headers["x-cloudtasks-taskexecutioncount"] == "0"
    assert abs(float(got.headers["x-cloudtasks-tasketa"]) - datetime.now(UTC).timestamp()) < 5
    assert got.headers["user-agent"] == "Google-Cloud-Tasks"


def test_a_name_is_taken_while_the_task_exists_and_an_hour_longer(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator, clock: MovableClock
) -> None:
    tasks = CloudTasksQueue(client, queue, receiver.url)
    later = datetime.now(UTC) + timedelta(hours=2)
    assert tasks.enqueue(Task("/a", {}, name="once", at=later))
    assert not tasks.enqueue(Task("/a", {}, name="once", at=later))
    emulator.hasten()
    assert emulator.wait_until_idle(due_only=False)
    assert not tasks.enqueue(Task("/a", {}, name="once"))
    clock.advance(3590)
    assert not tasks.enqueue(Task("/a", {}, name="once"))
    clock.advance(20)
    assert tasks.enqueue(Task("/a", {}, name="once"))
    assert emulator.wait_until_idle(due_only=False)
    assert len(receiver.received) == 2


def test_tasks_without_a_name_never_collide(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator
) -> None:
    tasks = CloudTasksQueue(client, queue, receiver.url)
    assert all(tasks.enqueue(Task("/a", {})) for _ in range(5))
    assert emulator.wait_until_idle(due_only=False)
    assert len(receiver.received) == 5


def test_a_task_waits_for_its_time(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator, clock: MovableClock
) -> None:
    tasks = CloudTasksQueue(client, queue, receiver.url)
    tasks.enqueue(Task("/later", {}, at=datetime.now(UTC) + timedelta(minutes=5)))
    clock.advance(290)
    assert emulator.wait_until_idle()
    assert receiver.received == []
    clock.advance(20)
    receiver.wait_for(lambda received: len(received) == 1)


def test_a_task_of_a_service_account_carries_its_token(
    client: CloudTasksClient, queue: str, receiver: Receiver, tokens: TokenIssuer
) -> None:
    email = "tasks@demo.iam.gserviceaccount.com"
    CloudTasksQueue(client, queue, receiver.url, email).enqueue(Task("/a", {}))
    client.create_task(
        parent=queue,
        task=types.Task(
            http_request={
                "url": f"{receiver.url}/b?x=1",
                "oidc_token": {"service_account_email": "other@demo.iam.gserviceaccount.com"},
                "headers": {"Authorization": "Bearer forged"},
            }
        ),
    )
    received = receiver.wait_for(lambda received: len(received) == 2)
    sent = {got.path: got.headers["authorization"] for got in received}
    ServiceAccountTokens(tokens.certs_url, email=email, audience=receiver.url).check(sent["/a"])
    # Without an audience a token is for the whole address of its task.
    whole = ServiceAccountTokens(
        tokens.certs_url, email="other@demo.iam.gserviceaccount.com", audience=f"{receiver.url}/b?x=1"
    )
    whole.check(sent["/b"])
    with pytest.raises(UnauthenticatedError):
        whole.check(sent["/a"])


def test_nobody_listening_is_a_transient_error() -> None:
    client = connect(f"127.0.0.1:{free_port()}")
    with pytest.raises(TransientError, match="doc-3"):
        CloudTasksQueue(client, f"{LOCATION}/queues/q", "http://127.0.0.1").enqueue(
            Task("/a", {}, name="doc-3")
        )
    client.transport.close()


# --- dispatching -----------------------------------------------------------------------------------


def test_a_failed_task_is_repeated_with_growing_waits(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator
) -> None:
    receiver.statuses = [500, 404, 503]
    client.create_task(parent=queue, task=post(receiver))
    received = receiver.wait_for(lambda received: len(received) == 4)
    assert emulator.wait_until_idle(due_only=False)
    seen = [
        tuple(got.headers.get(f"x-cloudtasks-task{name}") for name in ("retrycount", "executioncount"))
        for got in received
    ]
    assert seen == [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")]
    assert [got.headers.get("x-cloudtasks-taskpreviousresponse") for got in received] == [
        None,
        "500",
        "404",
        "503",
    ]
    assert received[0].headers["content-type"] == "application/octet-stream"
    waits = [later.at - earlier.at for earlier, later in pairwise(received)]
    assert all(wait >= 0.01 * 2**number for number, wait in enumerate(waits))
    assert [dispatched.status for dispatched in emulator.dispatched] == [500, 404, 503, 200]


def test_a_task_is_given_up_after_its_last_attempt(
    client: CloudTasksClient, receiver: Receiver, emulator: TasksEmulator
) -> None:
    name = f"{LOCATION}/queues/three"
    client.create_queue(
        parent=LOCATION, queue=types.Queue(name=name, retry_config=types.RetryConfig(max_attempts=3))
    )
    receiver.statuses = [500] * 10
    task = client.create_task(parent=name, task=post(receiver))
    assert emulator.wait_until_idle(due_only=False)
    assert len(receiver.received) == 3
    with pytest.raises(exceptions.NotFound):
        client.get_task(name=task.name)


def test_no_answer_is_a_failure_and_nobody_listening_too(
    client: CloudTasksClient, queue: str, emulator: TasksEmulator
) -> None:
    request = types.HttpRequest(url=f"http://127.0.0.1:{free_port()}/")
    task = client.create_task(parent=queue, task=types.Task(http_request=request))
    assert not emulator.wait_until_idle(0.2, due_only=False)
    shown = client.get_task(name=task.name)
    assert shown.dispatch_count >= 1
    assert shown.response_count == 0
    assert shown.last_attempt.response_status.message == "ConnectError"


def test_no_more_are_in_flight_than_the_queue_allows(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator
) -> None:
    receiver.seconds = 0.05
    for _ in range(12):
        client.create_task(parent=queue, task=post(receiver))
    assert emulator.wait_until_idle(due_only=False)
    assert len(receiver.received) == 12
    assert receiver.most_at_once == 4


def test_a_task_sets_headers_but_not_those_of_the_queue(
    client: CloudTasksClient, queue: str, receiver: Receiver
) -> None:
    headers = {
        "X-CloudTasks-TaskName": "forged",
        "Host": "forged",
        "X-Mine": "kept",
        "Content-Type": "text/x",
    }
    request = types.HttpRequest(
        url=f"{receiver.url}/work?a=1", http_method=types.HttpMethod.PUT, headers=headers, body=b"body"
    )
    client.create_task(parent=queue, task=types.Task(name=f"{queue}/tasks/mine", http_request=request))
    (got,) = receiver.wait_for(lambda received: len(received) == 1)
    assert got.headers["x-cloudtasks-taskname"] == "mine"
    assert got.headers["x-mine"] == "kept"
    assert got.headers["content-type"] == "text/x"
    assert "forged" not in got.headers["host"]
    assert got.body == b"body"


# --- waits by the book -----------------------------------------------------------------------------


def test_waits_double_then_grow_evenly_then_stay() -> None:
    """The example of `RetryConfig.max_doublings` in `queue.proto`."""
    config = types.RetryConfig(
        min_backoff=timedelta(seconds=10), max_backoff=timedelta(seconds=300), max_doublings=3
    )
    assert [wait_after(config, attempt) for attempt in range(1, 9)] == [10, 20, 40, 80, 160, 240, 300, 300]


def test_both_limits_must_be_passed_where_both_are_set() -> None:
    both = types.RetryConfig(max_attempts=3, max_retry_duration=timedelta(seconds=60))
    assert not exhausted(both, 2, 100)
    assert not exhausted(both, 3, 59)
    assert exhausted(both, 3, 60)
    endless = types.RetryConfig(max_attempts=-1)
    assert not exhausted(endless, 10_000, 1e9)


# --- queues and tasks as resources -----------------------------------------------------------------


def test_queues_are_made_shown_and_deleted(client: CloudTasksClient, clock: MovableClock) -> None:
    made = client.create_queue(parent=LOCATION, queue=types.Queue(name=f"{LOCATION}/queues/b"))
    assert made.state == types.Queue.State.RUNNING
    assert made.retry_config.max_attempts == 100
    assert made.rate_limits.max_concurrent_dispatches == 1000
    client.create_queue(parent=LOCATION, queue=types.Queue(name=f"{LOCATION}/queues/a"))
    assert client.get_queue(name=made.name) == made
    shown = [queue.name for queue in client.list_queues(request={"parent": LOCATION, "page_size": 1})]
    assert shown == [f"{LOCATION}/queues/a", f"{LOCATION}/queues/b"]
    with pytest.raises(exceptions.AlreadyExists):
        client.create_queue(parent=LOCATION, queue=types.Queue(name=made.name))
    client.delete_queue(name=made.name)
    with pytest.raises(exceptions.NotFound):
        client.get_queue(name=made.name)
    with pytest.raises(exceptions.FailedPrecondition, match="too recently"):
        client.create_queue(parent=LOCATION, queue=types.Queue(name=made.name))
    clock.advance(7 * 24 * 3600 + 1)
    client.create_queue(parent=LOCATION, queue=types.Queue(name=made.name))


def test_a_paused_queue_takes_tasks_and_dispatches_none(
    client: CloudTasksClient, queue: str, receiver: Receiver, emulator: TasksEmulator
) -> None:
    assert client.pause_queue(name=queue).state == types.Queue.State.PAUSED
    client.create_task(parent=queue, task=post(receiver))
    assert not emulator.wait_until_idle(0.1)
    assert receiver.received == []
    client.resume_queue(name=queue)
    assert emulator.wait_until_idle()
    assert len(receiver.received) == 1


def test_tasks_are_shown_purged_and_deleted(client: CloudTasksClient, queue: str, receiver: Receiver) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    for number in range(5):
        name = f"{queue}/tasks/t{number}"
        client.create_task(parent=queue, task=post(receiver, name=name, schedule_time=at))
    shown = list(client.list_tasks(request={"parent": queue, "page_size": 2}))
    assert [task.name[-2:] for task in shown] == ["t0", "t1", "t2", "t3", "t4"]
    assert {task.http_request.body for task in shown} == {b""}
    request = types.GetTaskRequest(name=f"{queue}/tasks/t1", response_view=types.Task.View.FULL)
    full = client.get_task(request=request)
    assert full.http_request.body == b"{}"
    assert full.dispatch_deadline == timedelta(minutes=10)
    assert full.schedule_time == at
    client.delete_task(name=f"{queue}/tasks/t1")
    with pytest.raises(exceptions.NotFound):
        client.delete_task(name=f"{queue}/tasks/t1")
    client.purge_queue(name=queue)
    assert list(client.list_tasks(parent=queue)) == []
    with pytest.raises(exceptions.AlreadyExists, match="too recently"):
        client.create_task(parent=queue, task=post(receiver, name=f"{queue}/tasks/t2"))
    assert receiver.received == []


def test_a_task_can_be_run_before_its_time(client: CloudTasksClient, queue: str, receiver: Receiver) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    task = client.create_task(parent=queue, task=post(receiver, schedule_time=at))
    client.run_task(name=task.name)
    receiver.wait_for(lambda received: len(received) == 1)


URL = {"url": "http://127.0.0.1/"}


@pytest.mark.parametrize(
    ("task", "error"),
    [
        pytest.param(
            {"http_request": URL, "name": "{queue}/tasks/no blank"}, "InvalidArgument", id="bad name"
        ),
        pytest.param({"http_request": URL, "name": "{queue}x/tasks/a"}, "InvalidArgument", id="other queue"),
        pytest.param({"http_request": {"url": "ftp://x/"}}, "InvalidArgument", id="not http"),
        pytest.param({"http_request": URL | {"body": b"x" * 1024 * 1024}}, "InvalidArgument", id="over 1 MB"),
        pytest.param(
            {"http_request": URL | {"http_method": "GET", "body": b"x"}},
            "InvalidArgument",
            id="body of a GET",
        ),
        pytest.param(
            {"http_request": URL, "schedule_time": datetime.now(UTC) + timedelta(days=31)},
            "InvalidArgument",
            id="too far ahead",
        ),
        pytest.param(
            {"http_request": URL, "dispatch_deadline": timedelta(seconds=5)}, "InvalidArgument", id="deadline"
        ),
        pytest.param({}, "InvalidArgument", id="nothing to call"),
        pytest.param({"app_engine_http_request": {}}, "MethodNotImplemented", id="App Engine"),
    ],
)
def test_what_production_refuses_is_refused(
    client: CloudTasksClient, queue: str, task: dict[str, object], error: str
) -> None:
    if "name" in task:
        task = task | {"name": str(task["name"]).format(queue=queue)}
    with pytest.raises(getattr(exceptions, error)):
        client.create_task(parent=queue, task=types.Task(task))


def test_a_queue_keeps_its_rate(
    client: CloudTasksClient, receiver: Receiver, emulator: TasksEmulator, clock: MovableClock
) -> None:
    name = f"{LOCATION}/queues/slow"
    limits = types.RateLimits(max_dispatches_per_second=0.001, max_burst_size=3)
    client.create_queue(parent=LOCATION, queue=types.Queue(name=name, rate_limits=limits))
    for _ in range(5):
        client.create_task(parent=name, task=post(receiver))
    assert not emulator.wait_until_idle(0.5)
    assert len(receiver.received) == 3
    clock.advance(1_000)
    receiver.wait_for(lambda received: len(received) == 4)
    clock.advance(1_000)
    assert emulator.wait_until_idle()
    assert len(receiver.received) == 5


def test_a_missing_queue_and_missing_methods_say_so(client: CloudTasksClient, receiver: Receiver) -> None:
    with pytest.raises(exceptions.NotFound):
        client.create_task(parent=f"{LOCATION}/queues/none", task=post(receiver))
    with pytest.raises(exceptions.MethodNotImplemented):
        client.update_queue(queue=types.Queue(name=f"{LOCATION}/queues/none"))


def test_tasks_and_taken_names_survive_a_restart(tmp_path: Path, receiver: Receiver) -> None:
    name = f"{LOCATION}/queues/kept"
    first = TasksEmulator(data_dir=tmp_path)
    first.start()
    first.ensure_queue(name, max_concurrent=2)
    client = connect(first.host)
    client.create_task(parent=name, task=post(receiver, name=f"{name}/tasks/done"))
    receiver.wait_for(lambda received: len(received) == 1)
    assert first.wait_until_idle()
    first.hold()
    client.create_task(parent=name, task=post(receiver, name=f"{name}/tasks/open"))
    client.transport.close()
    first.stop()

    second = TasksEmulator(data_dir=tmp_path)
    second.start()
    second.ensure_queue(name, max_concurrent=2)
    received = receiver.wait_for(lambda received: len(received) == 2)
    assert received[1].headers["x-cloudtasks-taskname"] == "open"
    client = connect(second.host)
    with pytest.raises(exceptions.AlreadyExists):
        client.create_task(parent=name, task=post(receiver, name=f"{name}/tasks/done"))
    client.transport.close()
    second.stop()
