"""What retrieval is compared with: BM25 by `bm25s`, the embedding model as it comes, and both of them fused
by reciprocal ranks and by a convex combination of scores. All see title and text of a whole document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import bm25s
import numpy as np
import numpy.typing as npt
from bm25s.stopwords import STOPWORDS_EN_PLUS
from Stemmer import Stemmer

from tests.bench.kept import KeptEmbedder
from tests.bench.rankings import JudgedSet

NAMES = ("bm25s", "dense", "RRF", "convex")
_CANDIDATES = 100
_RRF_K = 60
_CONVEX_DENSE = 0.65
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKENS = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")

_Scores = npt.NDArray[np.float64]


def rankings(judged: JudgedSet, embedder: KeptEmbedder) -> dict[str, list[list[str]]]:
    """By name of the baseline: for every question the ids of the ten best documents."""
    texts = [f"{document.title}\n{document.text}".strip() for document in judged.corpus]
    asked = [question.text for question in judged.questions]
    lexical = _bm25(texts, asked)
    similar = embedder.raw_queries(asked) @ embedder.raw_passages(texts).T
    ids = [document.id for document in judged.corpus]
    found: dict[str, list[list[str]]] = {name: [] for name in NAMES}
    for words, cosines in zip(lexical, similar.astype(np.float64), strict=True):
        by_words = [row for row in _best(words, _CANDIDATES) if words[row] > 0]
        by_vector = _best(cosines, _CANDIDATES)
        orders = (
            by_words[:10],
            by_vector[:10],
            _reciprocal(by_words, by_vector),
            _convex(words, cosines, sorted({*by_words, *by_vector}), embedder.floor),
        )
        for name, order in zip(NAMES, orders, strict=True):
            found[name].append([ids[row] for row in order])
    return found


def _bm25(texts: Sequence[str], asked: Sequence[str]) -> list[_Scores]:
    """Lucene's form, k1 1.2, b 0.75; stop words, Snowball, bigrams for scripts without spaces."""
    tokens = _tokenizer()
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index([tokens(text) for text in texts], show_progress=False)
    scores = []
    for question in asked:
        known = [token for token in tokens(question) if token in model.vocab_dict]
        scores.append(np.asarray(model.get_scores(known), np.float64) if known else np.zeros(len(texts)))
    return scores


def _tokenizer() -> Callable[[str], list[str]]:
    stemmer, stop = Stemmer("english"), frozenset(STOPWORDS_EN_PLUS)

    def tokens(text: str) -> list[str]:
        found: list[str] = []
        for token in _TOKENS.findall(text.lower()):
            if _IS_CJK.match(token):
                found += [token[at : at + 2] for at in range(len(token) - 1)] or [token]
            elif token not in stop:
                found.append(stemmer.stemWord(token))
        return found

    return tokens


def _best(scores: _Scores, count: int) -> list[int]:
    order: list[int] = np.argsort(-scores, kind="stable")[:count].tolist()
    return order


def _reciprocal(by_words: Sequence[int], by_vector: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion, equal weights (Cormack et al. 2009)."""
    scores: dict[int, float] = {}
    for order in (by_words, by_vector):
        for place, row in enumerate(order, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (_RRF_K + place)
    return sorted(scores, key=lambda row: (-scores[row], row))[:10]


def _convex(words: _Scores, cosines: _Scores, rows: Sequence[int], floor: float) -> list[int]:
    """Each leg scaled by its best, the cosine above the model's floor."""
    at = np.asarray(rows, dtype=np.intp)
    dense = (cosines[at] - floor) / max(float(cosines.max()) - floor, 1e-9)
    lexical = words[at] / max(float(words.max()), 1e-9)
    scores = _CONVEX_DENSE * dense + (1 - _CONVEX_DENSE) * lexical
    return [rows[place] for place in np.argsort(-scores, kind="stable")[:10]]
