"""The Firestore emulator in a process of its own, so that its work does not slow whoever started it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from emulators.processes import ServerProcess
from emulators.serving import HOST, free_port


class FirestoreProcess(ServerProcess):
    """Keeps its data from one start to the next when `data_dir` is given."""

    def __init__(self, *, run_dir: Path, data_dir: Path | None = None) -> None:
        super().__init__("firestore", run_dir / "firestore.log")
        self._port = free_port()
        self._data_dir = data_dir

    @property
    def host(self) -> str:
        return f"{HOST}:{self._port}"

    def _command(self) -> Sequence[str]:
        kept = ["--data-dir", str(self._data_dir)] if self._data_dir is not None else []
        return [sys.executable, "-m", "emulators.firestore", "--port", str(self._port), *kept]

    def _answers(self) -> bool:
        socket.create_connection((HOST, self._port), timeout=1).close()
        return True
