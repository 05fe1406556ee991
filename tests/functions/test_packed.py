"""Each function boots from its archive in a clean virtual environment and answers.

The environments hold nothing but what the archive's own requirements name, installed with their hashes.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from emulators.models.server import ModelStubs
from emulators.tasks.server import TasksEmulator
from infra.pack import REQUIREMENTS, closure, pack, read_lock
from shared.adapters.clock import SystemClock
from shared.adapters.firestore.store import FirestoreStore, connect
from shared.adapters.storage import GcsObjects
from shared.adapters.storage import connect as connect_storage
from shared.domain.accounts import Caller, Permission, Plan, Role
from shared.domain.knowledge import DocumentStatus, KnowledgeBaseType
from shared.library.knowledge_bases import NewKnowledgeBase, create_knowledge_base
from shared.library.uploads import FileInfo, create_from_bytes
from shared.records import DOCUMENTS
from shared.tenancy.accounts import create_account, create_key
from shared.tenancy.members import NewMember, add_member
from tests.emulated import DERIVED, PROJECT, UPLOADS
from tests.functions.process import FunctionProcess
from tests.identity import Identity, claims_of, unsigned

pytestmark = pytest.mark.slow

UV = Path(sys.executable).parent / "uv"
QUEUE = f"projects/{PROJECT}/locations/local/queues/work"
TEXT = b"# Lamps\n\nThe lamps of hall seven are changed by the night shift every second Monday.\n"


@dataclass(frozen=True)
class Deployment:
    """What the functions share, and an account with a document that waits for its event."""

    env: dict[str, str]
    store: FirestoreStore
    account_id: str
    token: str
    id_token: str
    document_id: str
    object_name: str


@dataclass(frozen=True)
class Deps:
    store: FirestoreStore
    uploads: GcsObjects
    derived: GcsObjects
    queue: None
    clock: SystemClock


@pytest.fixture(scope="module")
def deployment(firestore_host: str, storage_url: str) -> Iterator[Deployment]:
    tasks = TasksEmulator()
    tasks.start()
    tasks.ensure_queue(QUEUE, max_concurrent=1)
    tasks.hold()
    project = f"demo-{uuid.uuid4().hex[:8]}"
    client = connect(project, "(default)")
    store = FirestoreStore(client)
    with ModelStubs() as stubs, Identity() as identity:
        identity.users["ada"] = {"validSince": "0"}
        env = {
            "GOOGLE_CLOUD_PROJECT": project,
            "FIRESTORE_EMULATOR_HOST": firestore_host,
            "STORAGE_EMULATOR_HOST": storage_url,
            "CLOUD_TASKS_EMULATOR_HOST": tasks.host,
            "ALMANAC_TASKS_QUEUE": QUEUE,
            "ALMANAC_TASKS_URL": "http://127.0.0.1:9",
            "FIREBASE_AUTH_EMULATOR_HOST": identity.host,
            **stubs.environment(),
        }
        yield _with_document(env, store, storage_url)
    client.close()
    tasks.stop()


def _with_document(env: dict[str, str], store: FirestoreStore, storage_url: str) -> Deployment:
    clock = SystemClock()
    account_id = f"packed-{uuid.uuid4().hex[:8]}"
    create_account(store, clock, "Packed", Plan.PRO, account_id=account_id)
    key = create_key(
        store.of(account_id), clock, name="all", permissions=tuple(Permission), department_ids=None
    )
    add_member(store.of(account_id), clock, NewMember(Role.MEMBER, uid="ada"))
    id_token = unsigned(claims_of(env["GOOGLE_CLOUD_PROJECT"], "ada", clock.now()))
    who = Caller(account_id, Plan.PRO, "test", frozenset(Permission), None)
    new = NewKnowledgeBase("Lamps", KnowledgeBaseType.FILES, is_auto_context=True)
    base = create_knowledge_base(store.of(account_id), clock, who, new)
    storage = connect_storage(PROJECT, storage_url)
    deps = Deps(store, GcsObjects(storage, UPLOADS), GcsObjects(storage, DERIVED), None, clock)
    document = create_from_bytes(deps, who, base.id, FileInfo("a.md", "text/markdown", len(TEXT)), TEXT)  # type: ignore[arg-type]
    return Deployment(env, store, account_id, key.token, id_token, document.id, document.object_name)


@dataclass
class Booter:
    deployment: Deployment
    folder: Path

    def boot(self, name: str) -> FunctionProcess:
        """Packs, unpacks, installs, starts."""
        place = self.folder / name
        with zipfile.ZipFile(pack(name, self.folder)) as archive:
            archive.extractall(place)
        environment = place / "venv"
        _run(UV, "venv", "--quiet", "--python", sys.executable, environment)
        _run(
            UV,
            "pip",
            "install",
            "--quiet",
            "--python",
            environment / "bin" / "python",
            "--require-hashes",
            "--requirement",
            place / "requirements.txt",
        )
        return FunctionProcess(
            name,
            self.deployment.env,
            run_dir=self.folder,
            cloud_event=name in {"ingest", "cleanup"},
            source=place / "main.py",
            bin_dir=environment / "bin",
        )


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def booter(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Booter:
    return Booter(deployment, tmp_path_factory.mktemp("packed"))


def test_every_function_boots_from_its_archive_and_answers(deployment: Deployment, booter: Booter) -> None:
    processes = {name: booter.boot(name) for name in REQUIREMENTS}
    try:
        for process in processes.values():
            process.wait_until_ready()
        _answer(deployment, processes)
    finally:
        for process in processes.values():
            process.child.kill()


def _answer(deployment: Deployment, processes: dict[str, FunctionProcess]) -> None:
    bearer = {"Authorization": f"Bearer {deployment.token}"}

    processes["ingest"].finalized(deployment.object_name).raise_for_status()
    document = deployment.store.of(deployment.account_id).get(DOCUMENTS, deployment.document_id)
    assert document is not None
    assert document.status is DocumentStatus.READY, processes["ingest"].child.last_output()

    shown = requests.get(
        f"{processes['api'].url}/v1/documents/{deployment.document_id}", headers=bearer, timeout=30
    )
    assert shown.json()["status"] == "ready"
    described = requests.get(f"{processes['api'].url}/openapi.json", timeout=30).json()
    assert {"/v1/chat", "/v1/retrieve", "/v1/documents/{document_id}"} <= set(described["paths"])

    asked = requests.post(
        f"{processes['chat'].url}/v1/chat",
        json={"message": "Who changes the lamps of hall seven?"},
        headers=bearer,
        timeout=60,
    )
    assert asked.status_code == 200, processes["chat"].child.last_output()
    assert [c["document_id"] for c in asked.json()["citations"]] == [deployment.document_id]

    for name, path in (("api", "/v1/knowledge-bases"), ("chat", "/v1/threads")):
        person = {"Authorization": f"Bearer {deployment.id_token}"}
        listed = requests.get(f"{processes[name].url}{path}", headers=person, timeout=60)
        assert listed.status_code == 200, processes[name].child.last_output()

    work = {"account": deployment.account_id, "document": deployment.document_id, "revision": 1}
    tidied = requests.post(f"{processes['tasks'].url}/tidy", json=work, timeout=60)
    assert tidied.json() == {"outcome": "tidied"}

    processes["cleanup"].deleted("accounts/nobody/documents/doc_none/1/source").raise_for_status()


def test_an_archive_holds_what_its_function_needs_and_the_same_tree_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    first = pack("api", tmp_path / "a").read_bytes()
    assert first == pack("api", tmp_path / "b").read_bytes()
    names = zipfile.ZipFile(tmp_path / "a" / "api.zip").namelist()
    assert {"main.py", "requirements.txt", "shared/wiring.py"} <= set(names)
    assert not any(name.startswith(("tests/", "emulators/", "functions/")) for name in names)


LOCK = """\
a==1 \\
    --hash=sha256:0
    # via -r in
b==2 \\
    --hash=sha256:1
    # via
    #   a
    #   c
c==3 ; python_version < '3' \\
    --hash=sha256:2
c==4 \\
    --hash=sha256:3
"""


def test_the_lock_is_a_graph() -> None:
    lock = read_lock(LOCK)
    assert closure(lock, ["a"]) == ["a", "b"]
    assert closure(lock, ["c"]) == ["b", "c"]
    assert len(lock["c"].lines) == 4
    with pytest.raises(KeyError):
        closure(lock, ["d"])
