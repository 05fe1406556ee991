"""How well "not covered" is told from "covered", with the model of this machine.

    python -m tests.bench.evidence

Answerable questions are a set's own. The others come from sets about other things (`foreign`), or, which is
harder, are answered by the half of the set that was not indexed (`half`). Prints a line for each, then JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from shared.adapters.local.embedder import local_embedder
from shared.domain.models import EmbeddingProfile
from shared.index.search import SearchScope
from shared.retrieve.evidence import Found, evidence, held_scale, mostly_unspaced
from shared.retrieve.fuse import STRONG_LEXICAL_SHARE, rank
from shared.retrieve.policy import PolicyName
from shared.retrieve.select import passes
from tests.bench.judged import SETS, Judged, Text, Vectors, load

_MOST_QUESTIONS = 200
_MOST_PASSAGES = 5
FOREIGN = {
    "gitlab-handbook": ("stackfaq", "xquad-en", "xquad-zh"),
    "stackfaq": ("gitlab-handbook", "xquad-en"),
    "xquad-en": ("gitlab-handbook", "stackfaq"),
    "xquad-zh": ("gitlab-handbook", "stackfaq"),
}
HALVES = ("gitlab-handbook", "xquad-en", "xquad-zh", "xquad-zh2en")


@dataclass(frozen=True)
class Result:
    """`kept` is the share of answerable questions judged covered, `false` that of the others."""

    test: str
    answerable: int
    others: int
    auc: float
    kept: float
    false: float


def score(
    judged: Judged, scope: SearchScope, question: str, vector: Vectors, profile: EmbeddingProfile
) -> float:
    """The evidence for a question, from the passages that retrieval would choose."""
    minimum = dict(profile.minimums)[PolicyName.RUN]
    found = judged.search(scope, question, vector)
    scale = held_scale(found.idf_mass, found.unseen)
    chosen = [
        ranked.hit
        for ranked in rank(found, profile)
        if passes(ranked.hit.similarity, ranked.hit.held, minimum=minimum, lexical_bar=STRONG_LEXICAL_SHARE)
    ][:_MOST_PASSAGES]
    pieces = (
        Found(hit.held * scale, hit.similarity, mostly_unspaced(judged.text_of[hit.passage_id]))
        for hit in chosen
    )
    return evidence(question, pieces, minimum=minimum).score


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that an answerable question scores above another one; ties count half."""
    a, b = np.array(positive)[:, None], np.array(negative)[None, :]
    return float((a > b).mean() + 0.5 * (a == b).mean())


def result(test: str, positive: Sequence[float], negative: Sequence[float]) -> Result:
    kept, false = (float((np.array(scores) >= 1).mean()) for scores in (positive, negative))
    return Result(
        test, len(positive), len(negative), round(auc(positive, negative), 3), round(kept, 3), round(false, 3)
    )


def foreign(name: str, profile: EmbeddingProfile) -> Result:
    judged = load(name)
    scope = judged.scope()
    own = _sample(judged)
    others = [pair for other in FOREIGN[name] for pair in _sample(load(other))]
    return result(f"{name}/foreign", *(_scores(judged, scope, pairs, profile) for pairs in (own, others)))


def half(name: str, profile: EmbeddingProfile) -> Result:
    judged = load(name)
    positive: list[float] = []
    negative: list[float] = []
    for indexed in _halves(judged):
        scope = judged.scope(indexed)
        pairs = [(q, v) for q, v in _sample(judged) if judged.relevant.get(q.id)]
        inside = [pair for pair in pairs if judged.relevant[pair[0].id].keys() <= indexed]
        outside = [pair for pair in pairs if not judged.relevant[pair[0].id].keys() & indexed]
        positive += _scores(judged, scope, inside, profile)
        negative += _scores(judged, scope, outside, profile)
    return result(f"{name}/half", positive, negative)


def _halves(judged: Judged) -> tuple[set[str], set[str]]:
    """Whole files where passages have one (`file#n`), else the first and the second half."""
    files = sorted({p.id.rpartition("#")[0] for p in judged.passages})
    if len(files) > 1:
        odd = set(files[1::2])
        second = {p.id for p in judged.passages if p.id.rpartition("#")[0] in odd}
    else:
        second = {p.id for p in judged.passages[len(judged.passages) // 2 :]}
    return {p.id for p in judged.passages} - second, second


def _sample(judged: Judged) -> list[tuple[Text, Vectors]]:
    pairs = list(zip(judged.questions, judged.question_vectors, strict=True))
    return pairs[:: max(1, len(pairs) // _MOST_QUESTIONS)]


def _scores(
    judged: Judged, scope: SearchScope, pairs: Iterable[tuple[Text, Vectors]], profile: EmbeddingProfile
) -> list[float]:
    return [score(judged, scope, question.text, vector, profile) for question, vector in pairs]


def main() -> None:
    if not SETS.is_dir():
        sys.exit(f"The judged sets are not there: {SETS}")
    profile = local_embedder().profile
    results = [foreign(name, profile) for name in FOREIGN] + [half(name, profile) for name in HALVES]
    for one in results:
        print(
            f"{one.test:24} AUC {one.auc:.3f}  kept {one.kept:.3f} of {one.answerable}"
            f"  false {one.false:.3f} of {one.others}"
        )
    print(json.dumps({"model": profile.fingerprint, "results": [asdict(one) for one in results]}))


if __name__ == "__main__":
    main()
