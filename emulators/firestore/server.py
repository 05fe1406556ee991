"""Starts and stops the emulator inside a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from emulators.firestore.http_endpoint import HttpEndpoint
from emulators.firestore.index_check import IndexCheck
from emulators.firestore.indexes import Indexes
from emulators.firestore.limits import MAX_INDEXED_BYTES, DocumentLimits
from emulators.firestore.listen import Listener
from emulators.firestore.names import DatabaseName
from emulators.firestore.rpc_documents import DocumentRpcs
from emulators.firestore.rpc_queries import QueryRpcs
from emulators.firestore.service import Moment, Observer, handlers
from emulators.firestore.store import Store

INDEXES_FILE = Path(__file__).resolve().parents[2] / "infra" / "firestore.indexes.json"

_THREADS = 256
"""Listeners and commits that wait for their turn hold one each."""

_GRACE_SECONDS = 0.2
"""For calls in flight; listeners are cut off then."""

_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
)


class FirestoreEmulator:
    """A running emulator; a context manager that stops it.

    `host` and `http_host` are "127.0.0.1:PORT". Knobs, which may be changed while it runs:
    `commit_delay` is seconds, or a function from the request to seconds, that a commit waits after its server
    time was stamped; `observer` is called before and after every RPC with its name and request.

    `indexes` is the file that a deployment takes; None is a database with automatic indexes alone. With
    `strict_indexes` False, for suites written without that file, every query runs, and long values may be
    indexed.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        port: int = 0,
        *,
        http_port: int = 0,
        indexes: Path | None = INDEXES_FILE,
        strict_indexes: bool = True,
        commit_delay: float | Callable[[Any], float] = 0.0,
        observer: Observer | None = None,
    ) -> None:
        self.commit_delay = commit_delay
        self.observer = observer
        self._server = grpc.server(ThreadPoolExecutor(_THREADS, "firestore"), options=_OPTIONS)
        self.host = f"127.0.0.1:{self._server.add_insecure_port(f'127.0.0.1:{port}')}"
        listed = Indexes(indexes)
        limits = DocumentLimits(listed, indexed_bytes=MAX_INDEXED_BYTES if strict_indexes else None)
        checks = IndexCheck(listed, required=strict_indexes)
        self._store = Store(data_dir, limits)
        self._listener = Listener(self._store, checks)
        self._server.add_generic_rpc_handlers(
            (
                handlers(
                    DocumentRpcs(self._store, self._delay),
                    QueryRpcs(self._store, checks),
                    self._listener.listen,
                    self._observe,
                ),
            )
        )
        self._http = HttpEndpoint(self._store, http_port)
        self.http_host = self._http.host
        self._server.start()

    def stop(self) -> None:
        """Ends every RPC and closes the files. Idempotent."""
        self._http.close()
        self._server.stop(grace=_GRACE_SECONDS).wait()
        self._store.close()

    def clear(self, project: str, database: str = "(default)") -> None:
        """Deletes every document of a database."""
        self._store.clear(DatabaseName(project, database))

    def wait(self) -> None:
        """Returns when the emulator has been stopped."""
        self._server.wait_for_termination()

    def __enter__(self) -> FirestoreEmulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _delay(self, request: Any) -> None:
        delay = self.commit_delay(request) if callable(self.commit_delay) else self.commit_delay
        if delay > 0:
            time.sleep(delay)

    def _observe(self, moment: Moment, rpc: str, request: Any) -> None:
        if self.observer is not None:
            self.observer(moment, rpc, request)
