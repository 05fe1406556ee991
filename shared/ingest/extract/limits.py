"""What a file may cost."""

from __future__ import annotations

from dataclasses import dataclass

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024  # of UTF-8


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one child process: wall clock and processor time in seconds, address space and output in bytes.

    The slowest ordinary files of 10 MB need about 5 s and 400 MB. The output is at most the text, four times
    over for JSON's escapes, and its page table.
    """

    seconds: float = 30.0
    memory: int = 800 * 1024 * 1024
    output: int = 8 * 1024 * 1024
