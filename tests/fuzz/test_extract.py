from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.children import children
from tests.fuzz.extract import LIMITS, outcome, trials

RUNS = 60
CODES = {"text", "corrupt", "unsafe_file", "no_text", "unsupported_type", "encrypted", "text_too_large"}


def test_damaged_files_give_text_or_a_refusal_and_leave_nothing_behind() -> None:
    """`outcome` lets every error through that is not a refusal; a time-out would not be in the list."""
    running = children()
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda trial: outcome(*trial), trials(RUNS, seed=7)))
    assert len(outcomes) == RUNS
    assert set(outcomes) <= CODES
    assert "text" in outcomes
    assert "corrupt" in outcomes
    assert LIMITS.seconds < 30
    assert children() <= running
