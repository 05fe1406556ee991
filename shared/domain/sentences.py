"""Sentences of running text in any script. Offsets count Unicode characters, `text[start:end]`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is the trimmed source text from `start` to `end`."""

    text: str
    start: int
    end: int


# Scripts that write no blank between sentences end one with these wherever they stand; Latin-like scripts
# only where a blank or the end follows, or `3.14` and `example.com` would be cut.
_CLOSERS = "\"'”’»)\\]}）】」』》〉"
_END = re.compile(
    rf"(?P<full>[。！？｡]+[{_CLOSERS}]*)"
    rf"|(?P<spaced>[.!?…؟۔।॥።։។။།]+[{_CLOSERS}]*)(?=\s|$)"
    r"|(?P<paragraph>\n[ \t]*\n)"
)

# What stands before a full stop that ends nothing. Abbreviations that a small letter follows need no mention.
_BEFORE_ANYTHING = re.compile(
    r"(?:^|[\s(\[„“\"])"
    r"(?:(?i:mr|mrs|ms|dr|prof|st|sr|sra|vs|cf|al|dept|bzw|inkl|evtl|réf|[a-z]\. ?[a-z])|[A-Z])\.$"
)
_BEFORE_NUMBER = re.compile(
    r"(?:^|[\s(\[])(?:no|nos|nr|n|fig|figs|eq|sec|ch|vol|art|abs|pp?|approx|ca|min|max|est|ex)\.$",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*\(?(?:\d{1,3}|[ivxlc]{1,5}|[a-z])\.$", re.IGNORECASE)

# Thai, Lao and Khmer often write no stop at all, and extracted tables lose theirs; longer runs are cut.
_LONGEST = 600
_SOFT_BREAK = re.compile(r"[\s,;:，、；：،؛]")


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Sentences in reading order; together they hold every visible character of `text`. None is longer than
    600 characters unless it is one unbroken run."""
    return tuple(
        piece
        for start, end in _spans(text)
        if (whole := _trimmed(text, start, end)) is not None
        for piece in _shortened(text, whole)
    )


def text_size(text: str) -> int:
    """Length as people count it: words, and characters (字) for scripts that write none between blanks."""
    unspaced = sum(1 for character in text if is_unspaced(character))
    spaced = "".join(" " if is_unspaced(character) else character for character in text)
    return unspaced + sum(1 for word in spaced.split() if any(map(str.isalnum, word)))


def is_unspaced(character: str) -> bool:
    """Whether the character is of a script that puts no blanks between words (Han, kana, Thai, Lao, Khmer,
    Burmese). Korean does put them."""
    point = ord(character)
    if point < 0x0E00:
        return False
    return (
        0x4E00 <= point <= 0x9FFF
        or 0x3040 <= point <= 0x30FF
        or 0x0E00 <= point <= 0x0EFF
        or 0x3400 <= point <= 0x4DBF
        or 0x20000 <= point <= 0x3FFFF
        or 0x1000 <= point <= 0x109F
        or 0x1780 <= point <= 0x17FF
        or 0xF900 <= point <= 0xFAFF
    )


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if match["spaced"] and not _ends_sentence(text, start, match):
            continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """A full stop after an abbreviation, an initial or a list's number ends nothing, nor does one before a
    small letter."""
    if match["spaced"] != ".":
        return True
    before = text[max(start, match.end() - 24) : match.end()]
    if _BEFORE_ANYTHING.search(before) or _LIST_NUMBER.search(before):
        return False
    following = text[match.end() : match.end() + 12].lstrip()
    if not following:
        return True
    if following[0].isdigit():
        return not _BEFORE_NUMBER.search(before)
    return unicodedata.category(following[0]) != "Ll"


def _trimmed(text: str, start: int, end: int) -> Sentence | None:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Sentence(piece, start, start + len(piece)) if piece else None


def _shortened(text: str, sentence: Sentence) -> Iterator[Sentence]:
    start = sentence.start
    while sentence.end - start > _LONGEST:
        breaks = list(_SOFT_BREAK.finditer(text, start + _LONGEST // 2, start + _LONGEST))
        if not breaks:
            breaks = list(_SOFT_BREAK.finditer(text, start + _LONGEST, sentence.end))[:1]
        if not breaks:
            break
        piece = _trimmed(text, start, breaks[-1].end())
        if piece is not None:
            yield piece
        start = breaks[-1].end()
    rest = _trimmed(text, start, sentence.end)
    if rest is not None:
        yield rest
