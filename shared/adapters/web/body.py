"""The content of an answer, never more of it than was asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from shared.domain.errors import FetchFailedError, TooLargeError, UnsupportedTypeError

ACCEPT_ENCODING = "gzip, deflate, identity"
_ZLIB_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_GZIP = b"\x1f\x8b"
_STEP = 256 * 1024
_APPLICATIONS = (
    "csv",
    "json",
    "markdown",
    "msword",
    "octet-stream",
    "pdf",
    "rtf",
    "vnd.ms-",
    "vnd.openxmlformats-",
    "x-download",
    "x-pdf",
    "xhtml+xml",
    "xml",
    "zip",
)


def require_document(content_type: str) -> None:
    """Raises `UnsupportedTypeError` for what certainly is no document; what it is, its bytes tell later."""
    kind, _, name = content_type.partition(";")[0].strip().lower().partition("/")
    if not kind or (kind in {"text", "binary"} and name != "javascript"):
        return
    if kind == "application" and name.startswith(_APPLICATIONS):
        return
    raise UnsupportedTypeError(
        f"The address serves {content_type.partition(';')[0].strip()[:80]!r}.",
        hint="Name a page, or a file of a type that can be uploaded.",
    )


def read_body(pieces: Iterable[bytes], *, encoding: str, declared: int | None, limit: int) -> bytes:
    """All pieces, decompressed. Raises `TooLargeError` as soon as there are more than `limit` bytes, on the
    wire or after decompression, and `FetchFailedError` for content that cannot be decompressed."""
    if declared is not None and declared > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    for part in _decoded(_capped(pieces, limit), encoding):
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _capped(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        yield piece


def _decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        yield from pieces
        return
    if name not in _ZLIB_WINDOW:
        raise FetchFailedError(f"The address answered in the encoding {name[:40]!r}, unasked.")
    try:
        yield from _inflated(pieces, name)
    except zlib.error as error:
        raise FetchFailedError("The address answered with content that cannot be decompressed.") from error


def _inflated(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    decoder = None
    for piece in pieces:
        if decoder is None:
            # Some servers leave the envelope of `deflate` away; its first byte tells (RFC 1950).
            bare = name == "deflate" and piece and piece[0] & 0x0F != 8
            decoder = zlib.decompressobj(-zlib.MAX_WBITS if bare else _ZLIB_WINDOW[name])
        data = piece
        while data:
            yield decoder.decompress(data, _STEP)
            data = decoder.unconsumed_tail
            if decoder.eof and decoder.unused_data.startswith(_GZIP):  # one more member of the same file
                data = decoder.unused_data
                decoder = zlib.decompressobj(_ZLIB_WINDOW[name])
    if decoder is not None and not decoder.eof:
        raise FetchFailedError("The address broke off in the middle of its content.")


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"The address serves more than {limit:,} bytes.")
