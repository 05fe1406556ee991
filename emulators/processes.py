"""Child processes that never outlive their parent."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TAIL_BYTES = 4000


class Child:
    """A process in a group of its own, whose output goes to a file.

    A terminal's Ctrl-C does not reach it; killing it takes its own children along.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
            )
        _guardian().watch(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit code, or None when it still runs after `timeout` seconds. Its group ends with it."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._signal(signal.SIGKILL)
        _guardian().forget(self.pid)
        return code

    def terminate(self) -> None:
        if self.running:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL for the whole group; returns when it is gone."""
        self._signal(signal.SIGKILL)
        self.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # all gone, or only a zombie left (macOS says EPERM)
            return

    def last_output(self) -> str:
        """The end of the log, for messages."""
        data = self._log.read_bytes()[-_TAIL_BYTES:]
        return data.decode("utf-8", "replace").strip()


def stop_all(children: Iterable[Child], grace: float = 3.0) -> None:
    """SIGTERM to all at once; SIGKILL to what still runs after `grace` seconds."""
    running = list(children)
    for child in running:
        child.terminate()
    deadline = time.monotonic() + grace
    for child in running:
        if child.wait(max(0.0, deadline - time.monotonic())) is None:
            child.kill()


def wait_until(answers: Callable[[], bool], child: Child, seconds: float) -> bool:
    """Whether the child said yes within `seconds` seconds. It is asked until then or until it has ended; an
    `OSError`, such as a refused connection, is a no."""
    deadline = time.monotonic() + seconds
    while child.running and time.monotonic() < deadline:
        with suppress(OSError):
            if answers():
                return True
        time.sleep(0.01)
    return False


class ServerProcess(ABC):
    """A server of the stack in a process of its own. It keeps its address from one start to the next."""

    _start_seconds = 15.0

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._child: Child | None = None

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it can be used; an `OSError` is a no."""

    def start(self) -> None:
        """Starts the program without waiting for it."""
        self._child = Child(self._name, self._command(), log=self._log)

    def wait_until_ready(self) -> None:
        if self._child is None or not wait_until(self._answers, self._child, self._start_seconds):
            output = self._child.last_output() if self._child is not None else ""
            raise RuntimeError(f"{self._name} did not start. Its last output: {output}")

    def kill(self) -> None:
        """SIGKILL."""
        if self._child is not None:
            self._child.kill()

    def stop(self, grace: float = 1.0) -> None:
        if self._child is not None:
            stop_all([self._child], grace)


class _Guardian:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("guardian.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

        atexit.register(self._end)

    def watch(self, group: int) -> None:
        self._write(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._write(f"-{group}\n")

    def _write(self, line: str) -> None:
        with self._lock:
            if self._process.stdin is None:
                raise RuntimeError("The guardian has no pipe.")
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _end(self) -> None:
        with self._lock:
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()


_starting = threading.Lock()
_guardians: list[_Guardian] = []


def _guardian() -> _Guardian:
    """The one of this process, started with its first child."""
    with _starting:
        if not _guardians:
            _guardians.append(_Guardian())
        return _guardians[0]
