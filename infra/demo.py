"""The demonstration: starts the embedded stack, uploads the example documents, asks, prints the answers.

    python -m infra.demo

Everything goes through the HTTP API, as a client would do it. Ends with 0 when each answer cites what it
should, with 1 when one does not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "infra" / "examples"
END_STATES = {"ready", "partial", "failed", "duplicate"}
START_SECONDS = 60
INGEST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Question:
    """`key` is the example key that asks; `source` the file that must be cited, None for "not covered"."""

    account: str
    key: str
    text: str
    source: str | None
    note: str


QUESTIONS = (
    Question(
        "acme",
        "marketing",
        "How many days of annual leave do I get after five years with the company?",
        "employee-handbook.pdf",
        "from a page of a PDF",
    ),
    Question(
        "acme",
        "engineering",
        "What is the response time of the Premium plan?",
        "service-level-terms.docx",
        "from a table in a Word file",
    ),
    Question("acme", "marketing", "电池的保修期是多长时间？", "客户服务手册.md", "asked in Chinese"),
    Question(
        "acme", "engineering", "What does code N204 mean?", "rover-troubleshooting.html", "an exact code"
    ),
    Question(
        "acme", "engineering", "Which stadium hosted the 1998 world cup final?", None, "not in the documents"
    ),
    Question(
        "acme",
        "marketing",
        "What is the response time of the Premium plan?",
        None,
        "asked outside the department that may see it",
    ),
    Question(
        "globex",
        "admin",
        "How many days of annual leave do I get after five years with the company?",
        None,
        "asked from another account",
    ),
)

# Knowledge base, departments that may see it (by name; none: everybody), files.
LIBRARY: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Company Handbook", (), ("employee-handbook.pdf", "客户服务手册.md")),
    (
        "Field Service",
        ("engineering",),
        ("service-level-terms.docx", "rover-troubleshooting.html", "spare-parts.csv"),
    ),
)


class Api:
    """The HTTP API as one caller sees it."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {key}"

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        answer = self._session.request(method, f"{self._url}{path}", timeout=120, **arguments)
        if not answer.ok:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()


@contextmanager
def running_stack() -> Iterator[dict[str, Any]]:
    """The embedded stack with throw-away data; yields what its ready file says."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        log = Path(folder) / "stack.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "emulators", "up", "--ready-file", str(ready)],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield _wait_until_ready(process, ready, log)
        finally:
            process.terminate()
            process.wait(timeout=15)


def _wait_until_ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + START_SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"The stack did not start:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.1)
    details: dict[str, Any] = json.loads(ready.read_text())
    return details


def upload_examples(api: Api) -> dict[str, str]:
    """Creates the knowledge bases, uploads the files; document ids by file name."""
    departments = {d["name"]: d["id"] for d in api.call("GET", "/v1/departments")["items"]}
    documents: dict[str, str] = {}
    for name, limited_to, files in LIBRARY:
        base = api.call(
            "POST",
            "/v1/knowledge-bases",
            json={
                "name": name,
                "type": "files",
                "is_auto_context": True,
                "department_ids": [departments[department] for department in limited_to],
            },
        )
        for file in files:
            created = api.call(
                "POST",
                f"/v1/knowledge-bases/{base['id']}/documents",
                files={"file": (file, (EXAMPLES / file).read_bytes())},
            )
            documents[file] = created["id"]
    return documents


def wait_until_ready(api: Api, documents: dict[str, str]) -> None:
    """Shows each document's way to its end state."""
    shown: dict[str, str] = {}
    deadline = time.monotonic() + INGEST_SECONDS
    while True:
        states = {file: api.call("GET", f"/v1/documents/{name}") for file, name in documents.items()}
        for file, state in states.items():
            line = _state_line(state)
            if shown.get(file) != line:
                shown[file] = line
                print(f"  {file:<28} {line}", flush=True)
        if all(state["status"] in END_STATES for state in states.values()):
            return
        if time.monotonic() > deadline:
            raise SystemExit("The documents did not become ready in time.")
        time.sleep(0.3)


def _state_line(state: dict[str, Any]) -> str:
    progress = state["progress"]
    counts = f" {progress['done']}/{progress['total']}" if progress and progress["total"] else ""
    error = f"  {state['error']['code']}: {state['error']['message']}" if state["error"] else ""
    return f"{state['status']}{counts}{error}"


def ask(api: Api, question: Question, documents: dict[str, str]) -> bool:
    """Prints the answer with its citations; whether it cites what it should."""
    answer = api.call("POST", "/v1/chat", json={"message": question.text})
    print(f"\n{'─' * 96}\n{question.account}/{question.key}: {question.text}   ({question.note})\n")
    print("\n".join(f"  {line}" for line in answer["answer"].splitlines()))
    names = {document: file for file, document in documents.items()}
    for citation in answer["citations"]:
        place = " › ".join(citation["heading_path"])
        pages = citation["pages"]
        page = f", page {pages[0]}" if pages else ""
        print(f"  [{citation['n']}] {names.get(citation['document_id'], '?')}: {place}{page}")
    cited = {names.get(citation["document_id"]) for citation in answer["citations"]}
    return question.source in cited if question.source else not cited


def main() -> int:
    print("Starting the embedded stack …", flush=True)
    with running_stack() as stack:
        keys = {name: account["keys"] for name, account in stack["accounts"].items()}
        admin = Api(stack["api_url"], keys["acme"]["admin"])
        print(f"Ready at {stack['api_url']}. Uploading the example documents:", flush=True)
        documents = upload_examples(admin)
        wait_until_ready(admin, documents)
        right = [
            ask(Api(stack["api_url"], keys[question.account][question.key]), question, documents)
            for question in QUESTIONS
        ]
    print(f"\n{'─' * 96}\n{sum(right)} of {len(right)} questions answered as they should be.")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
