"""Damaged files of every format: only errors of ours come out, in time, and nothing is left behind.

`python -m tests.fuzz.extract --runs 1000 [--seed 1]` looks longer than the test does; it prints one JSON
object with what became of the files.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shared.domain.errors import RefusedFileError, TransientError
from shared.ingest.extract import extract
from shared.ingest.extract.limits import Limits
from tests.fuzz.seeds import seeds

LIMITS = Limits(seconds=20.0)
_TOKENS = [
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"<", b">", b"&", b"]]>", b"<!DOCTYPE x [", b"&#x0;", b"&#1;",
    b"<table>" * 40, b"<w:p>" * 50, b"stream\n", b"endobj\n", b" 0 R", b"<<" * 30, b"/Length 99999999",
    b"%PDF-1.7\n", b"PK\x03\x04", b"9" * 400, b"-1", b"\r\n", b"|" * 500, b"#" * 500, b"`" * 500, b'"' * 99,
    b",;\t" * 99, "\u202e".encode(),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seed:
    """A whole file to damage."""

    name: str
    data: bytes


def damaged(seed: Seed, rng: random.Random) -> bytes:
    """The file with one to eight injuries; those of a container are often inside its parts."""
    if zipfile.is_zipfile(io.BytesIO(seed.data)) and rng.random() < 0.7:
        return _container(seed.data, rng)
    return _injured(seed.data, rng)


def _injured(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 8)):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + rng.choice([1, 8, 200, 5_000]))
        match rng.randrange(7):
            case 0:
                data = data[:at] + bytes(rng.randrange(256) for _ in range(end - at)) + data[end:]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:end] + data[at:end] * rng.choice([1, 3, 50]) + data[end:]
            case 3:
                data = data[:at] + rng.choice(_TOKENS) + data[at:]
            case 4:
                data = data[:at] + bytes(end - at) + data[end:]
            case 5:
                data = data[: max(at, 1)] if rng.random() < 0.3 else data
            case _:
                flipped = bytearray(data)
                for _ in range(20):
                    if flipped:
                        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
                data = bytes(flipped)
        data = data[:2_000_000] or b"x"
    return data


def _container(data: bytes, rng: random.Random) -> bytes:
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy,
    ):
        names = source.namelist()
        hurt = set(rng.sample(names, k=min(len(names), rng.randint(1, 3))))
        for name in names:
            part = source.read(name)
            copy.writestr(name, _injured(part, rng) if name in hurt and part else part)
    return target.getvalue()


def outcome(seed: Seed, data: bytes) -> str:
    """`text`, or the code of the refusal. Whatever else is raised is a failure of the reader."""
    try:
        found = extract(data, name_hint=seed.name, limits=LIMITS)
    except RefusedFileError as refused:
        return refused.code
    except TransientError as error:
        return f"transient: {error.message}"
    found.markdown.encode("utf-8")
    return "text"


def trials(runs: int, seed: int, extra: Path | None = None) -> Iterator[tuple[Seed, bytes]]:
    """Damaged files, the same for the same `seed`; `extra` is a folder of more whole files."""
    rng = random.Random(seed)
    whole = [Seed(name, data) for name, data in seeds()]
    if extra is not None and extra.exists():
        whole += [Seed(path.name, path.read_bytes()) for path in sorted(extra.rglob("*")) if path.is_file()]
    whole = [one for one in whole if one.data]
    for number in range(runs):
        chosen = whole[number % len(whole)]
        yield chosen, damaged(chosen, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=Path, help="a folder with more whole files")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    slowest = 0.0

    def one(trial: tuple[Seed, bytes]) -> tuple[str, float]:
        started = time.monotonic()
        return outcome(*trial), time.monotonic() - started

    with ThreadPoolExecutor(2) as pool:
        for result, seconds in pool.map(one, trials(options.runs, options.seed, options.files)):
            counts[result] += 1
            slowest = max(slowest, seconds)
    report = {"runs": options.runs, "slowest_seconds": round(slowest, 2), "outcomes": dict(counts)}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
