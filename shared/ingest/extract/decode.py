"""Bytes into text: byte order mark, UTF-8, UTF-16 without a mark, then what the bytes most look like."""

from __future__ import annotations

import codecs
import re

from shared.domain.errors import UnsupportedTypeError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes, declared: str | None = None) -> str:
    """The text of `data`. `declared` is tried after the marks and before any guess."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    for candidate in ("utf-8", declared):
        text = _strict(data, candidate) if candidate else None
        if text is not None and text.count("\0") * 10 <= len(text):
            return text
    wide = _wide(data)
    if wide:
        return data.decode(wide, "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return str(best) if best is not None else data.decode("cp1252", "replace")


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: most of its high or low bytes are zero in Latin text."""
    sample = data[:4096]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = max(len(sample) // 2, 1)
    if odd / half > 0.4 and even / half < 0.1:
        return "utf-16-le"
    if even / half > 0.4 and odd / half < 0.1:
        return "utf-16-be"
    return None


def refuse_binary(text: str) -> None:
    """Raises `UnsupportedTypeError` where decoded text is mostly control characters."""
    sample = text[:65536]
    control = sum(1 for character in sample if character < " " and character not in "\n\r\t\f\x1b\v")
    if control * 100 > len(sample) + 100:
        raise UnsupportedTypeError("The file holds binary data, not text")


_DECLARED = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w-]+)""", re.IGNORECASE
)
_HEAD = 64 * 1024


def decode_html(data: bytes, served: str | None) -> str:
    """As `decode`; the server's word goes before the page's own, and both only where they fit the bytes."""
    match = _DECLARED.search(data[:_HEAD])
    written = (match[1] or match[2]).decode("ascii", "replace").lower() if match else None
    if served and _strict(data, served) is not None:
        return decode(data, served)
    # A page that says "utf-16" in its own ASCII letters cannot be; browsers read it as UTF-8.
    return decode(data, None if written and written.startswith("utf-16") else written)
