"""Where the reference data is, if this checkout has it beside it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
ABSENT = "the reference files are not beside this checkout"


def need(path: Path) -> Path:
    """`path`, or a skipped test."""
    if not path.exists():
        pytest.skip(ABSENT)
    return path


@dataclass(frozen=True, slots=True)
class Case:
    path: Path
    kind: str
    outcome: str


def cases() -> Iterator[Case]:
    """The reference files of the manifest; none where there is no manifest."""
    manifest = CASES / "corpus" / "MANIFEST.tsv"
    if not manifest.exists():
        return
    with manifest.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["set"] == "dev":
                yield Case(CASES / row["path"], row["kind"], row["outcome"])
