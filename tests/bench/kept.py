"""Vectors kept on disk between runs, by model and text: embedding is most of a run's time.

The folder is the one given, else what ALMANAC_BENCH_CACHE names, else `almanac/bench` in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.adapters.local.embedder import E5Embedder, UseEmbedder, local_embedder

Vectors = npt.NDArray[np.float32]
_BATCH = 16


def cache_folder(given: Path | None = None) -> Path:
    named = given or os.environ.get("ALMANAC_BENCH_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(named) if named else home / "almanac" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class KeptModel:
    """Stands in for the package's model inside a local embedder: asks it only for texts that are new."""

    def __init__(self, model: Any, path: Path) -> None:
        self._model = model
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")

    def query(self, texts: Sequence[str]) -> Vectors:
        return self._kept("query", texts)

    def passage(self, texts: Sequence[str]) -> Vectors:
        return self._kept("passage", texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._kept("encode", texts)

    def token_count(self, text: str) -> int:
        count: int = self._model.token_count(text)
        return count

    def _kept(self, role: str, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha256(f"{role}\0{text}".encode()).digest() for text in texts]
        rows = {key: self._read(key) for key in keys}
        missing = list(
            {key: text for key, text in zip(keys, texts, strict=True) if rows[key] is None}.items()
        )
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            made = np.asarray(getattr(self._model, role)([text for _, text in batch]))
            for (key, _), vector in zip(batch, made.astype(np.float16), strict=True):
                self._database.execute(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, vector.tobytes())
                )
                rows[key] = vector
            self._database.commit()
        return np.array([rows[key] for key in keys], dtype=np.float32)

    def _read(self, key: bytes) -> npt.NDArray[np.float16] | None:
        found = self._database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return np.frombuffer(found[0], dtype=np.float16) if found else None


class KeptEmbedder:
    """The product's local embedder over kept vectors, and the model's vectors as they come, for baselines."""

    def __init__(self, folder: Path) -> None:
        embedder = local_embedder()
        assert isinstance(embedder, E5Embedder | UseEmbedder)
        name = embedder.profile.fingerprint.partition("/")[0]
        self._model = KeptModel(embedder._model, folder / f"{name}.sqlite")
        embedder._model = self._model
        self.product = embedder
        self._is_e5 = isinstance(embedder, E5Embedder)

    @property
    def floor(self) -> float:
        """The cosine of unrelated text as the model comes: multilingual-e5-small keeps all above 0.7."""
        return 0.7 if self._is_e5 else 0.0

    def raw_queries(self, texts: Sequence[str]) -> Vectors:
        return _unit(self._model.query(texts) if self._is_e5 else self._model.encode(texts))

    def raw_passages(self, texts: Sequence[str]) -> Vectors:
        return _unit(self._model.passage(texts) if self._is_e5 else self._model.encode(texts))


def _unit(rows: Vectors) -> Vectors:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
