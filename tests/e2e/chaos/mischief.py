"""Kills functions at random for as long as there is work to destroy."""

from __future__ import annotations

import random
import threading
from collections import Counter

from emulators.stack import EmbeddedStack

# Whom it hits, and how often by comparison.
_VICTIMS = {"ingest": 4, "api": 3, "tasks": 2}
# Deliveries of events between one kill and the next, and seconds after that.
_DELIVERIES = (8, 40)
_SECONDS = (0.0, 0.3)


class Mischief:
    """A context manager: a thread that kills one function after another until it is over.

    It counts deliveries, not time, so that a slow machine has as many kills as a fast one, from the first
    upload to the last. Equal seeds choose equal victims and moments; what these meet is the machine's own
    chance.
    """

    def __init__(self, stack: EmbeddedStack, seed: int) -> None:
        self.killed: Counter[str] = Counter()
        self._stack = stack
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mischief", daemon=True)

    def __enter__(self) -> Mischief:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        names, weights = list(_VICTIMS), list(_VICTIMS.values())
        while True:
            (name,) = self._chance.choices(names, weights)
            instance = self._chance.choice(self._stack.functions.instances(name))
            moment = len(self._stack.events.attempted) + self._chance.randint(*_DELIVERIES)
            # One that is still starting after the kill before has nothing to lose.
            while len(self._stack.events.attempted) < moment or not instance.ready:
                if self._over.wait(0.02):
                    return
            if self._over.wait(self._chance.uniform(*_SECONDS)):
                return
            instance.kill()
            self.killed[name] += 1
