"""What a stub was asked, and what goes wrong next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulators.models.prompt_cache import PromptCache


@dataclass(frozen=True, slots=True)
class Fault:
    """How one call goes wrong. `name` is what `Call.fault` shows.

    `delay` seconds pass before the first byte, `pause` before each event of a stream but the first. With
    `status` the call fails so. `cut_after` drops the connection after that many events of a stream, or bytes
    of a body; `stall_after` says nothing for `delay` seconds there. `stop_reason` ends a message early.
    `text` is what the model then says, whatever it was asked.
    """

    name: str
    status: int | None = None
    retry_after: str | None = None
    delay: float = 0.0
    cut_after: int | None = None
    stall_after: int | None = None
    pause: float = 0.0
    malformed: bool = False
    stop_reason: str | None = None
    text: str | None = None

    @classmethod
    def rate_limited(cls, retry_after: float | str | None = None) -> Fault:
        return cls("rate_limited", status=429, retry_after=None if retry_after is None else str(retry_after))

    @classmethod
    def server_error(cls) -> Fault:
        return cls("server_error", status=500)

    @classmethod
    def overloaded(cls) -> Fault:
        return cls("overloaded", status=529)

    @classmethod
    def slow(cls, seconds: float) -> Fault:
        return cls("slow", delay=seconds)

    @classmethod
    def cut(cls, after: int = 4) -> Fault:
        return cls("cut", cut_after=after)

    @classmethod
    def stalled(cls, seconds: float, after: int = 8) -> Fault:
        """Begins, then falls silent."""
        return cls("stalled", delay=seconds, stall_after=after)

    @classmethod
    def trickling(cls, seconds: float) -> Fault:
        """A stream that is slow all along, and comes to its end."""
        return cls("trickling", pause=seconds)

    @classmethod
    def malformed_json(cls) -> Fault:
        return cls("malformed_json", malformed=True)

    @classmethod
    def saying(cls, text: str) -> Fault:
        return cls("saying", text=text)

    @classmethod
    def refusal(cls) -> Fault:
        return cls("refusal", stop_reason="refusal")

    @classmethod
    def max_tokens(cls) -> Fault:
        return cls("max_tokens", stop_reason="max_tokens")


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it arrived. `texts` are the inputs of an embedding, or a message's texts in order, the
    system text first."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    texts: tuple[str, ...]
    fault: str | None = None


@dataclass(slots=True)
class _Rule:
    faults: list[Fault | None]
    when: Callable[[Call], bool]
    forever: bool


@dataclass(slots=True)
class Script:
    """The log of one stub, and its rules: the first whose `when` holds decides about a call."""

    calls: list[Call] = field(default_factory=list)
    cache: PromptCache = field(default_factory=PromptCache)
    _rules: list[_Rule] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def then(self, *faults: Fault | None, when: Callable[[Call], bool] | None = None) -> None:
        """The next calls (those that `when` holds for) meet these faults in turn; None lets one through."""
        with self._lock:
            self._rules.append(_Rule(list(faults), when or _any_call, forever=False))

    def always(self, fault: Fault, when: Callable[[Call], bool] | None = None) -> None:
        """Every call (that `when` holds for) meets this fault, until `reset`."""
        with self._lock:
            self._rules.append(_Rule([fault], when or _any_call, forever=True))

    def reset(self) -> None:
        """Forgets the calls, the rules and what the prompt cache holds."""
        with self._lock:
            self.calls.clear()
            self.cache.clear()
            self._rules.clear()

    def inputs(self) -> list[str]:
        """The texts of all calls, failed ones too, in order: what was paid for, once for each time."""
        with self._lock:
            return [text for call in self.calls for text in call.texts]

    def record(self, call: Call) -> Fault | None:
        """Writes a call down and says what happens to it."""
        with self._lock:
            fault = self._next(call)
            name = fault.name if fault is not None else None
            self.calls.append(Call(call.path, call.headers, call.body, call.texts, name))
            return fault

    def _next(self, call: Call) -> Fault | None:
        for rule in self._rules:
            if rule.faults and rule.when(call):
                return rule.faults[0] if rule.forever else rule.faults.pop(0)
        return None


def _any_call(_: Call) -> bool:
    return True
