"""How the way from a bucket to a function is made worse than usual."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Disturbance:
    """All of it is allowed to happen in production, only seldom.

    `duplicates` more copies of every event; each copy waits a random time up to `spread` real seconds, so
    that events come late and overtake one another. With probability `lost` an attempt is lost on its way and
    counts as failed; with probability `forgotten` the function's yes is lost on its way back. Equal seeds
    disturb equally.
    """

    duplicates: int = 0
    spread: float = 0.0
    lost: float = 0.0
    forgotten: float = 0.0
    seed: int = 0
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  # chance to be repeated, no secret

    def delays(self) -> list[float]:
        """One for each copy of an event."""
        return [self._random.uniform(0, self.spread) for _ in range(1 + self.duplicates)]

    def loses(self) -> bool:
        return self._random.random() < self.lost

    def forgets(self) -> bool:
        return self._random.random() < self.forgotten
