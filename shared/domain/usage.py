"""What an account used, day by day, as it is counted and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shared.domain.models import TokenUse
from shared.domain.spending import Purpose, Spending

Counts = Mapping[str, int]

# The names of a line's counts. The first are those of `TokenUse`.
TOKENS = ("calls", "input", "output", "cached", "written", "cost")
RUNS = "runs"
DOCUMENTS = "documents"


class Line(NamedTuple):
    """What counts belong to: a knowledge base (empty: none of them), a purpose, and a model. Counts of runs
    and documents have neither purpose nor model."""

    knowledge_base_id: str
    purpose: Purpose | None
    model: str

    def key(self) -> str:
        return "|".join((self.knowledge_base_id, self.purpose or "", self.model))

    @classmethod
    def parse(cls, key: str) -> Line:
        base, purpose, model = key.split("|", 2)
        return cls(base, Purpose(purpose) if purpose else None, model)


@dataclass(frozen=True, slots=True)
class UsageShard:
    """A part of one day's counts: many small additions at once would hinder one another in one record.
    `lines` holds counts by the keys of lines."""

    id: str
    day: str
    lines: Mapping[str, Counts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingUsage:
    """What was paid for a document on one day and is not in the day's counts yet: written together with what
    was paid for, so that neither a crash nor a second delivery counts wrongly."""

    id: str
    day: str
    document_id: str
    knowledge_base_id: str
    lines: Mapping[str, Counts] = field(default_factory=dict)


def lines_of(spent: Iterable[Spending], knowledge_base_id: str) -> dict[str, Counts]:
    """Spending as lines, all of one knowledge base's."""
    found: dict[str, Counts] = {}
    for one in spent:
        if one.use.calls:
            key = Line(knowledge_base_id, one.purpose, one.use.model).key()
            found[key] = added(found.get(key, {}), counts_of(one.use))
    return found


def shared_lines(spent: Sequence[Spending], weights: Mapping[str, int]) -> dict[str, Counts]:
    """Spending as lines, split over knowledge bases by their weights (no weights: it is of none of them)."""
    bases = {name: weight for name, weight in weights.items() if weight > 0} or {"": 1}
    found: dict[str, Counts] = {}
    for one in spent:
        if not one.use.calls:
            continue
        for name, total in counts_of(one.use).items():
            for base, part in zip(bases, _split(total, list(bases.values())), strict=True):
                if part:
                    key = Line(base, one.purpose, one.use.model).key()
                    found[key] = added(found.get(key, {}), {name: part})
    return found


def counts_of(use: TokenUse) -> Counts:
    return {name: value for name in TOKENS if (value := getattr(use, name))}


def use_of(lines: Mapping[str, Counts]) -> TokenUse:
    """The tokens of all lines together."""
    sums = {name: sum(counts.get(name, 0) for counts in lines.values()) for name in TOKENS}
    return TokenUse("", **sums)


def added(left: Counts, right: Counts) -> Counts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in (*left, *(set(right) - set(left)))}


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts that sum up to the total, by the largest remainder (Hamilton's method)."""
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % whole), at))
    for at in order[: total - sum(parts)]:
        parts[at] += 1
    return parts
