"""The part of a conversation that a prompt repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.context.references import defused
from shared.domain.models import Turn, TurnRole
from shared.ports import TokenCounter

# The numbers of old citations point at passages that this prompt does not hold. `row[0]` is not one.
_CITATION_NUMBER = re.compile(r"[ \t]+(?:\[\d{1,3}\])+|(?<![A-Za-z0-9_\]])(?:\[\d{1,3}\])+")

_CUT = " […]"
_LEAST_WORTH_KEEPING = 50


def recent_turns(turns: Sequence[Turn], *, budget: int, count_tokens: TokenCounter) -> tuple[Turn, ...]:
    """The latest turns that fit `budget` tokens together, oldest first, the first of them a question.

    Answers lose the numbers of their citations. The one turn that does not fit whole keeps its beginning.
    """
    kept: list[Turn] = []
    left = budget
    for turn in reversed(turns):
        text = spoken(turn)
        tokens = count_tokens(text)
        if tokens > left:
            if left >= _LEAST_WORTH_KEEPING:
                kept.append(Turn(turn.role, shortened(text, left, count_tokens)))
            break
        kept.append(Turn(turn.role, text))
        left -= tokens
    while kept and kept[-1].role is not TurnRole.USER:
        kept.pop()
    return tuple(reversed(kept))


def shortened(text: str, budget: int, count_tokens: TokenCounter) -> str:
    """The longest beginning of `text`, with a mark of the cut, that has at most `budget` tokens."""
    if count_tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + _CUT) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _CUT


def spoken(turn: Turn) -> str:
    """A turn as a prompt repeats it."""
    text = turn.text if turn.role is TurnRole.USER else _CITATION_NUMBER.sub("", turn.text)
    return defused(text)
