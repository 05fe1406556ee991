"""Cosine of a question's vector with those of segments.

Vectors have length 1, so the cosine is the dot product. They stay in float16, as stored: a float32 copy would
double the memory, and numpy takes 15 times as long to convert as to multiply. SimSIMD multiplies float16
directly, as fast as BLAS does float32. Its result is approximate (the question is rounded too, and some CPUs
add up in float16), so it only chooses; the chosen are scored again in float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt


@cache
def _simsimd() -> Any:
    import simsimd  # noqa: PLC0415  # only what searches pays for it

    for capability in ("sapphire", "sve_f16"):  # these add up in float16: errors of a hundredth
        simsimd.disable_capability(capability)
    return simsimd


def approximate(vectors: npt.NDArray[np.float16], query: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """Dot products, [n, d] with [d], to about 3e-5."""
    if len(vectors) == 1:
        return np.array([_simsimd().dot(query, vectors[0])], dtype=np.float32)
    return np.asarray(_simsimd().dot(query, vectors), dtype=np.float32)


def exact(vectors: npt.NDArray[np.float16], query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The same to the last digit of float32, for few vectors."""
    products: npt.NDArray[np.float32] = vectors.astype(np.float32) @ query
    return products
