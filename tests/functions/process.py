"""One function in a process of its own, under the framework's production server, as the platform runs it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import requests

from emulators.processes import ROOT, Child
from emulators.serving import free_port

_START_SECONDS = 60
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")


class FunctionProcess:
    """`source` is a main.py; `bin_dir` the virtual environment's bin folder that runs it."""

    def __init__(
        self,
        name: str,
        env: Mapping[str, str],
        *,
        run_dir: Path,
        cloud_event: bool = False,
        source: Path | None = None,
        bin_dir: Path = Path(sys.executable).parent,
    ) -> None:
        self.port = free_port()
        source = source or ROOT / "functions" / name / "main.py"
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
        # From the repository a function finds `shared` beside it; an archive brings its own.
        path = {"PYTHONPATH": str(ROOT)} if source.is_relative_to(ROOT / "functions") else {}
        self.child = Child(
            f"{name}-{self.port}",
            [
                str(bin_dir / "functions-framework"),
                "--target=main",
                f"--source={source}",
                f"--signature-type={'cloudevent' if cloud_event else 'http'}",
                "--host=127.0.0.1",
                f"--port={self.port}",
            ],
            log=run_dir / f"{name}-{self.port}.log",
            env={**kept, **path, "THREADS": "8", **env},
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                requests.get(f"{self.url}/robots.txt", timeout=5)
            except requests.ConnectionError:
                if not self.child.running or time.monotonic() > deadline:
                    raise AssertionError(f"{self.child.name}: {self.child.last_output()}") from None
                time.sleep(0.05)
            else:
                return

    def finalized(self, name: str, *, event_id: str = "1", size: int = 1) -> requests.Response:
        """Delivers the event that an object was stored."""
        return self._event("finalized", name, event_id, size)

    def deleted(self, name: str) -> requests.Response:
        return self._event("deleted", name, "1", 1)

    def _event(self, kind: str, name: str, event_id: str, size: int) -> requests.Response:
        headers = {
            "ce-id": event_id,
            "ce-specversion": "1.0",
            "ce-type": f"google.cloud.storage.object.v1.{kind}",
            "ce-source": "//storage.googleapis.com/projects/_/buckets/almanac-uploads",
            "ce-subject": f"objects/{name}",
        }
        body = {"bucket": "almanac-uploads", "name": name, "generation": "1", "size": str(size)}
        return requests.post(self.url, json=body, headers=headers, timeout=120)
