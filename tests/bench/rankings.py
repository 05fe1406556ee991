"""Judged sets on disk, and how good a ranking is.

A set is a folder with `corpus.jsonl` (id, title, text), `queries.jsonl` (id, text) and `qrels.tsv` (query,
corpus id, grade; a head line first).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

METRICS = ("nDCG@10", "Recall@5", "Recall@10", "MRR@10")
_RESAMPLES = 1_000


@dataclass(frozen=True)
class Text:
    id: str
    title: str
    text: str


@dataclass(frozen=True)
class JudgedSet:
    """`relevant` maps a question's id to the documents that answer it, with their grades; questions without
    any are left out, as nothing can be said of them."""

    name: str
    corpus: Sequence[Text]
    questions: Sequence[Text]
    relevant: Mapping[str, Mapping[str, int]]


def sets_in(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/qrels.tsv"))


def load(folder: Path, name: str, most_questions: int | None = None) -> JudgedSet:
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant[question][document] = int(grade)
    asked = [q for q in _texts(folder / name / "queries.jsonl") if q.id in relevant]
    if most_questions is not None and len(asked) > most_questions:
        asked = asked[:: -(-len(asked) // most_questions)]
    return JudgedSet(name, _texts(folder / name / "corpus.jsonl"), asked, relevant)


def _texts(path: Path) -> list[Text]:
    rows = map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").split("\n")))
    return [Text(str(row["id"]), row.get("title") or "", row["text"]) for row in rows]


def measure(ranking: Sequence[str], relevant: Mapping[str, int]) -> tuple[float, ...]:
    """In the order of `METRICS`. The gain of a document is its grade, discounted by log2 of its place + 1."""
    gains = [relevant.get(name, 0) for name in ranking[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    first = next((place for place, gain in enumerate(gains, 1) if gain), None)
    return (
        _discounted(gains) / _discounted(ideal),
        sum(gain > 0 for gain in gains[:5]) / len(relevant),
        sum(gain > 0 for gain in gains) / len(relevant),
        1 / first if first else 0.0,
    )


def _discounted(gains: Sequence[int]) -> float:
    return float(sum(gain / np.log2(place + 1) for place, gain in enumerate(gains, 1)))


@dataclass(frozen=True)
class Figure:
    """A mean with the bounds of its 95 % bootstrap interval over questions."""

    mean: float
    low: float
    high: float


def figures(rows: Sequence[Sequence[float]], seed: int = 7) -> dict[str, Figure]:
    """By metric, from one row of measures a question."""
    table = np.asarray(rows, dtype=np.float64)
    low, high = _interval(table, seed)
    return {
        name: Figure(float(table[:, n].mean()), float(low[n]), float(high[n]))
        for n, name in enumerate(METRICS)
    }


def _interval(table: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    means = [table[rng.integers(len(table), size=len(table))].mean(axis=0) for _ in range(_RESAMPLES)]
    bounds: npt.NDArray[np.float64] = np.quantile(means, (0.025, 0.975), axis=0)
    return bounds
