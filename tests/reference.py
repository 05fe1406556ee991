"""Where the reference data is, if this checkout has it beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"


def need(path: Path) -> Path:
    """`path`, or a skipped test."""
    if not path.exists():
        pytest.skip("the reference files are not beside this checkout")
    return path
