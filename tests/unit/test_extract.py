"""The front door: the child process, its limits, the command."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shared.domain.errors import (
    AlmanacError,
    CorruptFileError,
    EmptyFileError,
    ExtractionTimeoutError,
    RefusedFileError,
    TooLargeError,
    TransientError,
    UnsafeFileError,
    UnsupportedTypeError,
)
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction, PageSpan
from shared.ingest.extract import dump_extraction, extract, load_extraction, sandbox
from shared.ingest.extract.limits import MAX_FILE_BYTES, Limits
from tests.children import children
from tests.office_samples import document
from tests.pdf_samples import drawn, lines, picture

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (drawn(lines("From a PDF.")), "a.pdf", "From a PDF."),
        (document(lambda made: made.add_paragraph("From Word.") and None), "a.docx", "From Word."),
        (b"<html><body><p>From a page.</p></body></html>", "a.html", "From a page."),
        (b"a,b\nFrom,CSV\n", "a.csv", "| From | CSV |"),
        (b"# From\n\nMarkdown.\n", "a.md", "# From\n\nMarkdown."),
        ("From — text.".encode(), "", "From — text."),
    ],
)
def test_a_child_process_reads_every_format(data: bytes, name: str, expected: str) -> None:
    assert expected in extract(data, name_hint=name).markdown


def test_the_size_is_checked_before_anything_else() -> None:
    with pytest.raises(EmptyFileError):
        extract(b"", name_hint="a.pdf")
    with pytest.raises(TooLargeError, match="10,485,761"):
        extract(b"x" * (MAX_FILE_BYTES + 1))


def test_refusals_come_back_as_they_were_raised() -> None:
    with pytest.raises(UnsupportedTypeError, match="Windows program") as caught:
        extract(b"MZ\x90\x00" + bytes(100), name_hint="a.txt")
    assert "PDF" in caught.value.hint


def test_every_refusal_can_come_back() -> None:
    for kind in RefusedFileError.__subclasses__():
        back = sandbox._refusal({"code": kind.code, "message": "m", "hint": "h"})
        assert (type(back), back.message, back.hint) == (kind, "m", "h")


def test_an_extraction_survives_storage() -> None:
    whole = Extraction(
        "Text — 😀\n",
        Coverage("page", 3, 1, ("1",), ("x",)),
        title="T",
        language="en",
        pages=(PageSpan(2, 0, 9),),
        notes=("n",),
    )
    assert load_extraction(dump_extraction(whole)) == whole
    bare = Extraction("", Coverage("section", 1, 1))
    assert load_extraction(dump_extraction(bare)) == bare


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stand-in for the child's program, to play what a broken reader can do."""
    monkeypatch.setattr(sandbox, "_WORKER", "stand_in")
    monkeypatch.setattr(sandbox, "_ROOT", tmp_path)
    return tmp_path / "stand_in.py"


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("import time; time.sleep(60)", ExtractionTimeoutError),
        ("while True: pass", ExtractionTimeoutError),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", CorruptFileError),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", TransientError),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", ExtractionTimeoutError),
        ("import os; os.abort()", UnsafeFileError),
        ("raise ValueError('not ours')", CorruptFileError),
        ("import sys; sys.stdout.write('x' * 200_000)", UnsafeFileError),
    ],
)
def test_whatever_a_child_does_is_an_error_of_ours(
    worker: Path, program: str, error: type[AlmanacError]
) -> None:
    worker.write_text(program)
    with pytest.raises(error):
        extract(b"words", limits=Limits(seconds=1.5, output=100_000))


def test_a_child_sees_nothing_of_the_environment(worker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    worker.write_text(
        "import json, os, sys\n"
        "body = {'markdown': json.dumps(sorted(os.environ)), 'title': None, 'language': None, 'pages': [],"
        " 'notes': [], 'coverage': {'unit': 'section', 'total': 1, 'with_text': 1, 'missing': [],"
        " 'left_out': []}}\n"
        "sys.stdout.write('ok\\n' + json.dumps(body))\n"
    )
    seen = set(json.loads(extract(b"words").markdown))
    assert {"PATH", "PYTHONPATH"} <= seen <= {"PATH", "PYTHONPATH", "LC_ALL", "LC_CTYPE", *sandbox._LOADER}


def test_memory_is_limited() -> None:
    many = b"<html><body>" + b"<p>words <b>x</b></p>" * 450_000
    with pytest.raises(UnsafeFileError, match="memory"):
        extract(many, limits=Limits(memory=150 * 1024 * 1024))


def test_no_child_and_no_file_is_left_behind() -> None:
    running = children()
    before = _open_files()
    for data in (b"words", b"MZ" + bytes(100)):
        try:
            extract(data)
        except UnsupportedTypeError:
            continue
    assert children() <= running
    after = _open_files()
    assert after <= before


def _open_files() -> int:
    """How many files this process has open, where the system tells."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_threads_extract_at_the_same_time() -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        found[number] = extract(f"Words of thread {number}.".encode()).markdown

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"Words of thread {number}.\n" for number in range(6)}


def command(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "shared.ingest.extract", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_the_command_prints_text_sections_and_coverage(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    source = "# Notes\n\n" + "Some words. " * 500 + "\n\n## More\n\nThe end.\n"
    path.write_text(source)
    done = command(path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["markdown"] == source
    assert report["coverage"] == {
        "unit": "section",
        "total": 1,
        "with_text": 1,
        "missing": [],
        "left_out": [],
    }
    assert [section["heading_path"] for section in report["sections"]] == [["Notes"], ["Notes", "More"]]
    for section in report["sections"]:
        assert source[section["start"] : section["end"]] == section["text"]


def test_the_command_refuses_in_one_line_that_starts_with_the_code(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(drawn(picture))
    done = command(path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("no_text: ")
    assert done.stderr.count("\n") == 1
