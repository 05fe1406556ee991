"""What a conversation itself says to a question, without a model: the user's own words, quoted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from shared.adapters.local.coverage import shares_held
from shared.context.earlier import SAID
from shared.domain.models import Prompt, TurnRole
from shared.domain.sentences import split_sentences
from shared.index.terms import query_terms, terms

# The share of the question's information that a sentence has to hold, and what is as good as the best one.
_ENOUGH = 0.5
_NEAR_THE_BEST = 0.9
_MOST = 2
_ASKS_BACK = re.compile(
    r"\b(?:i|we)\s+(?:just\s+|have\s+)?(?:said|told|mentioned|asked|agreed|decided|gave)\b"
    r"|\bdid\s+(?:i|we)\s+(?:say|tell|mention|ask|agree|decide|give)\b"
    r"|\bearlier in (?:this|our)\b|\bremind me\b"
    r"|我(?:刚才|之前|一开始|前面)?(?:说|讲|提|告诉)过?|我们(?:之前)?(?:说好|决定|商定)|我(?:刚才|之前)",
    re.IGNORECASE,
)
_TO_ASK_BACK = frozenset(
    ("agre", "ask", "begin", "decid", "earli", "gave", "mention", "remind", "said", "say", "tell", "told")
)

_INTRODUCTION = {
    "zh": "您在这次对话中说过：",
    "en": "You said in this conversation:",
}


def recalled(prompt: Prompt, language: str) -> str | None:
    """The user's sentences that answer the question; None where none does, or where the documents cover it
    and it does not ask for what was said."""
    if prompt.covered and not _ASKS_BACK.search(prompt.question):
        return None
    told = _told(prompt)
    shares = _shares(prompt.question, [terms(sentence) for sentence in told])
    best = max(shares, default=0.0)
    if best < _ENOUGH:
        return None
    near = [at for at, share in enumerate(shares) if share >= _NEAR_THE_BEST * best][-_MOST:]
    quotes = [f"> {told[at]}" for at in near]
    return "\n\n".join([_INTRODUCTION[language], *quotes])


def _told(prompt: Prompt) -> list[str]:
    """What the user stated, oldest first, each sentence once."""
    lines = prompt.earlier.splitlines()
    remembered = [line.removeprefix(SAID) for line in lines if line.startswith(SAID)]
    turns = [turn.text for turn in prompt.history if turn.role is TurnRole.USER]
    if prompt.earlier:
        turns = turns[1:]  # the first is the summary's block
    sentences = [sentence.text for text in turns for sentence in split_sentences(text)]
    stated = [sentence for sentence in sentences if not sentence.endswith(("?", "？"))]
    return list(dict.fromkeys([*remembered, *(" ".join(sentence.split()) for sentence in stated)]))


def _shares(question: str, told: Sequence[Mapping[str, int]]) -> list[float]:
    """The share of the question's information (idf mass among what was told) that each sentence holds. Words
    that only say that something was said carry none."""
    asked = [term for term in query_terms(question) if _TO_ASK_BACK.isdisjoint(term.spellings)]
    frequency = Counter(term for counts in told for term in counts)
    weights = [
        log(1 + (1 + len(told)) / (1 + max(frequency[spelling] for spelling in term.spellings)))
        for term in asked
    ]
    return shares_held(asked, weights, told)
