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
_MARKER = re.compile(rf"(?P<blank>[ \t]*)\[\[[ \t]*(?P<ids>{_IDS}(?:[ \t]*[,;][ \t]*{_IDS})*)[ \t]*\]\]")
_ID = re.compile(_IDS)
_CUT_MARKER = re.compile(r"[ \t]*\[\[[A-Za-z0-9_,; \t-]*\]?\Z")

# A fence in the first column only: an indented one may belong to a list item and end where that ends.
_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<rest>[^`]*)\Z")
_CODE_SPAN = re.compile(r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>.*?[^`])(?P=ticks)(?!`)")

_IMAGE = re.compile(
    r"!\[(?P<alt>[^\[\]]{0,500})\](?:\((?:[^()]|\([^()]{0,500}\)){0,2000}\)|\[[^\[\]]{0,200}\])?"
)
_LINK = re.compile(r"(?<!\[)\[(?P<words>[^\[\]]{1,500})\]\((?:[^()]|\([^()]{0,500}\)){0,2000}\)")
_HALF_LINK = re.compile(r"\](?=\()|(?<!\])\](?=:)")
_BRACKETED_ADDRESS = re.compile(r"<(?P<address>[a-z][a-z0-9+.-]{1,20}:[^<>\s]{1,2000})>", re.IGNORECASE)
_HTML = re.compile(r"<!--[^<>]{0,2000}-->|</?[A-Za-z][^<>]{0,1000}>")
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9`])(?:[a-z][a-z0-9+.-]{1,20}://|www\.|javascript:|data:(?=\w+/)|vbscript:)"
    r"[^\s<>`\"'()\[\]{}|\\，。；：！？、（）【】「」]{0,2000}[^\s<>`\"'()\[\]{}|\\，。；：！？、（）【】「」.,;:!?]",
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
            cleaned += self._clean_prose(text[end : span.start()]) + span[0]
            end = span.end()
        return cleaned + self._clean_prose(text[end:])

    def _clean_prose(self, text: str) -> str:
        text = text.replace("`", r"\`")
        text = _LINK.sub(r"\g<words>", _IMAGE.sub(r"\g<alt>", text))
        text = _HTML.sub("", _BRACKETED_ADDRESS.sub(r"\g<address>", text))
        text = _HALF_LINK.sub("] ", _OPENING.sub("&lt;", text))
        return _MARKER.sub(self._numbered, _ADDRESS.sub(r"`\g<0>`", text))

    def _numbered(self, marker: re.Match[str]) -> str:
        numbers: dict[int, None] = {}
        for name in _ID.findall(marker["ids"]):
            if name in self._known:
                numbers[self._numbers.setdefault(name, len(self._numbers) + 1)] = None
        return marker["blank"] + "".join(f"[{number}]" for number in numbers) if numbers else ""


def _safe_cut(line: str) -> int:
    """Where the last blank is that stands outside of everything open: up to there the line is settled."""
    text = _CODE_SPAN.sub(lambda span: "x" * len(span[0]), line)
    cut = brackets = parentheses = 0
    tag = False
    for at, character in enumerate(text):
        if character == "`":
            break
        if tag:
            tag = character != ">"
        elif parentheses:
            parentheses += (character == "(") - (character == ")")
        elif character == "<":
            tag = bool(_OPENING.match(text, at))
        elif character == "[":
            brackets += 1
        elif character == "]":
            brackets = max(0, brackets - 1)
        elif character == "(" and text[at - 1 : at] == "]":
            parentheses = 1
        elif character in " \t" and not brackets:
            cut = at
    return cut
