"""What a question costs: `python -m tests.bench.query [--passages 1000 10000] [--script S] [--plot FILE]`.

For made-up passages of 1,536 numbers each: the part of retrieval that runs in memory (words, cosine, fusion),
beside a bare numpy product with top-k over one float32 matrix, a flat index of faiss and the exact search of
usearch, all in one run. Prints a table; `--plot` draws p50 over size as a PNG.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt
from usearch.index import MetricKind, search

from shared.domain.models import EmbeddingProfile
from shared.index.rows import IndexPassage
from shared.index.search import ScopePart, SearchScope
from shared.index.segment import pack, unpack
from shared.index.state import KnowledgeBaseIndex
from shared.index.terms import query_terms, terms
from shared.retrieve.fuse import rank
from tests.bench.corpora import chinese, english, vectors

DIMENSIONS = 1_536
TOP = 50
PROFILE = EmbeddingProfile("bench/1536", DIMENSIONS, 0.0, (("run", 0.3), ("message", 0.2)), 8_192)
_SCRIPTS = {"english": (english, "en"), "chinese": (chinese, "zh")}
_VOCABULARY = 2_000  # distinct texts; the rest repeats them, since making text takes longer than indexing it

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Line:
    """Milliseconds, and bytes in memory a passage."""

    system: str
    passages: int
    p50: float
    p95: float
    bytes_each: float


def measure(passages: int, script: str, rounds: int) -> list[Line]:
    rng = np.random.default_rng(5)
    rows = vectors(rng, passages, DIMENSIONS)
    texts = list(islice(_SCRIPTS[script][0](rng), min(passages, _VOCABULARY)))
    index = _index(rows, texts, _SCRIPTS[script][1])
    scope = SearchScope([ScopePart(index)])
    asked = vectors(rng, rounds, DIMENSIONS)
    words = [texts[n % len(texts)][:60] for n in range(rounds)]
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(rows)

    def ours(n: int) -> object:
        question = query_terms(words[n], scope.languages)
        found = scope.search(asked[n], question, fingerprint=PROFILE.fingerprint, limit=TOP)
        return rank(found, PROFILE)

    systems: dict[str, tuple[Callable[[int], Any], float]] = {
        "almanac": (ours, index.nbytes / passages),
        "numpy": (lambda n: np.argpartition(rows @ asked[n], -TOP)[-TOP:], 4.0 * DIMENSIONS),
        "faiss flat": (lambda n: flat.search(asked[n : n + 1], TOP), 4.0 * DIMENSIONS),
        "usearch exact": (
            lambda n: search(rows, asked[n : n + 1], TOP, MetricKind.IP, exact=True),
            4.0 * DIMENSIONS,
        ),
    }
    return [
        Line(name, passages, *_times(ask, rounds), bytes_each) for name, (ask, bytes_each) in systems.items()
    ]


def _index(rows: Matrix, texts: Sequence[str], language: str) -> KnowledgeBaseIndex:
    counted = [terms(text, language) for text in texts]
    packed = [
        IndexPassage(
            f"psg_{n:024}",
            "doc",
            1,
            f"chk_{n // 8:024}",
            0,
            0,
            1_000,
            (),
            None,
            counted[n % len(counted)],
            row,
            language=language,
        )
        for n, row in enumerate(rows)
    ]
    segments = [unpack(segment) for segment in pack(packed, "kb", PROFILE.fingerprint)]
    return KnowledgeBaseIndex("kb", 1, segments, {})


def _times(ask: Callable[[int], object], rounds: int) -> tuple[float, float]:
    for n in range(min(5, rounds)):
        ask(n)
    taken = []
    for n in range(rounds):
        started = time.perf_counter()
        ask(n)
        taken.append(1_000 * (time.perf_counter() - started))
    return float(np.percentile(taken, 50)), float(np.percentile(taken, 95))


def draw(lines: Sequence[Line], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for system in dict.fromkeys(line.system for line in lines):
        own = [line for line in lines if line.system == system]
        axes.plot([line.passages for line in own], [line.p50 for line in own], marker="o", label=system)
    axes.set(xscale="log", yscale="log", xlabel="passages", ylabel="milliseconds, p50")
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--script", choices=sorted(_SCRIPTS), default="english")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    lines: list[Line] = []
    print(f"{'passages':>9} {'system':14} {'p50 ms':>8} {'p95 ms':>8} {'times numpy':>12} {'bytes each':>11}")
    for passages in arguments.passages:
        measured = measure(passages, arguments.script, arguments.rounds)
        bare = next(line.p50 for line in measured if line.system == "numpy")
        for line in measured:
            print(
                f"{passages:9} {line.system:14} {line.p50:8.2f} {line.p95:8.2f} {line.p50 / bare:12.1f}"
                f" {line.bytes_each:11.0f}"
            )
        lines += measured
    if arguments.plot:
        draw(lines, arguments.plot)


if __name__ == "__main__":
    main()
