"""The reference files, through the checker that comes with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.reference import CASES, need

ROOT = Path(__file__).resolve().parents[2]
COMMAND = f"{sys.executable} -m shared.ingest.extract {{path}}"
KINDS = ("pdf", "docx", "xlsx", "html", "csv", "txt", "md")
SLOWEST = 10.0  # seconds for one file


def run(manifest: Path, kind: str, report: Path) -> list[dict[str, object]]:
    """What the checker says about the files of one kind."""
    command = [sys.executable, str(need(CASES / "corpus" / "check.py")), "--manifest", str(need(manifest))]
    command += ["--set", "dev", "--only", kind, "--cmd", COMMAND, "--json", str(report)]
    subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    found: list[dict[str, object]] = json.loads(report.read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "kinds", "files"), [("corpus", KINDS, 160), ("bugs", ("bugs",), 20)])
def test_reference_files_are_read_right(
    folder: str, kinds: tuple[str, ...], files: int, tmp_path: Path
) -> None:
    manifest = need(CASES / folder / "MANIFEST.tsv")
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda kind: run(manifest, kind, tmp_path / f"{kind}.json"), kinds)
        found = [one for report in reports for one in report]
    assert len(found) >= files
    assert [(one["path"], one["bad"]) for one in found if not one["ok"]] == []
    assert [one["path"] for one in found if float(str(one["secs"])) > SLOWEST] == []
    refusals = [str(one["err"]) for one in found if one["rc"]]
    assert all(re.match(r"[a-z_]+: \S", line) for line in refusals), refusals
