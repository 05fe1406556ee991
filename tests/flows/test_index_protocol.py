"""No question misses what was published before it began, or shows what was deleted before it began."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.flows.index_protocol import run

SEQUENCES = 2_000
_WORKERS = min(4, os.cpu_count() or 1)


@pytest.mark.slow
def test_two_instances_under_random_interleavings() -> None:
    # Each worker has a Firestore of its own; a new process, because threads do not survive a fork.
    slices = [range(first, SEQUENCES, _WORKERS) for first in range(_WORKERS)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_WORKERS, mp_context=context) as pool:
        outcomes = list(pool.map(run, slices))
    violations = [violation for outcome in outcomes for violation in outcome.violations]
    assert not violations, f"{len(violations)} violations, the first:\n{violations[0]}"
    assert sum(outcome.sequences for outcome in outcomes) == SEQUENCES
    # It would prove little if questions and changes never met.
    assert sum(outcome.during_changes for outcome in outcomes) > SEQUENCES // 4
