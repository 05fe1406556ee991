"""The gRPC face of Cloud Tasks. Methods that are not here answer `UNIMPLEMENTED`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.cloud.tasks_v2 import types
from google.cloud.tasks_v2.types import Queue, Task
from google.protobuf.empty_pb2 import Empty

from emulators.delivery.clock import MovableClock
from emulators.identity import TokenIssuer
from emulators.serving import GrpcServer
from emulators.tasks.checks import check_location
from emulators.tasks.queues import Dispatched, Queues
from emulators.tasks.rejection import Rejection, invalid

T = TypeVar("T", Queue, Task)

_MOST_PER_PAGE = 1000


class TasksEmulator:
    """Queues and tasks survive a restart when they are kept in `data_dir`. `wait_scale` shortens the waits
    between attempts. `tokens` signs what tasks carry that ask for a token of a service account."""

    def __init__(
        self,
        *,
        data_dir: Path | None = None,
        clock: MovableClock | None = None,
        wait_scale: float = 1.0,
        tokens: TokenIssuer | None = None,
    ) -> None:
        self._queues = Queues(data_dir, clock or MovableClock(), wait_scale, tokens or TokenIssuer())
        self._server = GrpcServer("google.cloud.tasks.v2.CloudTasks", _handlers(self._queues))

    @property
    def host(self) -> str:
        """What `CLOUD_TASKS_EMULATOR_HOST` takes."""
        return self._server.host

    @property
    def dispatched(self) -> list[Dispatched]:
        """The attempts so far, oldest first."""
        return list(self._queues.dispatched)

    def start(self) -> None:
        self._queues.start()
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        self._queues.stop()

    def ensure_queue(self, name: str, *, max_concurrent: int) -> None:
        """Creates a queue unless it was kept from an earlier run."""
        queue = Queue(name=name, rate_limits={"max_concurrent_dispatches": max_concurrent})
        if name not in {kept.name for kept in self._queues.all_queues()}:
            self._queues.create_queue(name.rsplit("/queues/", 1)[0], queue)

    def hasten(self) -> None:
        """Everything that is scheduled for later, or waits for its next attempt, is due now."""
        self._queues.hasten()

    def hold(self) -> None:
        """Dispatches nothing until `release`."""
        self._queues.hold(held=True)

    def release(self) -> None:
        self._queues.hold(held=False)

    def wait_until_idle(self, timeout: float = 30.0, *, due_only: bool = True) -> bool:
        """Whether within `timeout` seconds nothing was left that is due (or nothing at all)."""
        return self._queues.wait_until_idle(timeout, due_only=due_only)


def _handlers(queues: Queues) -> dict[str, grpc.RpcMethodHandler]:
    def list_queues(request: types.ListQueuesRequest) -> types.ListQueuesResponse:
        check_location(request.parent)
        if request.filter:
            raise Rejection(grpc.StatusCode.UNIMPLEMENTED, "The emulator does not filter queues.")
        found = [queue for queue in queues.all_queues() if queue.name.startswith(f"{request.parent}/queues/")]
        page, token = _page(found, request.page_size, request.page_token)
        return types.ListQueuesResponse(queues=page, next_page_token=token)

    def list_tasks(request: types.ListTasksRequest) -> types.ListTasksResponse:
        page, token = _page(queues.tasks(request.parent), request.page_size, request.page_token)
        shown = [_viewed(task, request.response_view) for task in page]
        return types.ListTasksResponse(tasks=shown, next_page_token=token)

    def create_task(request: types.CreateTaskRequest) -> Task:
        return _viewed(queues.create_task(request.parent, request.task), request.response_view)

    def delete_queue(request: types.DeleteQueueRequest) -> Empty:
        queues.delete_queue(request.name)
        return Empty()

    def delete_task(request: types.DeleteTaskRequest) -> Empty:
        queues.delete_task(request.name)
        return Empty()

    paused, running = Queue.State.PAUSED, Queue.State.RUNNING
    return {
        "CreateQueue": _unary(
            types.CreateQueueRequest, lambda request: queues.create_queue(request.parent, request.queue)
        ),
        "GetQueue": _unary(types.GetQueueRequest, lambda request: queues.queue(request.name)),
        "ListQueues": _unary(types.ListQueuesRequest, list_queues),
        "DeleteQueue": _unary(types.DeleteQueueRequest, delete_queue),
        "PurgeQueue": _unary(types.PurgeQueueRequest, lambda request: queues.purge(request.name)),
        "PauseQueue": _unary(types.PauseQueueRequest, lambda r: queues.set_state(r.name, paused)),
        "ResumeQueue": _unary(types.ResumeQueueRequest, lambda r: queues.set_state(r.name, running)),
        "CreateTask": _unary(types.CreateTaskRequest, create_task),
        "GetTask": _unary(
            types.GetTaskRequest, lambda request: _viewed(queues.task(request.name), request.response_view)
        ),
        "ListTasks": _unary(types.ListTasksRequest, list_tasks),
        "DeleteTask": _unary(types.DeleteTaskRequest, delete_task),
        "RunTask": _unary(
            types.RunTaskRequest,
            lambda request: _viewed(queues.run_task(request.name), request.response_view),
        ),
    }


def _unary(request_type: Any, answer: Callable[[Any], Any]) -> grpc.RpcMethodHandler:
    def handle(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return answer(request)
        except Rejection as rejection:
            context.abort(rejection.code, rejection.message)

    return grpc.unary_unary_rpc_method_handler(handle, request_type.deserialize, _serialize)


def _serialize(message: Any) -> bytes:
    packed: bytes = (
        message.SerializeToString() if isinstance(message, Empty) else type(message).serialize(message)
    )
    return packed


def _viewed(task: Task, view: Task.View) -> Task:
    """Without the body, unless the full view was asked for."""
    shown = Task(task)
    shown.view = Task.View.FULL if view == Task.View.FULL else Task.View.BASIC
    if shown.view == Task.View.BASIC:
        shown.http_request.body = b""
    return shown


def _page(items: list[T], size: int, token: str) -> tuple[list[T], str]:
    """`token` is the name after which the page begins."""
    if size < 0 or size > _MOST_PER_PAGE:
        raise invalid(f"page_size is {size}, at most {_MOST_PER_PAGE} is allowed.")
    ordered = sorted(items, key=lambda item: item.name)
    rest = [item for item in ordered if item.name > token]
    page = rest[: size or _MOST_PER_PAGE]
    return page, page[-1].name if len(page) < len(rest) else ""
