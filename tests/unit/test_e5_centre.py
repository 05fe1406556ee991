"""The numbers taken out of e5's vectors are those of the calibration, and do what they are for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infra import calibrate_e5
from shared.adapters.local.embedder import E5Embedder, _runs_e5

pytestmark = pytest.mark.skipif(not _runs_e5(), reason="this machine cannot run the compiled engine")

SENTENCES: dict[str, list[str]] = json.loads(calibrate_e5.SENTENCES.read_text(encoding="utf-8"))


def test_every_language_says_the_same() -> None:
    assert len(SENTENCES) == 18
    assert {len(texts) for texts in SENTENCES.values()} == {8}


def test_directions_are_orthonormal() -> None:
    with np.load(calibrate_e5.TARGET) as kept:
        directions = kept["languages"].astype(np.float32)
    assert directions.shape == (calibrate_e5.DIRECTIONS, 384)
    np.testing.assert_allclose(directions @ directions.T, np.eye(calibrate_e5.DIRECTIONS), atol=2e-3)


def test_the_kept_means_are_those_of_the_calibration() -> None:
    """Of four languages, which takes a second: their mean is close to that of all eighteen."""
    few = {name: SENTENCES[name] for name in ("en", "zh", "de", "ar")}
    made = calibrate_e5.centre(calibrate_e5.E5(), few)
    with np.load(calibrate_e5.TARGET) as kept:
        for name in ("query", "passage"):
            a, b = made[name].astype(np.float32), kept[name].astype(np.float32)
            assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.97


def test_unrelated_text_is_near_zero_and_related_text_is_not() -> None:
    embedder = E5Embedder()
    passages = [
        "The library lends out up to ten books for four weeks; a loan can be extended twice.",
        "图书馆最多可借十本书，借期四周，可续借两次。",
        "Torque the wheel bolts to 120 newton metres in a cross pattern.",
        "请将车轮螺栓按对角顺序拧紧至一百二十牛米。",
    ]
    rows = embedder.passages(passages).vectors
    for question in ("How many books may I borrow?", "我可以借几本书？"):
        scores = rows @ embedder.query(question).vectors[0]
        assert scores[:2].min() > 0.25
        assert scores[2:].max() < 0.2
