"""Text that strangers wrote, made fit to stand in a prompt or an answer."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

# Characters that people do not see and models do read: zero-width marks, bidirectional controls, the tag
# block (a hidden copy of ASCII), variation-selector supplements, interlinear marks and other controls. The
# joiners U+200C and U+200D spell words in Persian and Indic scripts and join emoji, so they stay between
# visible characters and go in runs.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    r"\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff\ud800-\udfff]"
)
_JOINER_RUN = re.compile(
    r"[\u200c\u200d]{2,}|(?<=\s)[\u200c\u200d]|[\u200c\u200d](?=\s)|\A[\u200c\u200d]|[\u200c\u200d]\Z"
)


def visible(text: str) -> str:
    """`text` without characters that a reader cannot see; tabs and line ends stay."""
    return _JOINER_RUN.sub("", _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def escaped(text: str) -> str:
    """Visible text with `&`, `<` and `>` as XML entities: it can close no element around it."""
    return escape(visible(text))


def attribute(text: str) -> str:
    """Visible text, on one line, as a quoted XML attribute value."""
    return quoteattr(" ".join(visible(text).split()))
