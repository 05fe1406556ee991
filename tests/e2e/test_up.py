"""`python -m emulators up`, as a user runs it and as an accident ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from redis import Redis

TEXT = "# Opening hours\n\nThe workshop opens at seven in the morning and closes at four in the afternoon.\n"


class Stack:
    """A running `up`, and what its ready file said."""

    def __init__(self, process: subprocess.Popen[bytes], details: dict[str, Any]) -> None:
        self.process = process
        self.details = details

    def call(self, method: str, path: str, *, account: str = "acme", **arguments: Any) -> requests.Response:
        key = self.details["accounts"][account]["keys"]["admin"]
        return requests.request(
            method,
            f"{self.details['api_url']}{path}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=60,
            **arguments,
        )

    def descendants(self) -> set[int]:
        """Every process that this one started, and those that they started."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:  # it ended meanwhile
                continue
            parents[int(stat.parent.name)] = int(fields[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found - {self.process.pid}


@contextmanager
def up(folder: Path, *options: str) -> Iterator[Stack]:
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-m", "emulators", "up", "--ready-file", str(ready), *options]
    with (folder / "up.log").open("ab") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ALMANAC_LEASE_SECONDS": "2"},  # how long an accident is waited for
        )
    try:
        wait_for(lambda: ready.exists() or process.poll() is not None, (folder / "up.log").read_text)
        assert ready.exists(), (folder / "up.log").read_text()
        yield Stack(process, json.loads(ready.read_text()))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_for(
    condition: Callable[[], bool], explain: Callable[[], object] = lambda: "", seconds: float = 60
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def addresses_listened_on(pids: set[int]) -> set[str]:
    """The local addresses of the listening sockets of processes, as the kernel writes them: the last eight
    digits are the IPv4 address, also where it is mapped into IPv6."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(link.readlink().name.removeprefix("socket:[").removesuffix("]"))
            except OSError:  # closed meanwhile
                continue
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return {fields[1].split(":")[0][-8:] for fields in lines if fields[3] == "0A" and fields[9] in inodes}


def make_document(stack: Stack) -> str:
    made = stack.call(
        "POST", "/v1/knowledge-bases", json={"name": "Hours", "type": "files", "description": "When"}
    ).json()
    answer = stack.call(
        "POST", f"/v1/knowledge-bases/{made['id']}/documents", files={"file": ("hours.md", TEXT.encode())}
    )
    assert answer.status_code == 202, answer.text
    name: str = answer.json()["id"]
    return name


def status(stack: Stack, document: str) -> str:
    answer = stack.call("GET", f"/v1/documents/{document}")
    assert answer.status_code == 200, answer.text
    shown: str = answer.json()["status"]
    return shown


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads processes and sockets in /proc")
def test_it_listens_on_loopback_alone_and_ends_whole(tmp_path: Path) -> None:
    with up(tmp_path) as stack:
        details = stack.details
        assert set(details) == {
            *("api_url", "firestore_host", "storage_url", "tasks_host", "redis_url", "project", "accounts")
        }
        assert {"admin", "engineering", "marketing"} <= set(details["accounts"]["acme"]["keys"])
        assert "admin" in details["accounts"]["globex"]["keys"]
        assert requests.get(f"{details['api_url']}/health", timeout=30).status_code == 200
        children = stack.descendants()
        assert len(children) > 6
        assert addresses_listened_on(children | {stack.process.pid}) == {"0100007F"}
        for path in ("/advance", "/tidy", "/ingest", "/cleanup", "/tasks/advance"):
            assert stack.call("POST", path, json={}).status_code == 404
        stack.process.send_signal(signal.SIGINT)
        assert stack.process.wait(5) == 0
    wait_for(lambda: not any(map(alive, children)))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads processes in /proc")
def test_a_second_start_finds_everything_also_after_an_accident(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    with up(tmp_path, *data) as first:
        document = make_document(first)
        with Redis.from_url(first.details["redis_url"]) as redis:
            redis.set("kept", "yes")
        children = first.descendants()
        first.process.kill()
        wait_for(lambda: not any(map(alive, children)))
    with up(tmp_path, *data) as second:
        assert second.details["accounts"] == first.details["accounts"]
        wait_for(lambda: status(second, document) == "ready", lambda: status(second, document))
        text = second.call("GET", f"/v1/documents/{document}/text")
        assert "seven in the morning" in text.text
        with Redis.from_url(second.details["redis_url"]) as redis:
            assert redis.get("kept") == b"yes"
        refused = subprocess.run(
            [sys.executable, "-m", "emulators", "up", *data],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert refused.returncode == 1
        assert "Another stack is running" in refused.stderr
    with up(tmp_path, *data) as third:
        assert status(third, document) == "ready"
        assert third.call("GET", f"/v1/documents/{document}", account="globex").status_code == 404
