"""Passages made up for tests of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from shared.index.rows import IndexPassage
from shared.index.terms import terms

FINGERPRINT = "test/8"
VOCABULARY = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "ab",
    "机器",
    "学习",
    "猫",
    "err-4711",
    "𠀀𠀁",
    "longer-than-two",
)


def unit(values: npt.ArrayLike) -> npt.NDArray[np.float32]:
    vector = np.asarray(values, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def passage(
    name: str,
    document_id: str = "doc",
    revision: int = 1,
    *,
    text: str = "",
    counts: Mapping[str, int] | None = None,
    vector: Sequence[float] = (1.0, 0.0),
    **fields: object,
) -> IndexPassage:
    values: dict[str, object] = {
        "passage_id": name,
        "document_id": document_id,
        "revision": revision,
        "chunk_id": f"chunk-of-{name}",
        "ordinal": 0,
        "start": 0,
        "end": len(text),
        "heading_path": (),
        "pages": None,
        "terms": terms(text) if counts is None else counts,
        "vector": unit(vector),
    }
    return IndexPassage(**(values | fields))  # type: ignore[arg-type]


names = st.text("abcdefXYZ0189_-", min_size=1, max_size=12)
counts = st.dictionaries(st.sampled_from(VOCABULARY), st.integers(1, 80), max_size=8)


@st.composite
def passages(
    draw: st.DrawFn, dimensions: int = 8, size: st.SearchStrategy[int] | None = None
) -> list[IndexPassage]:
    """Passages of one revision."""
    document, revision = draw(names), draw(st.integers(1, 9))
    number = draw(size or st.integers(1, 12))
    made = []
    for place in range(number):
        start = draw(st.integers(0, 40_000))
        made.append(
            IndexPassage(
                passage_id=f"{draw(names)}-{place}",
                document_id=document,
                revision=revision,
                chunk_id=draw(names),
                ordinal=draw(st.integers(0, 300)),
                start=start,
                end=start + draw(st.integers(0, 2_000)),
                heading_path=tuple(draw(st.lists(st.text(max_size=12), max_size=3))),
                pages=draw(st.none() | st.tuples(st.integers(1, 900), st.integers(1, 900))),
                terms=draw(counts),
                vector=unit(
                    draw(st.lists(st.floats(-1, 1, width=16), min_size=dimensions, max_size=dimensions))
                ),
                heading_terms=draw(counts),
                header=draw(st.none() | st.tuples(st.integers(0, 50), st.integers(51, 99))),
                language=draw(st.sampled_from([None, "en", "zh"])),
            )
        )
    return made
