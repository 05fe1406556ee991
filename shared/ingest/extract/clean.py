"""Text that is safe to store and to show: nothing in it that people cannot see or stores cannot hold."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

INVISIBLE_NOTE = "invisible_characters_removed"

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Control characters, halves of pairs and code points that are no characters.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]|"
    "[" + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(1, 17)) + "]"
)
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
# Harmless leftovers of typesetting: byte order mark, soft hyphen, direction marks, grapheme joiner.
_LEFTOVERS = re.compile("[\ufeff\u00ad\u200e\u200f\u061c\u034f]")
# What hides text or reverses it: zero-width space and joiners of words, bidi embeddings and overrides,
# invisible operators, annotation marks, Hangul fillers, tag characters, supplementary variation selectors.
_HIDDEN = re.compile(
    "[\u200b\u2060-\u2064\u2065\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\u115f\u1160\u3164\uffa0\u180e"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Joiner and non-joiner are letters of their own in Arabic, Indic and Mongolian scripts, and the joiner builds
# emoji; anywhere else they only hide.
_JOINERS = re.compile("[\u200c\u200d]")
_JOINING_SCRIPTS = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]"
)
_EMOJI = re.compile("[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]")
_LIGATURES = {0xFB00 + i: text for i, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}
_LIGATURES |= {0xFB13 + i: text for i, text in enumerate(("մն", "մե", "մի", "վն", "մխ"))}
_PRESENTATION = re.compile("[\ufb50-\ufdff\ufe70-\ufefc]+")


@dataclass(slots=True)
class Cleaner:
    """Cleans the texts of one document and remembers what was removed."""

    notes: set[str] = field(default_factory=set)

    def clean(self, text: str) -> str:
        """Unix line ends; whole characters in composed form (NFC); no control, no invisible characters;
        ligatures spelled out; no blanks at line ends but the two that break a line."""
        if text.isascii():
            return _CONTROL.sub("", _NEWLINES.sub("\n", text)) if _UNCLEAN.search(text) else text
        text = _NEWLINES.sub("\n", text)
        text = _PAIRS.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        text = _FORBIDDEN.sub("", text)
        text = _LEFTOVERS.sub("", text)
        text = self._reveal(text)
        text = text.translate(_LIGATURES)
        text = _PRESENTATION.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
        return unicodedata.normalize("NFC", text)

    def _reveal(self, text: str) -> str:
        seen = _HIDDEN.sub("", text)
        seen = _JOINERS.sub(_keep_joiner, seen)
        if len(seen) != len(text):
            self.notes.add(INVISIBLE_NOTE)
        return seen


def _keep_joiner(match: re.Match[str]) -> str:
    before, after = (
        match.string[match.start() - 1 : match.start()],
        match.string[match.end() : match.end() + 1],
    )
    if _JOINING_SCRIPTS.match(before):
        return match[0]
    if match[0] == "\u200d" and _EMOJI.match(before) and _EMOJI.match(after):
        return match[0]
    return ""
