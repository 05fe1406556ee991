"""Markdown from a model, made harmless: no HTML, no pictures, no links; addresses stay readable as code.

Where a Markdown reader and this one could disagree on what is code, this one takes it for text and cleans it.
All of it works on one line or a part of one that `safe_cut` allows, and gives the same for the parts as for
the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# A fence in the first column only: an indented one may belong to a list item and end where that ends.
FENCE = re.compile(r"(?P<mark>`{3,}(?=[^`]*\Z)|~{3,})")
FENCE_END = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})[ \t]*\Z")
CODE_SPAN = re.compile(r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>.*?[^`])(?P=ticks)(?!`)")

_TICK = re.compile(r"(?P<slashes>\\*)`")
_OTHER_FENCE = re.compile(r"~(?=~~)")

_TARGET = r"\((?:[^()]|\([^()]{0,500}\)){0,2000}\)"
_IMAGE = re.compile(rf"!\[(?P<alt>[^\[\]]{{0,500}})\](?:{_TARGET}|\[[^\[\]]{{0,200}}\])?")
_LINK = re.compile(rf"(?<!\[)\[(?P<words>[^\[\]]{{1,500}})\]{_TARGET}")
_HALF_LINK = re.compile(r"\](?=[(:])")

_SCHEME = r"[a-z][a-z0-9+.-]{1,20}"
_BRACKETED_ADDRESS = re.compile(rf"<(?P<address>{_SCHEME}:[^<>\s]{{1,2000}})>", re.IGNORECASE)
_HTML = re.compile(
    rf"<!--[^<>]{{0,2000}}-->|<(?!(?i:{_SCHEME}):[^<>\s]{{1,2000}}>)/?[A-Za-z][^<>]{{0,2000}}>"
)
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_IN_ADDRESS = r"\s<>`\"'()\[\]{}|\\，。；：！？、（）【】「」"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9`\\])(?:{_SCHEME}://|www\.|javascript:|data:(?=\w+/)|vbscript:|mailto:|xmpp:)"
    rf"(?:(?!&lt;)[^{_IN_ADDRESS}]){{0,2000}}[^{_IN_ADDRESS}.,;:!?&]",
    re.IGNORECASE,
)

# A number in brackets that the model wrote is a source's own footnote, or made up: ours come from its marks
# alone, and no other may look like one.
_FOOTNOTE = re.compile(
    r"(?P<mark>\[\[[^\[\]]{0,2000}\]\])|\\?\[\^?(?P<n>\d{1,3}(?:[ \t]?[,;–-][ \t]?\d{1,3}){0,20})\\?\]"
)

# Stands where something was taken out, as long as what stood on its two sides must not be read together.
_GAP = "\0"


def clean_prose(text: str, put_numbers: Callable[[str], str]) -> str:
    """Text outside of code. `put_numbers` replaces citation markers; it runs when links are gone and half
    ones not yet broken, so that what it takes out cannot join two halves."""
    text = _OTHER_FENCE.sub(r"\\~", _TICK.sub(_escaped_tick, text))
    text = _HTML.sub(_GAP, text)
    text = _OPENING.sub("&lt;", _BRACKETED_ADDRESS.sub(rf"{_GAP}\g<address>{_GAP}", text))
    text = _LINK.sub(rf"{_GAP}\g<words>{_GAP}", _IMAGE.sub(rf"{_GAP}\g<alt>{_GAP}", text))
    text = put_numbers(_FOOTNOTE.sub(_not_a_citation, text)).replace(_GAP, "")
    text = _HALF_LINK.sub("] ", _OPENING.sub("&lt;", text))
    return _ADDRESS.sub(r"`\g<0>`", text)


def safe_cut(line: str) -> int:
    """Where the last blanks begin that stand outside of everything open: up to there the line is settled,
    whatever follows."""
    text = _masked(CODE_SPAN, line).partition("`")[0]
    text = _masked(_BRACKETED_ADDRESS, _masked(_HTML, text))
    cut = brackets = parentheses = 0
    words_end, words = -2, False
    for at, character in enumerate(text[: _may_open(text)]):
        if parentheses:
            parentheses += (character == "(") - (character == ")")
        elif character == "[":
            brackets += 1
            words = True
        elif character == "]":
            words_end = at if words else -2
            words = False
            brackets = max(0, brackets - 1)
        elif character == "(" and at == words_end + 1:
            parentheses = 1
        elif character in " \t" and not brackets and text[at - 1 : at] not in (" ", "\t"):
            cut = at
    return cut


def _escaped_tick(tick: re.Match[str]) -> str:
    """One that is escaped already stays so: one backslash more would escape the backslash instead."""
    return tick[0] if len(tick["slashes"]) % 2 else f"{tick['slashes']}\\`"


def _not_a_citation(found: re.Match[str]) -> str:
    return found["mark"] or f"({found['n']})"


def _masked(whole: re.Pattern[str], text: str) -> str:
    return whole.sub(lambda match: "x" * len(match[0]), text)


def _may_open(text: str) -> int:
    """Where a tag begins that may still be closed; the length where none does."""
    tag = text.rfind("<")
    if tag < 0 or ">" in text[tag:]:
        return len(text)
    return tag if tag == len(text) - 1 or _OPENING.match(text, tag) else len(text)
