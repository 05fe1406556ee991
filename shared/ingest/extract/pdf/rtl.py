"""Arabic and Hebrew pages: a second reading by pypdf, taken where it reads better.

pdfium turns right-to-left text around glyph by glyph, which spoils glyphs that stand for two letters
(lam-alef); pypdf sometimes leaves words in the order in which they were drawn.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PdfReader

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTERS = re.compile(r"[^\W\d_]")
_ARABIC_WORD = re.compile("[\u0620-\u064a]{3,}")
_TURNED = re.compile("ا[أإآ]ل")  # lam-alef the wrong way round; no Arabic word has these three in a row
_SHARE = 0.2  # of a page's letters, to ask for a second reading
_FEWEST = 10
_COMPLETE = 0.9


def is_rtl(text: str, share: float = 0.5) -> bool:
    """Whether at least `share` of the letters run from right to left."""
    if not _RTL.search(text):
        return False
    return len(_RTL.findall(text)) >= max(share * len(_LETTERS.findall(text)), _FEWEST)


class SecondReader:
    """Opens the file with pypdf when a page first needs it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._reader: PdfReader | None = None
        self._failed = False

    def better(self, text: str, index: int) -> str | None:
        """pypdf's text of page `index`, when `text` is largely right-to-left and pypdf's reads better."""
        if not is_rtl(text, _SHARE):
            return None
        letters = len(_LETTERS.findall(text))
        other = self._read(index)
        if len(_LETTERS.findall(other)) < _COMPLETE * letters:
            return None
        return other if _faults(other) < _faults(text) else None

    def _read(self, index: int) -> str:
        """What pypdf makes of the page; nothing, when it stumbles, for it is only the second opinion."""
        from pypdf import PdfReader

        if self._failed:
            return ""
        try:
            self._reader = self._reader or PdfReader(io.BytesIO(self._data))
            return str(self._reader.pages[index].extract_text())
        except Exception:  # noqa: BLE001 - it raises far more than its own errors on damaged files
            self._failed = True
            return ""


def _faults(text: str) -> float:
    """Signs of turned letters and turned words, per Arabic word: the article "al-" begins words and its
    reverse rarely ends them."""
    words = _ARABIC_WORD.findall(text)
    if not words:
        return 0.0
    turned = len(_TURNED.findall(text))
    backwards = sum(word.endswith("لا") for word in words)
    articles = sum(word.startswith(("ال", "وال", "بال", "لل")) for word in words)
    return float(3 * turned + backwards - articles) / len(words)
