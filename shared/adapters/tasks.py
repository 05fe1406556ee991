"""A queue of Cloud Tasks. Nothing above this module sees a type of the SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shared.domain.errors import TransientError
from shared.ports import Task

if TYPE_CHECKING:
    from google.cloud import tasks_v2


def connect(emulator_host: str = "") -> tasks_v2.CloudTasksClient:
    """A client; with `emulator_host` (`host:port`) a plain-text one of that emulator. The SDK itself knows no
    variable for one."""
    from google.cloud import tasks_v2

    if not emulator_host:
        return tasks_v2.CloudTasksClient()
    import grpc
    from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

    return tasks_v2.CloudTasksClient(
        transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(emulator_host))
    )


class CloudTasksQueue:
    """`ports.TaskQueue`.

    `queue` is the full name (`projects/…/locations/…/queues/…`), `url` the address of the `tasks` function.
    With `service_account` each call carries an OIDC token of it whose audience is `url`.
    """

    def __init__(
        self, client: tasks_v2.CloudTasksClient, queue: str, url: str, service_account: str = ""
    ) -> None:
        self._client = client
        self._queue = queue
        self._url = url.rstrip("/")
        self._service_account = service_account

    def enqueue(self, task: Task) -> bool:
        from google.api_core import exceptions

        try:
            self._client.create_task(parent=self._queue, task=self._message(task))
        except exceptions.AlreadyExists:
            return False
        except (
            exceptions.ServiceUnavailable,
            exceptions.DeadlineExceeded,
            exceptions.ResourceExhausted,
            exceptions.InternalServerError,
            exceptions.RetryError,
        ) as error:
            raise TransientError(
                f"The queue did not take the task {task.name or task.path}: {type(error).__name__}"
            ) from error
        return True

    def _message(self, task: Task) -> tasks_v2.Task:
        from google.cloud import tasks_v2

        request: dict[str, Any] = {
            "http_method": "POST",
            "url": f"{self._url}/{task.path.lstrip('/')}",
            "headers": {"Content-Type": "application/json"},
            "body": json.dumps(task.body, ensure_ascii=False).encode(),
        }
        if self._service_account:
            request["oidc_token"] = {"service_account_email": self._service_account, "audience": self._url}
        message: dict[str, Any] = {"http_request": request}
        if task.name is not None:
            message["name"] = f"{self._queue}/tasks/{task.name}"
        if task.at is not None:
            message["schedule_time"] = task.at
        return tasks_v2.Task(message)
