"""How well the product finds what judged questions ask for, beside what else could be used.

    python -m tests.bench.retrieval --sets DIR [--set NAME ...] [--questions N] [--cache DIR] [--json FILE]

For every set in the folder (see `rankings`): the product's own path through an embedded Firestore, `bm25s`
with stemming, the embedding model alone, both fused by reciprocal ranks and by a convex combination. Prints
the mean of every measure with its 95 % bootstrap interval, and per set by how much the product is ahead of
the best of the others and of the convex combination in nDCG@10.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench import baselines, product
from tests.bench.kept import KeptEmbedder, cache_folder
from tests.bench.rankings import METRICS, Figure, JudgedSet, figures, load, measure, sets_in

OURS = "almanac"
Table = Mapping[str, Mapping[str, Figure]]


def run(judged: JudgedSet, embedder: KeptEmbedder) -> Table:
    """By system and metric."""
    rankings = {OURS: product.rankings(judged, embedder.product, _say)}
    rankings |= baselines.rankings(judged, embedder)
    return {name: figures(_measures(judged, found)) for name, found in rankings.items()}


def _measures(judged: JudgedSet, found: Sequence[Sequence[str]]) -> list[tuple[float, ...]]:
    return [
        measure(ranking, judged.relevant[question.id])
        for question, ranking in zip(judged.questions, found, strict=True)
    ]


def margins(table: Table) -> tuple[float, float]:
    """How far the product's nDCG@10 is above the best baseline's, and above the convex combination's."""
    ndcg = {name: row["nDCG@10"].mean for name, row in table.items()}
    return ndcg[OURS] - max(ndcg[name] for name in baselines.NAMES), ndcg[OURS] - ndcg["convex"]


def _print(judged: JudgedSet, table: Table, seconds: float) -> None:
    print(
        f"\n{judged.name}: {len(judged.corpus)} documents, {len(judged.questions)} questions, {seconds:.0f} s"
    )
    print(" " * 10 + "".join(f"{name:>24}" for name in METRICS))
    for name, row in table.items():
        cells = (f"{f.mean:.3f} [{f.low:.3f}, {f.high:.3f}]" for f in row.values())
        print(f"{name:10}" + "".join(f"{cell:>24}" for cell in cells))
    best, convex = margins(table)
    print(
        f"nDCG@10 {best:+.4f} to the best of the others, {convex:+.4f} to the convex combination", flush=True
    )


def _say(message: str) -> None:
    print(f"  {message}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=Path, required=True, help="a folder of judged sets")
    parser.add_argument("--set", action="append", help="only this one; may be repeated")
    parser.add_argument("--questions", type=int, help="at most so many questions of each set")
    parser.add_argument("--cache", type=Path, help="where vectors are kept")
    parser.add_argument("--json", type=Path, help="write all figures here")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    names = arguments.set or sets_in(arguments.sets)
    if not names:
        sys.exit(f"There is no judged set in {arguments.sets}")
    embedder = KeptEmbedder(cache_folder(arguments.cache))
    tables: dict[str, Table] = {}
    for name in names:
        started = time.monotonic()
        judged = load(arguments.sets, name, arguments.questions)
        tables[name] = run(judged, embedder)
        _print(judged, tables[name], time.monotonic() - started)
    ahead = [margins(table) for table in tables.values()]
    print(f"\nmean of {len(tables)} sets: nDCG@10 {sum(c for _, c in ahead) / len(ahead):+.4f} to the convex"
          f" combination; least {min(b for b, _ in ahead):+.4f} to the best of the others")  # fmt: skip
    if arguments.json:
        plain = {
            name: {system: {m: asdict(f) for m, f in row.items()} for system, row in table.items()}
            for name, table in tables.items()
        }
        arguments.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
