"""The Firestore emulator in a process of its own, so that its work does not slow whoever started it."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from emulators.processes import Child, stop_all, wait_until
from emulators.serving import HOST, free_port

_START_SECONDS = 15.0


class FirestoreProcess:
    """Keeps its address from one start to the next; its data too when `data_dir` is given."""

    def __init__(self, *, run_dir: Path, data_dir: Path | None = None) -> None:
        self._port = free_port()
        self._log = run_dir / "firestore.log"
        self._data_dir = data_dir
        self._child: Child | None = None

    @property
    def host(self) -> str:
        return f"{HOST}:{self._port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "emulators.firestore", "--port", str(self._port)]
        if self._data_dir is not None:
            command += ["--data-dir", str(self._data_dir)]
        self._child = Child("firestore", command, log=self._log)

    def wait_until_ready(self) -> None:
        if self._child is None or not wait_until(self._answers, self._child, _START_SECONDS):
            output = self._child.last_output() if self._child is not None else ""
            raise RuntimeError(f"The Firestore emulator did not start. Its last output: {output}")

    def kill(self) -> None:
        """SIGKILL."""
        if self._child is not None:
            self._child.kill()

    def stop(self, grace: float = 1.0) -> None:
        if self._child is not None:
            stop_all([self._child], grace)

    def _answers(self) -> bool:
        socket.create_connection((HOST, self._port), timeout=1).close()
        return True
