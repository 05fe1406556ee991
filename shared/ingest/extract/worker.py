"""The child process: one file in on standard input, its text or a refusal out on standard output.

It limits itself before it looks at the file, and imports only the library of the file's format.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import sys

from shared.domain.errors import AlmanacError, CorruptFileError, RefusedFileError, UnsafeFileError
from shared.domain.text import Extraction
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read
from shared.ingest.extract.serialize import dump_extraction

_DEPTH = 20_000  # of Python calls: markup nests, and parsers of markup recurse


def main() -> None:
    # It lives for one file within a limit of memory; looking for garbage would take a tenth of its time.
    gc.disable()
    # Some libraries warn on standard output; nothing but the answer may get there.
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)
        request = json.loads(sys.stdin.buffer.readline())
        _limit(request["seconds"], request["memory"], request["output"])
        data = sys.stdin.buffer.read()
        answer.write(_answer(data, Hints(request["name"], request["type"])))


def _limit(seconds: float, memory: int, output: int) -> None:
    sys.setrecursionlimit(_DEPTH)
    # If the parent dies, nobody else ends this process.
    signal.alarm(int(seconds) + 5)
    cpu = int(seconds) + 5
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, output + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        # macOS knows no limit of address space, and a container may have set a lower one.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


def _answer(data: bytes, hints: Hints) -> bytes:
    try:
        return b"ok\n" + dump_extraction(_read(data, hints))
    except AlmanacError as error:
        report = {"code": error.code, "message": error.message, "hint": error.hint}
        return b"refused\n" + json.dumps(report).encode()


def _read(data: bytes, hints: Hints) -> Extraction:
    """This is a boundary: whatever a library raises on a broken file becomes a refusal."""
    try:
        return read(data, hints)
    except RefusedFileError:
        raise
    except (MemoryError, RecursionError) as error:
        raise UnsafeFileError(
            f"The file takes more memory than a file may ({type(error).__name__})"
        ) from None
    except Exception as error:
        raise CorruptFileError(f"The file could not be read ({type(error).__name__})") from error


if __name__ == "__main__":
    main()
