"""Office files are ZIP containers; what a container claims is checked before any reader opens it."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from shared.domain.errors import CorruptFileError, EncryptedFileError, UnsafeFileError

MAX_ENTRIES = 5_000
MAX_EXPANDED = 100 * 1024 * 1024
MAX_RATIO = 200  # of one part that expands to more than a megabyte
_SMALL = 1024 * 1024
_BLOCK = 64 * 1024
_HEAD = 4096
_UNREADABLE = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError)


def open_container(data: bytes) -> zipfile.ZipFile:
    """The container, checked. Raises `CorruptFileError`, `UnsafeFileError` or `EncryptedFileError`."""
    try:
        container = zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE as error:
        raise CorruptFileError(f"The container cannot be opened: {error}") from None
    entries = container.infolist()
    if len(entries) > MAX_ENTRIES:
        raise UnsafeFileError(f"The container has {len(entries):,} parts; the limit is {MAX_ENTRIES:,}")
    if sum(entry.file_size for entry in entries) > MAX_EXPANDED:
        raise UnsafeFileError(f"The container expands to more than {MAX_EXPANDED:,} bytes")
    for entry in entries:
        _check(entry)
        if entry.filename.endswith((".xml", ".rels")):
            _check_markup(container, entry)
    return container


def _check_markup(container: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Office files declare no document type; one that does wants entities expanded or files read."""
    try:
        with container.open(entry) as part:
            head = part.read(_HEAD)
    except _UNREADABLE as error:
        raise CorruptFileError(f"The part {entry.filename!r} cannot be read: {error}") from None
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UnsafeFileError(f"The part {entry.filename!r} declares a document type")


def _check(entry: zipfile.ZipInfo) -> None:
    if entry.flag_bits & 0x1:
        raise EncryptedFileError(f"The part {entry.filename!r} is encrypted")
    if entry.filename.startswith(("/", "\\")) or ".." in entry.filename.replace("\\", "/").split("/"):
        raise UnsafeFileError(f"The part {entry.filename!r} points outside the container")
    if entry.file_size > _SMALL and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
        raise UnsafeFileError(f"The part {entry.filename!r} expands {MAX_RATIO} times and more")


def read_part(container: zipfile.ZipFile, name: str) -> bytes:
    """A part's bytes, never more than its entry claims. Raises `KeyError` when it does not exist."""
    entry = container.getinfo(name)
    try:
        with container.open(entry) as part:
            return b"".join(_blocks(part, entry))
    except _UNREADABLE as error:
        raise CorruptFileError(f"The part {name!r} cannot be read: {error}") from None


def _blocks(part: IO[bytes], entry: zipfile.ZipInfo) -> Iterator[bytes]:
    total = 0
    while block := part.read(_BLOCK):
        total += len(block)
        if total > entry.file_size:
            raise UnsafeFileError(f"The part {entry.filename!r} is larger than it claims")
        yield block
