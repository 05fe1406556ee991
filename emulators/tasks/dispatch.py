"""One attempt of a task: the request as Cloud Tasks sends it, and what its answer does to the task."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import grpc
import httpx2
from google.cloud.tasks_v2.types import Attempt, HttpMethod, Task
from google.rpc.status_pb2 import Status

from emulators.identity import TokenIssuer

_DEFAULT_DEADLINE = 600.0
_CONNECT_SECONDS = 5.0
_OURS = ("x-cloudtasks-", "x-google-", "x-appengine-")
_NOT_THEIRS = frozenset({"host", "content-length", "user-agent"})


@dataclass(frozen=True, slots=True)
class Answered:
    """`status` None when no answer came, with the reason in `problem`."""

    status: int | None
    problem: str = ""

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def headers(task: Task, attempts: int, tokens: TokenIssuer) -> dict[str, str]:
    """The task's own headers and those of the queue; `attempts` is how many went before."""
    given = {name: value for name, value in task.http_request.headers.items() if _may_be_set(name)}
    if task.http_request.body and "content-type" not in {name.lower() for name in given}:
        given["Content-Type"] = "application/octet-stream"
    names = task.name.split("/")
    ours = {
        "User-Agent": "Google-Cloud-Tasks",
        "X-CloudTasks-QueueName": names[-3],
        "X-CloudTasks-TaskName": names[-1],
        "X-CloudTasks-TaskRetryCount": str(attempts),
        "X-CloudTasks-TaskExecutionCount": str(task.response_count),
        "X-CloudTasks-TaskETA": f"{task.schedule_time.timestamp():.6f}",
    }
    before = task.last_attempt.response_status.message if attempts else ""
    if before:
        ours["X-CloudTasks-TaskPreviousResponse"] = before
    if "oidc_token" in task.http_request:
        oidc = task.http_request.oidc_token
        token = tokens.token(oidc.service_account_email, oidc.audience or task.http_request.url)
        given = {name: value for name, value in given.items() if name.lower() != "authorization"}
        ours["Authorization"] = f"Bearer {token}"
    return given | ours


def send(client: httpx2.Client, task: Task, attempts: int, tokens: TokenIssuer) -> Answered:
    request = task.http_request
    deadline = task.dispatch_deadline.total_seconds() if "dispatch_deadline" in task else _DEFAULT_DEADLINE
    try:
        answer = client.request(
            HttpMethod(request.http_method or HttpMethod.POST).name,
            request.url,
            headers=headers(task, attempts, tokens),
            content=request.body,
            timeout=httpx2.Timeout(deadline, connect=_CONNECT_SECONDS),
        )
    except httpx2.TransportError as error:
        return Answered(None, type(error).__name__)
    return Answered(answer.status_code)


def noted(task: Task, answered: Answered, *, scheduled: float, sent: float, ended: float) -> Task:
    """The task with this attempt in its counts and its history. A 5xx does not count as a response of the
    handler."""
    made = Task(task)
    attempt = Attempt(
        schedule_time=_time(scheduled),
        dispatch_time=_time(sent),
        response_status=Status(code=_code(answered), message=str(answered.status or answered.problem)),
    )
    if answered.status is not None:
        attempt.response_time = _time(ended)
    made.dispatch_count += 1
    made.response_count += answered.status is not None and answered.status < 500
    if "first_attempt" not in made:
        made.first_attempt = Attempt(dispatch_time=_time(sent))
    made.last_attempt = attempt
    return made


def _may_be_set(name: str) -> bool:
    return name.lower() not in _NOT_THEIRS and not name.lower().startswith(_OURS)


def _code(answered: Answered) -> int:
    if answered.accepted:
        return 0
    status = grpc.StatusCode.UNAVAILABLE if answered.status is None else grpc.StatusCode.UNKNOWN
    return int(status.value[0])


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
