"""Whether what was found answers the question, or is only the nearest that there is.

Neither score can tell alone. A cosine is high for everything about the same subject; words in common are few
where a question is put in its own words. A passage is evidence as far as both together go: the share of the
question's information (idf) that stands in it, and its similarity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from shared.domain.models import EmbeddingProfile
from shared.domain.retrieval import RetrievedPassage
from shared.domain.sentences import is_unspaced
from shared.index.resolve import Resolved
from shared.retrieve.policy import PolicyName

# Calibrated with multilingual-e5-small. On a company handbook, 149 questions against 685 about other things:
# AUC 0.96; at the operating point 94 % of the former count as covered and 20 % of the latter, nearly all of
# them about the same web tools. On an encyclopedia in Chinese, 238 questions that the indexed half answers
# against 238 that the other half does: AUC 0.996, 97 % and 0.4 %. `python -m tests.bench.evidence` measures.
#
# Similarity counts in units of the model's own minimum, so one rule serves every model: 2.8 times the minimum
# is as good as holding every word of the question.
_SIMILARITY_SHARE = 1 / 2.8
# Bigrams of a script without blanks overlap word boundaries: a passage that answers holds fewer of them.
_UNSPACED_WORDS = 1.4
# A question in another script than the passage shares no words with it, whatever the passage says: there
# the vector decides alone. At 1.5 it keeps half of the Chinese questions that English paragraphs answer, and
# takes one in eighty of those that they do not; at 1.3 three quarters, and one in ten.
_OTHER_SCRIPT = 1.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """`score` is 1 at the operating point."""

    score: float

    @property
    def covered(self) -> bool:
        return self.score >= 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """A passage as evidence: `held` is the share of the question's idf mass that it holds, `similarity` the
    raw cosine, `unspaced` whether it is written in a script without blanks."""

    held: float
    similarity: float
    unspaced: bool


def evidence(question: str, found: Iterable[Found], *, minimum: float) -> Evidence:
    """The best that any one passage offers. `minimum` is the model's cosine for the policy `run`."""
    asked_unspaced = mostly_unspaced(question)
    return Evidence(max((_score(one, asked_unspaced, minimum) for one in found), default=0.0))


def judge(
    question: str, resolved: Resolved, chosen: Sequence[RetrievedPassage], profile: EmbeddingProfile
) -> bool:
    """Whether the chosen passages cover the question."""
    scale = held_scale(resolved.found.idf_mass, resolved.found.unseen)
    held = {hit.passage_id: hit.held * scale for hit in resolved.found.hits}
    found = (Found(held[p.id], p.similarity, mostly_unspaced(p.text)) for p in chosen)
    return evidence(question, found, minimum=dict(profile.minimums)[PolicyName.RUN]).covered


def held_scale(mass: float, unseen: int) -> float:
    """What `held` is to be multiplied by so that a word that nothing in scope holds counts like one that a
    single passage holds: ln 3 less. In a handful of passages such words are common, and say little."""
    lighter = mass - unseen * log(3)
    return mass / lighter if lighter > 0 else 1.0


def mostly_unspaced(text: str) -> bool:
    """Whether a text is written in a script that puts no blanks between words; a few foreign names in either
    do not change it."""
    unspaced = sum(map(is_unspaced, text))
    return 3 * unspaced > sum(map(str.isalpha, text))


def _score(found: Found, asked_unspaced: bool, minimum: float) -> float:
    units = max(0.0, found.similarity) / minimum
    if asked_unspaced != found.unspaced:
        return max(units / _OTHER_SCRIPT, units * _SIMILARITY_SHARE + found.held)
    return units * _SIMILARITY_SHARE + found.held * (_UNSPACED_WORDS if asked_unspaced else 1.0)
