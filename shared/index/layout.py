"""The bytes of a segment.

Little-endian arrays one behind the other, each at a multiple of eight. A loaded segment is views of
its payload: nothing is decoded, and what it weighs in memory is what it weighs in the store.

    vectors        float16 [rows, dimensions]
    long_keys      uint64  [long]      sorted hashes of terms longer than two characters
    columns        uint32  [columns, rows]
    ends           uint32  [strings]   where each string ends in `text`
    lead_starts    uint32  [leads + 1] where a first character's list begins in `seconds`
    leads          uint16  [leads]     the first characters of the other terms, sorted
    seconds        uint16  [short]     their second characters (0: none), sorted in each list
    several        bits    [short + long]   whether more than one passage has the term (short ones first)
    spread         uint8   [those]     how many passages have it, less one
    posting_rows   uint8   [postings]  by term, then by row
    posting_counts uint8   [postings]  6 bits for the text, 2 for the headings
    text           uint8   [...]       UTF-8 of passage ids, then document ids, chunk ids, heading paths
                                       (JSON arrays) and languages, each once
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.domain.errors import AlmanacError

COLUMNS = (
    "revision",
    "ordinal",
    "start",
    "end",
    "header_start",
    "header_end",
    "first_page",
    "last_page",
    "length",
    "document",
    "chunk",
    "heading",
    "language",
)
COLUMN = {name: place for place, name in enumerate(COLUMNS)}
# A posting names its passage in one byte.
MAX_ROWS = 256

_MAGIC = b"ALS2"
_HEADER = struct.Struct("<4s12I12x")
_ALIGN = 8


class CorruptSegmentError(AlmanacError):
    """A stored segment that does not hold what its head says."""

    code = "corrupt_segment"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The head of a payload. `passages` to `languages` count strings; there are as many passages as rows."""

    rows: int
    dimensions: int
    long: int
    short: int
    leads: int
    several: int
    postings: int
    documents: int
    chunks: int
    headings: int
    languages: int
    text: int

    @property
    def strings(self) -> int:
        return self.rows + self.documents + self.chunks + self.headings + self.languages

    def sections(self) -> tuple[tuple[str, Any, int], ...]:
        return (
            ("vectors", np.dtype("<f2"), self.rows * self.dimensions),
            ("long_keys", np.dtype("<u8"), self.long),
            ("columns", np.dtype("<u4"), len(COLUMNS) * self.rows),
            ("ends", np.dtype("<u4"), self.strings),
            ("lead_starts", np.dtype("<u4"), self.leads + 1),
            ("leads", np.dtype("<u2"), self.leads),
            ("seconds", np.dtype("<u2"), self.short),
            ("several", np.dtype("u1"), -(-(self.short + self.long) // 8)),
            ("spread", np.dtype("u1"), self.several),
            ("posting_rows", np.dtype("u1"), self.postings),
            ("posting_counts", np.dtype("u1"), self.postings),
            ("text", np.dtype("u1"), self.text),
        )

    @property
    def text_start(self) -> int:
        """Where the section `text`, which is the last, begins in the payload."""
        return self.payload_bytes - _padded(self.text)

    @property
    def payload_bytes(self) -> int:
        return _HEADER.size + sum(_padded(kind.itemsize * count) for _, kind, count in self.sections())


def write(sizes: Sizes, arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    """The payload. `arrays` holds every section under its name, as long as `sizes` says."""
    payload = bytearray(sizes.payload_bytes)
    _HEADER.pack_into(payload, 0, _MAGIC, *astuple(sizes))
    place = _HEADER.size
    for name, kind, count in sizes.sections():
        view = np.frombuffer(payload, kind, count, place)
        view[:] = arrays[name].reshape(-1)
        place += _padded(kind.itemsize * count)
    return bytes(payload)


def read(payload: bytes) -> tuple[Sizes, dict[str, npt.NDArray[Any]]]:
    """Views of the sections, of one dimension each. Raises `CorruptSegmentError`."""
    if len(payload) < _HEADER.size:
        raise CorruptSegmentError(f"A segment of {len(payload)} bytes has no head.")
    magic, *numbers = _HEADER.unpack_from(payload)
    sizes = Sizes(*numbers)
    if magic != _MAGIC or sizes.payload_bytes != len(payload):
        raise CorruptSegmentError(
            f"A segment of {len(payload)} bytes says {magic!r} and {sizes.payload_bytes} bytes of itself."
        )
    arrays: dict[str, npt.NDArray[Any]] = {}
    place = _HEADER.size
    for name, kind, count in sizes.sections():
        arrays[name] = np.frombuffer(payload, kind, count, place)
        place += _padded(kind.itemsize * count)
    return sizes, arrays


def _padded(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
