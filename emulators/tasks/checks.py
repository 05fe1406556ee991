"""What Cloud Tasks refuses to take. The limits are those of its reference: protos and quotas."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from google.cloud.tasks_v2.types import HttpMethod, HttpRequest, Queue, Task

from emulators.tasks.rejection import invalid, unimplemented

_LOCATION = re.compile(r"projects/[^/]+/locations/[a-z0-9-]+\Z")
_QUEUE = re.compile(r"projects/[^/]+/locations/[a-z0-9-]+/queues/[A-Za-z0-9-]{1,100}\Z")
_TASK_ID = re.compile(r"[A-Za-z0-9_-]{1,500}\Z")
_LARGEST_TASK = 1024 * 1024
_LONGEST_URL = 2083
_FARTHEST = 30 * 24 * 3600.0
_DEADLINE = (15.0, 30 * 60.0)
_WITH_BODY = (HttpMethod.HTTP_METHOD_UNSPECIFIED, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH)


def check_location(parent: str) -> None:
    if not _LOCATION.match(parent):
        raise invalid(f"{parent!r} is not projects/PROJECT/locations/LOCATION.")


def check_queue(parent: str, queue: Queue) -> None:
    check_location(parent)
    if not _QUEUE.match(queue.name) or not queue.name.startswith(f"{parent}/queues/"):
        raise invalid(f"Queue name {queue.name!r} is not {parent}/queues/[A-Za-z0-9-]{{1,100}}.")
    if "http_target" in queue or "app_engine_routing_override" in queue:
        raise unimplemented("routing overrides of a queue")


def check_task(queue: str, task: Task, now: float) -> None:
    if task.name and not (
        task.name.startswith(f"{queue}/tasks/") and _TASK_ID.match(task.name.rsplit("/", 1)[-1])
    ):
        raise invalid(f"Task name {task.name!r} is not {queue}/tasks/[A-Za-z0-9_-]{{1,500}}.")
    if "app_engine_http_request" in task:
        raise unimplemented("App Engine tasks")
    if "retry_config" in task:
        raise unimplemented("a retry configuration of one task")
    if "http_request" not in task:
        raise invalid("A task needs an http_request.")
    _check_request(task.http_request)
    if len(Task.serialize(task)) > _LARGEST_TASK:
        raise invalid(f"The task is larger than {_LARGEST_TASK} bytes.")
    _check_times(task, now)


def _check_request(request: HttpRequest) -> None:
    parts = urlsplit(request.url)
    if parts.scheme not in {"http", "https"} or not parts.netloc or len(request.url) > _LONGEST_URL:
        raise invalid(f"http_request.url {request.url[:100]!r} is not an http or https URL.")
    if request.body and request.http_method not in _WITH_BODY:
        raise invalid("A body goes with POST, PUT and PATCH only.")
    if "oauth_token" in request:
        raise unimplemented("OAuth tokens on a task")
    if "oidc_token" in request and "@" not in request.oidc_token.service_account_email:
        raise invalid("oidc_token.service_account_email is not an e-mail address.")


def _check_times(task: Task, now: float) -> None:
    if "schedule_time" in task and task.schedule_time.timestamp() - now > _FARTHEST:
        raise invalid("schedule_time is more than 30 days ahead.")
    if "dispatch_deadline" in task:
        shortest, longest = _DEADLINE
        if not shortest <= task.dispatch_deadline.total_seconds() <= longest:
            raise invalid("dispatch_deadline must be between 15 s and 30 min.")
