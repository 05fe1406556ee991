"""With a data directory nothing that was acknowledged is lost, however the process ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types

from emulators.firestore.server import FirestoreEmulator

ROOT = Path(__file__).resolve().parents[3]


class Process:
    """`python -m emulators.firestore` on a data directory."""

    def __init__(self, data_dir: Path) -> None:
        command = [sys.executable, "-m", "emulators.firestore", "--data-dir", str(data_dir)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.host = self._process.stdout.readline().strip().partition("=")[2]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def terminate(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self) -> int:
        code = self._process.wait(timeout=20)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code


@pytest.fixture
def client_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[firestore.Client] = []

    def make(host: str) -> firestore.Client:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
        made.append(firestore.Client(project="p"))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_sigkill_loses_nothing_acknowledged(tmp_path: Path, client_of: Any) -> None:
    process = Process(tmp_path)
    client = client_of(process.host)
    acknowledged: dict[int, list[int]] = {writer: [] for writer in range(4)}
    enough = threading.Semaphore(0)

    def write(writer: int) -> None:
        number = 0
        try:
            while True:
                batch = client.batch()  # two documents, so that a torn commit would show
                batch.set(client.document(f"w{writer}/{number}"), {"n": number})
                batch.set(client.document(f"w{writer}-twin/{number}"), {"n": number})
                batch.commit(retry=None, timeout=20)
                acknowledged[writer].append(number)
                number += 1
                enough.release()
        except exceptions.GoogleAPICallError:
            return

    threads = [threading.Thread(target=write, args=(writer,)) for writer in acknowledged]
    for thread in threads:
        thread.start()
    for _ in range(200):
        assert enough.acquire(timeout=20)
    process.kill()
    for thread in threads:
        thread.join()

    again = Process(tmp_path)
    client = client_of(again.host)
    for writer, numbers in acknowledged.items():
        found = {int(s.id) for s in client.collection(f"w{writer}").stream()}
        assert set(numbers) <= found
        assert found == {int(s.id) for s in client.collection(f"w{writer}-twin").stream()}
    assert again.terminate() == 0


def test_a_restart_finds_documents_their_times_and_its_clock(tmp_path: Path, client_of: Any) -> None:
    with FirestoreEmulator(tmp_path) as emulator:
        client = client_of(emulator.host)
        client.document("r/1").set({"n": 1})
        client.document("r/gone").set({"n": 1})
        client.document("r/gone").delete()
        before = client.document("r/1").get()
    with FirestoreEmulator(tmp_path) as emulator:
        client = client_of(emulator.host)
        after = client.document("r/1").get()
        assert (after.to_dict(), after.create_time, after.update_time) == (
            before.to_dict(),
            before.create_time,
            before.update_time,
        )
        assert [s.id for s in client.collection("r").stream()] == ["1"]
        assert client.document("r/2").set({}).update_time > before.update_time
        with pytest.raises(exceptions.FailedPrecondition, match="too old"):
            client.document("r/1").get(read_time=before.create_time.replace(microsecond=0))


def test_a_commit_whose_answer_was_lost_is_not_done_twice(tmp_path: Path, client_of: Any) -> None:
    """The client repeats a commit that ended with UNAVAILABLE; by then it may have happened."""
    with FirestoreEmulator(tmp_path) as emulator:
        client = client_of(emulator.host)
        name = client.document("r/1")._document_path
        transaction = client.transaction()
        transaction._begin()
        increment = {"field_path": "n", "increment": {"integer_value": 1}}
        write = types.Write(update={"name": name}, update_transforms=[increment])
        request = {"database": client._database_string, "writes": [write], "transaction": transaction.id}
        first = client._firestore_api.commit(request=request)
    with FirestoreEmulator(tmp_path) as emulator:
        client = client_of(emulator.host)
        assert client._firestore_api.commit(request=request) == first
        assert client.document("r/1").get().to_dict() == {"n": 1}


def test_a_transaction_across_a_restart_is_tried_again(tmp_path: Path, client_of: Any) -> None:
    running = [FirestoreEmulator(tmp_path)]
    port = int(running[0].host.rpartition(":")[2])
    client = client_of(running[0].host)
    ref = client.document("r/1")
    ref.set({"n": 1})
    attempts = 0

    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> None:
        nonlocal attempts
        attempts += 1
        number = ref.get(transaction=transaction).get("n")
        if attempts == 1:
            running.pop().stop()
            running.append(FirestoreEmulator(tmp_path, port))
        transaction.update(ref, {"n": number + 1})

    bump(client.transaction())
    assert ref.get().to_dict() == {"n": 2}
    assert attempts == 2
    running.pop().stop()


def test_memory_ends_with_the_process(client_of: Any) -> None:
    with FirestoreEmulator() as emulator:
        client_of(emulator.host).document("r/1").set({})
    with FirestoreEmulator() as emulator:
        assert not client_of(emulator.host).document("r/1").get().exists
