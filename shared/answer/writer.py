"""From what a model writes to what a reader gets: citations numbered, markup made harmless, while it streams.

A model's text can carry what a hostile document told it to write: a picture that reports to a stranger when
it is shown, a link, HTML. None of it leaves here.
"""

from __future__ import annotations

import re
from collections.abc import Container

from shared.answer.markup import CODE_SPAN, FENCE, FENCE_END, clean_prose, safe_cut
from shared.domain.plaintext import visible

_IDS = r"[A-Za-z0-9_-]{1,64}"
_MARKER = re.compile(
    rf"(?P<blank>[ \t]*)\[\[[ \t]*(?P<ids>{_IDS}(?:[ \t]*[,;][ \t]*{_IDS})*)[ \t]*\]\]"
    r"(?P<closed>(?=\s|\Z|[.,;:)]+(?:\s|\Z)|[。，；：！？）]))?"
)
_ID = re.compile(_IDS)
_CUT_MARKER = re.compile(r"[ \t]*\[\[[A-Za-z0-9_,; \t-]*\]?\Z")


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
        self._last = ""  # character of the line so far

    @property
    def cited(self) -> tuple[str, ...]:
        """The ids cited so far; the first is number 1."""
        return tuple(self._numbers)

    def feed(self, piece: str) -> str:
        """Whole lines, and of the last one as much as nothing that follows can change."""
        *lines, last = (self._held + piece.replace("\r", "")).split("\n")
        written = "".join(self._finish_line(line) + "\n" for line in lines)
        fenced = self._fence or (not self._line_begun and FENCE.match(last))
        cut = 0 if fenced else safe_cut(last)
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
        if self._fence:
            end = FENCE_END.match(line)
            if end and end["mark"].startswith(self._fence):
                self._fence = ""
            return visible(line)
        fence = None if begun else FENCE.match(line)
        if fence:
            self._fence = fence["mark"]
            return visible(line)
        cleaned = self._clean(line)
        self._last = ""
        return cleaned

    def _clean(self, text: str) -> str:
        """A line or a part of one. Code spans stay as they are."""
        end = 0
        pieces: list[str] = []
        text = visible(text)
        for span in CODE_SPAN.finditer(text):
            prose = clean_prose(text[end : span.start()], self._put_numbers)
            pieces += [self._apart(prose), self._apart(span[0])]
            end = span.end()
        return "".join([*pieces, self._apart(clean_prose(text[end:], self._put_numbers))])

    def _apart(self, piece: str) -> str:
        """Backticks that meet would make one longer mark of two, and a backslash before one would undo it."""
        if piece.startswith("`") and self._last in {"`", "\\"}:
            piece = f" {piece}"
        self._last = piece[-1:] or self._last
        return piece

    def _put_numbers(self, text: str) -> str:
        return _MARKER.sub(self._numbered, text)

    def _numbered(self, marker: re.Match[str]) -> str:
        """The numbers. Where none is known the marker goes, and what stood on its two sides stays apart."""
        numbers: dict[int, None] = {}
        for name in _ID.findall(marker["ids"]):
            if name in self._known:
                numbers[self._numbers.setdefault(name, len(self._numbers) + 1)] = None
        if numbers:
            return marker["blank"] + "".join(f"[{number}]" for number in numbers)
        return "" if marker["closed"] is not None else " "
