"""What a file may cost."""

from __future__ import annotations

from dataclasses import dataclass

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024  # of UTF-8


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one child process: wall clock and processor time in seconds, address space and output in bytes.

    Ordinary files whose text is near its limit need one to five seconds and 30 to 200 MB. The output is at
    most the text, some times over for JSON's escapes, and its page table.
    """

    seconds: float = 30.0
    memory: int = 600 * 1024 * 1024
    output: int = 8 * 1024 * 1024
