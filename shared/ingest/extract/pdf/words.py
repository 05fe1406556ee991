"""Words that a line's end has cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What pdfium puts where it took a hyphen at a line's end and joined the lines. Where it stands anywhere else,
# it is a glyph that the file maps to no character, and goes when the text is cleaned.
JOINT = "\ufffe"

_JOINTS = re.compile(rf"(\w+){JOINT}(\w+)")
_COMPOUNDS = re.compile(r"\w+(?:[-\u2010\u2011]\w+)+")
_WORDS = re.compile(r"\w+")


class Hyphens:
    """Decides between "informa-tion" and "well-known" by what the document writes elsewhere."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self._compounds: set[str] | None = None
        self._words: set[str] = set()

    def mend(self, text: str) -> str:
        """`text` with its joints closed."""
        return _JOINTS.sub(lambda match: self.join(match[1], match[2]), text) if JOINT in text else text

    def join(self, left: str, right: str) -> str:
        """The word whose halves stood on two lines, with its hyphen if it has one of its own."""
        if right[:1].isupper() or right[:1].isdigit() or left[-1:].isdigit():
            return f"{left}-{right}"
        self._read()
        compound, word = f"{left}-{right}".lower(), f"{left}{right}".lower()
        if self._compounds and compound in self._compounds and word not in self._words:
            return f"{left}-{right}"
        return f"{left}{right}"

    def _read(self) -> None:
        if self._compounds is not None:
            return
        self._compounds = set()
        for text in self._texts:
            low = text.lower()
            self._compounds.update(match.replace("\u2010", "-") for match in _COMPOUNDS.findall(low))
            self._words.update(_WORDS.findall(low))
