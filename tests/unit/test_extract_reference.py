"""The reference files, through the checker that comes with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference import CASES, need

ROOT = Path(__file__).resolve().parents[2]
COMMAND = f"{sys.executable} -m shared.ingest.extract {{path}}"
SLOWEST = 10.0  # seconds for one file


def run(manifest: Path, report: Path) -> list[dict[str, object]]:
    """What the checker says about every file of a manifest."""
    checker = need(CASES / "corpus" / "check.py")
    subprocess.run(
        [sys.executable, str(checker), "--manifest", str(need(manifest)), "--set", "dev", "--cmd", COMMAND,
         "--json", str(report)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    found: list[dict[str, object]] = json.loads(report.read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["corpus", "bugs"])
def test_reference_files_are_read_right(folder: str, tmp_path: Path) -> None:
    found = run(CASES / folder / "MANIFEST.tsv", tmp_path / "report.json")
    assert len(found) >= 20
    assert [(one["path"], one["bad"]) for one in found if not one["ok"]] == []
    assert [one["path"] for one in found if float(str(one["secs"])) > SLOWEST] == []
    refusals = [str(one["err"]) for one in found if one["rc"]]
    assert all(re.match(r"[a-z_]+: \S", line) for line in refusals), refusals
