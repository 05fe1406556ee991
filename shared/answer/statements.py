"""Which words of a source a citation rests on: what an answer says before a mark, found in the passage."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from shared.domain.sentences import split_sentences
from shared.domain.units import plain
from shared.index.terms import terms

_MARKS = re.compile(r"(?:\[\d{1,3}\])+")
_NUMBER = re.compile(r"\d{1,3}")
_QUOTE = re.compile(r"\s{0,3}>\s?")
_ELLIPSIS = re.compile(r"…|\.\.\.")
# The share of a statement's words that a line must hold to be where it comes from.
_ENOUGH = 0.4


def statements(answer: str) -> Mapping[int, tuple[str, ...]]:
    """By citation number what stands before its marks: of a quotation every piece, else the last sentence."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for line in answer.split("\n"):
        quoted = _QUOTE.match(line)
        start = quoted.end() if quoted else 0
        for marks in _MARKS.finditer(line):
            said = line[start : marks.start()]
            start = marks.end()
            pieces = list(_pieces(said)) if quoted else [s.text for s in split_sentences(said)][-1:]
            for number in map(int, _NUMBER.findall(marks[0])):
                found[number] += pieces
    return {number: tuple(said) for number, said in found.items()}


def place_of(statement: str, text: str) -> int | None:
    """Where in `text` the line or sentence begins that holds most of the statement's words; None where none
    holds enough of them, as of a statement in another language."""
    wanted = set(terms(statement))
    if not wanted:
        return None
    best, place = 0.0, None
    for start, piece in _spans(text):
        share = len(wanted & set(terms(plain(piece)))) / len(wanted)
        if share > best:
            best, place = share, start
    return place if best >= _ENOUGH else None


def _pieces(said: str) -> Iterator[str]:
    for part in _ELLIPSIS.split(said):
        yield from (sentence.text for sentence in split_sentences(part))


def _spans(text: str) -> Iterator[tuple[int, str]]:
    """Sentences of each line: rows and items are lines of their own."""
    offset = 0
    for line in text.split("\n"):
        yield from ((offset + sentence.start, sentence.text) for sentence in split_sentences(line))
        offset += len(line) + 1
