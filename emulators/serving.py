"""Servers on threads of this process, on 127.0.0.1 only."""

from __future__ import annotations

import random
import socket
import threading
import time
from concurrent import futures
from typing import Any

import grpc
import uvicorn

HOST = "127.0.0.1"
_PORTS = (20_000, 32_768)
_PORTS_TO_TRY = 100
_LARGEST_MESSAGE = 16 * 1024 * 1024


def listening_socket(port: int = 0) -> socket.socket:
    """A listening TCP socket; port 0 means a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    listener.listen(512)
    return listener


def free_port() -> int:
    """A port that was free a moment ago, for servers that want to be told one. It is below the range from
    which systems take the local ports of connections, so none of those can take it meanwhile."""
    for _ in range(_PORTS_TO_TRY):
        port = random.randrange(*_PORTS)  # noqa: S311  # to keep clear of others, no secret
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"No free port was found between {_PORTS[0]} and {_PORTS[1]}.")


class AsgiServer:
    """An ASGI application on a thread. Its port stays its own between `stop` and the next `start`."""

    def __init__(self, app: Any, port: int = 0) -> None:
        self._app = app
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        listener = listening_socket(self._port)
        self._port = listener.getsockname()[1]
        server = uvicorn.Server(
            uvicorn.Config(
                self._app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="critical",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._server = server
        self._thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name=f"http-{self._port}", daemon=True
        )
        self._thread.start()
        while not server.started:
            if not self._thread.is_alive():
                raise RuntimeError(f"The server on {self.url} did not start.")
            time.sleep(0.005)

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join()
        self._server = self._thread = None


class GrpcServer:
    """One gRPC service on a thread pool. Methods that have no handler answer `UNIMPLEMENTED`."""

    def __init__(
        self, service: str, handlers: dict[str, grpc.RpcMethodHandler], *, workers: int = 8, port: int = 0
    ) -> None:
        self._service = service
        self._handlers = handlers
        self._workers = workers
        self._port = port
        self._server: grpc.Server | None = None

    @property
    def host(self) -> str:
        return f"{HOST}:{self._port}"

    def start(self) -> None:
        self._server = grpc.server(
            futures.ThreadPoolExecutor(self._workers, thread_name_prefix=self._service.rsplit(".", 1)[-1]),
            options=[
                ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
                ("grpc.max_send_message_length", _LARGEST_MESSAGE),
                ("grpc.so_reuseport", 0),
            ],
        )
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(self._service, self._handlers),)
        )
        self._port = self._server.add_insecure_port(f"{HOST}:{self._port}")
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(grace=0.5).wait()
            self._server = None
