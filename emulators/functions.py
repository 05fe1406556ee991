"""The functions, each instance in a process of its own, started again when it dies."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

from emulators.processes import ROOT, Child, stop_all
from emulators.serving import HOST, listening_socket

log = logging.getLogger(__name__)

_START_SECONDS = 30.0
# A function that dies again and again is started more and more slowly.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_STEADY_SECONDS = 5.0
_DEATHS = 2


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """`signature` is `http` or `cloudevent`; the function is called `main`.

    Public ones are reached through the router, which chooses an instance. The instances of a private one
    share a port, and whichever is free takes the call.
    """

    name: str
    source: Path
    signature: str
    public: bool


FUNCTIONS = (
    FunctionSource("api", ROOT / "functions" / "api" / "main.py", "http", public=True),
    FunctionSource("chat", ROOT / "functions" / "chat" / "main.py", "http", public=True),
    FunctionSource("ingest", ROOT / "functions" / "ingest" / "main.py", "cloudevent", public=False),
    FunctionSource("cleanup", ROOT / "functions" / "cleanup" / "main.py", "cloudevent", public=False),
    FunctionSource("tasks", ROOT / "functions" / "tasks" / "main.py", "http", public=False),
)


class Instance:
    """Its port outlives its process. `ready` is whether the process that runs now has answered."""

    def __init__(
        self,
        function: FunctionSource,
        number: int,
        listener: socket.socket,
        *,
        env: Mapping[str, str],
        run_dir: Path,
    ) -> None:
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"
        self.restarts = 0
        self._function = function
        self._name = f"{function.name}-{number}"
        self._descriptor = listener.fileno()
        self._env = env
        self._log = run_dir / f"{self._name}.log"
        self._child: Child | None = None
        self._ready = threading.Event()
        self._stopping = False

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        self._launch()
        threading.Thread(target=self._watch, name=f"watch-{self._name}", daemon=True).start()

    def kill(self) -> None:
        """SIGKILL; another process takes its place."""
        if self._child is not None:
            self._ready.clear()
            self._child.kill()

    def wait_until_ready(self, timeout: float = _START_SECONDS) -> None:
        """Raises `RuntimeError` after `timeout` seconds, or when one process after another died."""
        given_up = self.restarts + _DEATHS
        deadline = time.monotonic() + timeout
        while not self._ready.wait(0.1):
            if self.restarts >= given_up or time.monotonic() > deadline:
                output = self._child.last_output() if self._child is not None else ""
                raise RuntimeError(f"The function {self._name} did not start. Its last output: {output}")

    def retire(self) -> Child | None:
        """Lets the process end for good; whoever calls this ends it."""
        self._stopping = True
        self._ready.clear()
        return self._child

    def _launch(self) -> None:
        function = self._function
        command = [
            sys.executable,
            "-m",
            "emulators.function_process",
            str(function.source),
            function.signature,
        ]
        self._child = Child(
            self._name,
            [*command, str(self._descriptor)],
            log=self._log,
            env=self._env,
            pass_fds=[self._descriptor],
        )

    def _watch(self) -> None:
        """Starts the process again until it is told not to."""
        pause = _FIRST_PAUSE
        while not self._stopping and self._child is not None:
            started = time.monotonic()
            self._probe(self._child)
            code = self._child.wait()
            self._ready.clear()
            if self._stopping:
                return
            log.warning("function %s ended with %s; starting it again", self._name, code)
            pause = _FIRST_PAUSE if time.monotonic() - started > _STEADY_SECONDS else pause
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)
            if not self._stopping:
                self.restarts += 1
                self._launch()

    def _probe(self, child: Child) -> None:
        """Waits until the server answers: the framework answers this path without calling the function."""
        with httpx2.Client(trust_env=False, timeout=1.0) as client:
            while child.running and not self._stopping:
                try:
                    client.get(f"{self.url}/robots.txt")
                except httpx2.TransportError:
                    continue
                self._ready.set()
                return


class Functions:
    """All instances of all functions. `instances` maps a name to how many there are, one by default."""

    def __init__(
        self,
        functions: Sequence[FunctionSource],
        *,
        run_dir: Path,
        instances: Mapping[str, int] | None = None,
        threads: int = 8,
    ) -> None:
        self._functions = tuple(functions)
        self._run_dir = run_dir
        self._threads = threads
        self._counts = {f.name: (instances or {}).get(f.name, 1) for f in functions}
        self._sockets = {
            f.name: [listening_socket() for _ in range(self._counts[f.name] if f.public else 1)]
            for f in functions
        }
        self._instances: dict[str, list[Instance]] = {}

    def url(self, name: str) -> str:
        """Where a function is called, known before it starts."""
        return f"http://{HOST}:{self._sockets[name][0].getsockname()[1]}"

    def has(self, name: str) -> bool:
        return name in self._sockets

    def instances(self, name: str) -> Sequence[Instance]:
        return self._instances.get(name, ())

    def start(self, env: Mapping[str, str]) -> None:
        """Starts everything and waits for nothing."""
        env = {**env, "THREADS": str(self._threads), "PYTHONUNBUFFERED": "1"}
        for function in self._functions:
            sockets = self._sockets[function.name]
            self._instances[function.name] = [
                Instance(function, number, sockets[number % len(sockets)], env=env, run_dir=self._run_dir)
                for number in range(self._counts[function.name])
            ]
        for instance in self._all():
            instance.start()

    def wait_until_ready(self) -> None:
        for instance in self._all():
            instance.wait_until_ready()

    def kill(self, name: str, number: int = 0) -> None:
        """SIGKILL for one instance; it is started again."""
        self._instances[name][number].kill()

    def stop(self, grace: float = 1.5) -> None:
        children = [child for instance in self._all() if (child := instance.retire()) is not None]
        stop_all(children, grace)
        self.close()

    def close(self) -> None:
        """Gives the ports back. Nothing may run any more."""
        for listener in (one for sockets in self._sockets.values() for one in sockets):
            listener.close()

    def _all(self) -> list[Instance]:
        return [instance for made in self._instances.values() for instance in made]
