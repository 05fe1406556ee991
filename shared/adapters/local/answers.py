"""Answers without a model key: the sentences of the references that answer the question, quoted and cited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise, zip_longest
from math import log
from typing import TYPE_CHECKING

from shared.adapters.local.coverage import shares_held
from shared.adapters.local.recall import recalled
from shared.domain.models import Prompt, Reference, Reply, TokenUse
from shared.domain.sentences import is_unspaced, text_size
from shared.domain.units import Unit, UnitKind, units
from shared.index.terms import query_terms, terms
from shared.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST_QUOTES = 4
_MOST_WORDS = 120
# What scores below this share of the best sentence is beside the point: 0.6 finds the answer in four of
# hundred handbook questions more, with a quarter more words to read.
_NEAR_THE_BEST = 0.72
# Embedding one sentence takes about 10 ms, and somebody is waiting.
_MOST_CANDIDATES = 40
_MEANING = 0.5  # against words in common

_QUOTING = {
    "zh": "没有配置回答模型，以下直接引用知识库中最相关的原文：",
    "en": "No answering model is configured, so here is what the documents say, quoted:",
}
_NOT_COVERED = {
    "zh": "检索到的内容不能回答这个问题。（没有配置回答模型，只能引用检索到的原文，"
    "而没有找到足够相关的原文；整篇附上的文字不会被读取。）",
    "en": "What was found does not cover this question. (No answering model is configured, so answers are "
    "quotations of what is searched, and no passage says enough about it; texts that are attached whole are "
    "not read.)",
}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A piece of a reference that could be quoted. `reference` and `position` are its place in reading order.
    `lead` is the sentence that introduces the list it is an item of, or empty. `context` is what it is
    embedded and matched with: its heading, its lead and its own words."""

    reference: int
    position: int
    text: str
    lead: str
    context: str

    @property
    def quote(self) -> str:
        return f"{self.lead} {self.text}" if self.lead else self.text


class ExtractiveAnswers:
    """Quotes and says that it quotes. Quotations are in the language of the source; what stands around them
    is in the question's where that is Chinese, else in English."""

    name = "extractive-1"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def using(self, model: str) -> ExtractiveAnswers:
        del model  # there is no other without a key
        return self

    def answer(self, prompt: Prompt) -> Reply:
        language = _language(prompt.question)
        said = recalled(prompt, language)
        if said is not None:
            return Reply(said, TokenUse(self.name))
        asked = prompt.searched or prompt.question
        candidates = _candidates(prompt.references) if prompt.covered else []
        if not candidates:
            return Reply(_NOT_COVERED[language], TokenUse(self.name, calls=1))
        shortlist, lexical = _shortlist(asked, candidates)
        embedded = self._embedder.passages([candidate.context for candidate in shortlist])
        question = self._embedder.query(asked)
        meaning = embedded.vectors @ question.vectors[0]
        chosen = _choose(shortlist, _scores(meaning, lexical))
        use = TokenUse(self.name, embedded.use.input + question.use.input, calls=1)
        return Reply(_written(chosen, prompt.references, language), use)

    def stream(self, prompt: Prompt) -> Generator[str | Reply, None, None]:
        """Line by line: nothing is known before all is."""
        reply = self.answer(prompt)
        yield from reply.text.splitlines(keepends=True)
        yield reply


def _language(question: str) -> str:
    han = sum("\u4e00" <= character <= "\u9fff" for character in question)
    kana = any("\u3040" <= character <= "\u30ff" for character in question)
    words = sum(character.isascii() and character.isalpha() for character in question)
    return "zh" if han and not kana and 2 * han >= words / 4 else "en"


def _candidates(references: Sequence[Reference]) -> list[_Candidate]:
    """Sentences, items and rows, each once: passages overlap."""
    found: list[_Candidate] = []
    seen: set[str] = set()
    for number, reference in enumerate(references):
        lead = ""
        for position, unit in enumerate(units(reference.text)):
            if unit.kind is UnitKind.SENTENCE:
                lead = unit.text if unit.text.endswith((":", "：")) else ""
            if not _quotable(unit) or unit.text in seen:
                continue
            seen.add(unit.text)
            heading = unit.heading or " > ".join(reference.heading_path[-2:]) or reference.title
            own_lead = lead if unit.kind is UnitKind.ITEM else ""
            context = "\n".join(filter(None, (heading, own_lead, unit.text)))
            found.append(_Candidate(number, position, unit.text, own_lead, context))
    return found


def _quotable(unit: Unit) -> bool:
    if unit.kind is UnitKind.HEADING or not any(map(str.isalnum, unit.text)):
        return False
    return not unit.text.endswith((":", "：", "?", "？"))


def _shortlist(question: str, candidates: Sequence[_Candidate]) -> tuple[list[_Candidate], list[float]]:
    """At most 40 candidates with their lexical share (0..1): those that share the question's words, then, a
    question in another language shares none, the first sentences of each reference in turn."""
    counted = [terms(candidate.context) for candidate in candidates]
    shares = _lexical(question, counted)
    matching = sorted((at for at, share in enumerate(shares) if share > 0), key=lambda at: -shares[at])
    chosen = dict.fromkeys([*matching, *_in_turn(candidates)])
    kept = sorted(islice(chosen, _MOST_CANDIDATES))
    return [candidates[at] for at in kept], [shares[at] for at in kept]


def _lexical(question: str, counted: Sequence[Mapping[str, int]]) -> list[float]:
    """The share of the question's information (idf mass among the candidates) that each candidate holds."""
    asked = query_terms(question)
    document_frequency = Counter(term for counts in counted for term in counts)
    weights = [
        log(1 + len(counted) / (1 + max(document_frequency[spelling] for spelling in term.spellings)))
        * (0.3 if term.weak else 1.0)
        for term in asked
    ]
    return shares_held(asked, weights, counted)


def _in_turn(candidates: Sequence[_Candidate]) -> Iterable[int]:
    by_reference = groupby(range(len(candidates)), key=lambda at: candidates[at].reference)
    columns = [list(group) for _, group in by_reference]
    return (at for row in zip_longest(*columns) for at in row if at is not None)


def _scores(meaning: npt.NDArray[np.float32], lexical: Sequence[float]) -> list[float]:
    """Both scaled to 0..1 over the candidates, since the cosine of one model says nothing about another's."""
    low, high = float(meaning.min()), float(meaning.max())
    most = max(lexical) or 1.0
    spread = (high - low) or 1.0
    return [
        _MEANING * (float(near) - low) / spread + (1 - _MEANING) * share / most
        for near, share in zip(meaning, lexical, strict=True)
    ]


def _choose(candidates: Sequence[_Candidate], scores: Sequence[float]) -> list[_Candidate]:
    """The best few, in reading order. The best is always among them."""
    order = sorted(range(len(candidates)), key=lambda at: -scores[at])
    room = _MOST_WORDS
    chosen: list[int] = []
    for at in order[:_MOST_QUOTES]:
        size = text_size(candidates[at].quote)
        if chosen and (scores[at] < _NEAR_THE_BEST * scores[order[0]] or size > room):
            continue
        chosen.append(at)
        room -= size
    return [candidates[at] for at in sorted(chosen)]


def _written(chosen: Sequence[_Candidate], references: Sequence[Reference], language: str) -> str:
    """One quotation a reference, each with the mark that cites it."""
    quotes = []
    for number, group in groupby(chosen, key=lambda candidate: candidate.reference):
        quotes.append(f"> {_joined(list(group))} [[{references[number].id}]]")
    return "\n\n".join([_QUOTING[language], *quotes])


def _joined(group: Sequence[_Candidate]) -> str:
    """Neighbours follow on, an ellipsis stands for what was left out, and a lead is said once."""
    text = group[0].quote
    for left, right in pairwise(group):
        piece = right.text if right.lead == left.lead else right.quote
        stop = "" if text[-1] in ".!?…。！？;；" else "."
        blank = "" if is_unspaced(piece[0]) else " "
        text += stop + (blank if right.position == left.position + 1 else f"{blank}… ") + piece
    return text
