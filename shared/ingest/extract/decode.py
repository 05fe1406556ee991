"""Bytes into text: byte order mark, UTF-8, what is declared, UTF-16 without a mark, East Asian code pages by
how common the characters are that they give, other code pages by the words around."""

from __future__ import annotations

import codecs
import re

from shared.domain.errors import UnsupportedTypeError
from shared.ingest.extract.codepages import east_asian, single_byte

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ISO_2022 = ((b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"), (b"\x1b$)C", "iso2022_kr"))
_WIDE_SAMPLE = 4096
_GOOD_TO_BAD = 50  # multi-byte characters for each broken one: UTF-8 with damage, not another encoding
_DECLARED = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w-]+)""", re.IGNORECASE
)
_HEAD = 64 * 1024
_CONTROL = {ord(character): None for character in map(chr, range(32)) if character not in "\n\r\t\f\v\x1b\0"}


def decode(data: bytes, declared: str | None = None) -> str:
    """The text of `data`. `declared` is believed where it fits the bytes and they are not UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    for mark, encoding in _ISO_2022:
        if mark in data and (text := _strict(data, encoding)) is not None:
            return text
    wide = _wide(data)
    if wide:
        return data.decode(wide, "replace")
    for candidate in ("utf-8", declared):
        text = _strict(data, candidate) if candidate else None
        if text is not None:
            return text
    return _damaged_utf8(data) or east_asian(data) or single_byte(data)


def decode_html(data: bytes, served: str | None) -> str:
    """As `decode`; the server's word goes before the page's own, and both only where they fit the bytes."""
    match = _DECLARED.search(data[:_HEAD])
    written = (match[1] or match[2]).decode("ascii", "replace").lower() if match else None
    if served and _strict(data, served) is not None:
        return decode(data, served)
    # A page that says "utf-16" in its own ASCII letters cannot be; browsers read it as UTF-8.
    return decode(data, None if written and written.startswith("utf-16") else written)


def _strict(data: bytes, encoding: str) -> str | None:
    """`None` where the bytes do not fit, or there is no such encoding of text."""
    try:
        # Pages that say Latin-1 or GB2312 mean what browsers take them for.
        return data.decode(_MEANT.get(encoding.lower().replace("_", "-"), encoding))
    except (UnicodeDecodeError, LookupError, ValueError):
        return None


_MEANT = {
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift-jis": "cp932",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks-c-5601-1987": "cp949",
    "tis-620": "cp874",
    "x-mac-roman": "mac_roman",
}


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: most of its high bytes are zero in Latin text."""
    sample = data[:_WIDE_SAMPLE]
    if len(sample) < 4 or 0 not in sample:
        return None
    quarter = [sample[offset::4].count(0) * 4 / len(sample) for offset in range(4)]
    if min(quarter[1:]) > 0.9 > quarter[0]:
        return "utf-32-le"
    if min(quarter[:3]) > 0.9 > quarter[3]:
        return "utf-32-be"
    even, odd = (quarter[0] + quarter[2]) / 2, (quarter[1] + quarter[3]) / 2
    if odd > 0.4 and even < 0.1:
        return "utf-16-le"
    if even > 0.4 and odd < 0.1:
        return "utf-16-be"
    return None


def _damaged_utf8(data: bytes) -> str | None:
    """UTF-8 with a few broken bytes, as truncation and concatenation leave them."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for character in text if character > "\x7f") - bad
    return text if good >= _GOOD_TO_BAD * bad else None


def refuse_binary(text: str) -> None:
    """Raises `UnsupportedTypeError` where decoded text has many control characters."""
    sample = text[:65536]
    control = len(sample) - len(sample.translate(_CONTROL))
    if control * 100 > len(sample) + 100 or sample.count("\0") * 4 > len(sample):
        raise UnsupportedTypeError("The file holds binary data, not text")
