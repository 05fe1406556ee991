"""Runs a reader in a process of its own, so that a file can break that process and nothing else.

A new interpreter and not a fork: the functions serve requests on threads, and a fork copies their locks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from shared.domain.errors import (
    CorruptFileError,
    ExtractionTimeoutError,
    RefusedFileError,
    TransientError,
    UnsafeFileError,
)
from shared.domain.text import Extraction
from shared.ingest.extract.limits import Limits
from shared.ingest.extract.serialize import load_extraction

_WORKER = "shared.ingest.extract.worker"
_ROOT = Path(__file__).resolve().parents[3]
# Where an interpreter that is installed in an unusual place finds itself and its libraries.
_LOADER = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
# The system ends a process for its own reasons with these; another try can help.
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def run(data: bytes, *, name_hint: str, type_hint: str, limits: Limits) -> Extraction:
    """The extraction of `data`, made in a child process. Raises the `RefusedFileError` that the child
    reports or that its death means, and `TransientError` when the system ended or could not start it."""
    request = {"name": name_hint, "type": type_hint, "seconds": limits.seconds, "memory": limits.memory}
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write(json.dumps(request | {"output": limits.output}).encode() + b"\n")
        source.write(data)
        source.seek(0)
        code = _run(source, target, limits)
        target.seek(0)
        answer = target.read(limits.output + 1)
    if code:
        raise _death(code)
    if len(answer) > limits.output:
        raise UnsafeFileError(f"The file's text takes more than {limits.output:,} bytes to write down")
    head, _, body = answer.partition(b"\n")
    if head == b"ok":
        return load_extraction(body)
    raise _refusal(json.loads(body))


def _run(source: IO[bytes], target: IO[bytes], limits: Limits) -> int:
    # No site: the path is the parent's, and its start-up files would run for every document.
    command = [sys.executable, "-S", "-P", "-X", "utf8", "-m", _WORKER]
    try:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no part from outside
            command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, env=_environment()
        )
    except OSError as error:
        raise TransientError(f"The reader's process could not be started: {error}") from error
    try:
        return child.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        raise ExtractionTimeoutError(f"The file was not read within {limits.seconds:g} seconds") from None
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _environment() -> dict[str, str]:
    """Only what the interpreter needs: a reader that was taken over finds no keys there."""
    path = os.pathsep.join(dict.fromkeys([str(_ROOT), *(entry for entry in sys.path if entry)]))
    kept = {name: os.environ[name] for name in _LOADER if name in os.environ}
    return kept | {"PYTHONPATH": path, "PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def _death(code: int) -> RefusedFileError | TransientError:
    if code < 0:
        number = -code
        if number in {signal.SIGXCPU, signal.SIGALRM}:
            return ExtractionTimeoutError("The file took more time than a file may")
        if number == signal.SIGXFSZ:
            return UnsafeFileError("The file's text takes more room than a file may")
        if number == signal.SIGABRT:
            # How pdfium ends when it gets no more memory.
            return UnsafeFileError("The file takes more memory than a file may")
        if number in _FROM_OUTSIDE:
            return TransientError(f"The reader's process was ended by signal {number}")
        return CorruptFileError(f"The reader broke on this file (signal {number})")
    return CorruptFileError(f"The reader broke on this file (exit code {code})")


def _refusal(report: dict[str, Any]) -> RefusedFileError:
    kinds = {kind.code: kind for kind in RefusedFileError.__subclasses__()}
    return kinds[report["code"]](report["message"], hint=report["hint"])
