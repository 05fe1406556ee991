"""From what a model writes to what a reader gets: citations numbered, markup made harmless, while it streams.

A model's text can carry what a hostile document told it to write: a picture that reports to a stranger when
it is shown, a link, HTML. None of it leaves here. Where a Markdown reader and this one could disagree on what
is code, this one takes it for text and cleans it.
"""

from __future__ import annotations

import re
from collections.abc import Container

from shared.domain.plaintext import visible

_IDS = r"[A-Za-z0-9_-]{1,64}"
_MARKER = re.compile(
    rf"(?P<blank>[ \t]*)\[\[[ \t]*(?P<ids>{_IDS}(?:[ \t]*[,;][ \t]*{_IDS})*)[ \t]*\]\]"
    r"(?P<closed>(?=\s|\Z|[.,;:)]+(?:\s|\Z)|[。，；：！？）]))?"
)
_ID = re.compile(_IDS)
_CUT_MARKER = re.compile(r"[ \t]*\[\[[A-Za-z0-9_,; \t-]*\]?\Z")

# A fence in the first column only: an indented one may belong to a list item and end where that ends.
_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<rest>[^`]*)\Z")
_CODE_SPAN = re.compile(r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>.*?[^`])(?P=ticks)(?!`)")

_TICK = re.compile(r"(?P<slashes>\\*)`")

_IMAGE = re.compile(
    r"!\[(?P<alt>[^\[\]]{0,500})\](?:\((?:[^()]|\([^()]{0,500}\)){0,2000}\)|\[[^\[\]]{0,200}\])?"
)
_LINK = re.compile(r"(?<!\[)\[(?P<words>[^\[\]]{1,500})\]\((?:[^()]|\([^()]{0,500}\)){0,2000}\)")
_HALF_LINK = re.compile(r"\](?=[(:])")
_SCHEME = r"[a-z][a-z0-9+.-]{1,20}"
_BRACKETED_ADDRESS = re.compile(rf"<(?P<address>{_SCHEME}:[^<>\s]{{1,2000}})>", re.IGNORECASE)
_HTML = re.compile(
    rf"<!--[^<>]{{0,2000}}-->|<(?!(?i:{_SCHEME}):[^<>\s]{{1,2000}}>)/?[A-Za-z][^<>]{{0,2000}}>"
)
# Stands where something was taken out, as long as what stood on its two sides must not be read together.
_GAP = "\0"
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9`\\])(?:{_SCHEME}://|www\.|javascript:|data:(?=\w+/)|vbscript:|mailto:|xmpp:)"
    r"(?:(?!&lt;)[^\s<>`\"'()\[\]{}|\\，。；：！？、（）【】「」]){0,2000}[^\s<>`\"'()\[\]{}|\\，。；：！？、（）【】「」.,;:!?&]",
    re.IGNORECASE,
)


class AnswerWriter:
    """Feed it the model's text in pieces of any size; what `feed` and `close` return, joined, is the answer.

    The pieces do not change the result. `known` holds the ids that may be cited; markers of others vanish.
    """

    def __init__(self, known: Container[str]) -> None:
        self._known = known
        self._numbers: dict[str, int] = {}
        self._held = ""
        self._fence = ""
        self._line_begun = False

    @property
    def cited(self) -> tuple[str, ...]:
        """The ids cited so far; the first is number 1."""
        return tuple(self._numbers)

    def feed(self, piece: str) -> str:
        """Whole lines, and of the last one as much as nothing that follows can change."""
        *lines, last = (self._held + piece.replace("\r", "")).split("\n")
        written = "".join(self._finish_line(line) + "\n" for line in lines)
        fenced = self._fence or (not self._line_begun and _FENCE.match(last))
        cut = 0 if fenced else _safe_cut(last)
        self._held = last[cut:]
        if cut:
            self._line_begun = True
            written += self._clean(last[:cut])
        return written

    def close(self) -> str:
        """The rest. A marker that was cut off in the middle is no text."""
        held = self._held if self._fence else _CUT_MARKER.sub("", self._held)
        self._held = ""
        return self._finish_line(held)

    def _finish_line(self, line: str) -> str:
        begun, self._line_begun = self._line_begun, False
        fence = None if begun else _FENCE.match(line)
        if self._fence:
            if fence and fence["mark"].startswith(self._fence) and not fence["rest"].strip():
                self._fence = ""
            return visible(line)
        if fence:
            self._fence = fence["mark"]
            return visible(line)
        return self._clean(line)

    def _clean(self, text: str) -> str:
        """A line or the beginning of one. Code spans stay as they are; a backtick that pairs with none on its
        line is escaped, or it would pair with one on another."""
        cleaned, end = "", 0
        text = visible(text)
        for span in _CODE_SPAN.finditer(text):
            cleaned = _apart(_apart(cleaned, self._clean_prose(text[end : span.start()])), span[0])
            end = span.end()
        return _apart(cleaned, self._clean_prose(text[end:]))

    def _clean_prose(self, text: str) -> str:
        text = _HTML.sub(_GAP, _TICK.sub(_escaped_tick, text))
        text = _OPENING.sub("&lt;", _BRACKETED_ADDRESS.sub(rf"{_GAP}\g<address>{_GAP}", text))
        text = _LINK.sub(rf"{_GAP}\g<words>{_GAP}", _IMAGE.sub(rf"{_GAP}\g<alt>{_GAP}", text))
        text = _MARKER.sub(self._numbered, text).replace(_GAP, "")
        text = _HALF_LINK.sub("] ", _OPENING.sub("&lt;", text))
        return _ADDRESS.sub(r"`\g<0>`", text)

    def _numbered(self, marker: re.Match[str]) -> str:
        """The numbers. Where none is known the marker goes, and what stood on its two sides stays apart."""
        numbers: dict[int, None] = {}
        for name in _ID.findall(marker["ids"]):
            if name in self._known:
                numbers[self._numbers.setdefault(name, len(self._numbers) + 1)] = None
        if numbers:
            return marker["blank"] + "".join(f"[{number}]" for number in numbers)
        return "" if marker["closed"] is not None else " "


def _escaped_tick(tick: re.Match[str]) -> str:
    """One that is escaped already stays so: one backslash more would escape the backslash instead."""
    return tick[0] if len(tick["slashes"]) % 2 else f"{tick['slashes']}\\`"


def _apart(left: str, right: str) -> str:
    """Two pieces one after the other; backticks that meet would make one longer mark of two, and a backslash
    would undo one."""
    return f"{left} {right}" if left.endswith(("`", "\\")) and right.startswith("`") else left + right


def _safe_cut(line: str) -> int:
    """Where the last blanks begin that stand outside of everything open: up to there the line is settled."""
    text = _masked(_CODE_SPAN, line).partition("`")[0]
    text = _masked(_BRACKETED_ADDRESS, _masked(_HTML, text))
    cut = brackets = parentheses = 0
    words_end = -2
    for at, character in enumerate(text[: _may_open(text)]):
        if parentheses:
            parentheses += (character == "(") - (character == ")")
        elif character == "[":
            brackets += 1
        elif character == "]":
            words_end = at if brackets else -2
            brackets = max(0, brackets - 1)
        elif character == "(" and at == words_end + 1:
            parentheses = 1
        elif character in " \t" and not brackets and text[at - 1 : at] not in (" ", "\t"):
            cut = at
    return cut


def _masked(whole: re.Pattern[str], text: str) -> str:
    return whole.sub(lambda match: "x" * len(match[0]), text)


def _may_open(text: str) -> int:
    """Where a tag begins that may still be closed; the length where none does."""
    tag = text.rfind("<")
    if tag < 0 or ">" in text[tag:]:
        return len(text)
    return tag if tag == len(text) - 1 or _OPENING.match(text, tag) else len(text)
