"""The embedding models of the process: what they promise, and the traps around them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from shared.adapters.local import embedder as module
from shared.adapters.local.embedder import E5Embedder, UseEmbedder, local_embedder
from shared.domain.errors import InvalidRequestError
from shared.ports import Embedder

AVX2 = frozenset({"avx2", "fma"})


@pytest.fixture(scope="module", params=[E5Embedder, UseEmbedder])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param is E5Embedder and not module._runs_e5():
        pytest.skip("this machine cannot run the compiled engine")
    made: Embedder = request.param()
    return made


def test_rows_are_unit_vectors_of_the_profile(embedder: Embedder) -> None:
    rows = embedder.passages(["Annual leave is 20 days.", "年假为二十天。", "x"]).vectors
    assert rows.shape == (3, embedder.profile.dimensions)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert embedder.passages([]).vectors.shape == (0, embedder.profile.dimensions)


def test_a_question_is_nearest_to_its_answer_also_across_languages(embedder: Embedder) -> None:
    rows = embedder.passages(
        ["Employees get 20 days of paid vacation a year.", "The server listens on port 8080."]
    ).vectors
    for question in ("How many days off do I have?", "员工每年有多少天带薪休假？"):
        scores = rows @ embedder.query(question).vectors[0]
        assert scores[0] > scores[1]


def test_text_behind_a_nul_counts(embedder: Embedder) -> None:
    rows = embedder.passages(["hello world", "hello world\0 and the price of copper in Chile"]).vectors
    assert rows[0] @ rows[1] < 0.99


def test_a_lone_surrogate_is_no_error(embedder: Embedder) -> None:
    assert embedder.query("broken \ud83d pair").vectors.shape == (1, embedder.profile.dimensions)
    assert embedder.passages(["broken \udc00"]).use.input > 0


def test_blank_text_is_refused(embedder: Embedder) -> None:
    with pytest.raises(InvalidRequestError):
        embedder.query(" \0\n")
    with pytest.raises(ValueError, match="passage 1 of 2 is blank"):
        embedder.passages(["a", " "])


def test_threads_get_what_one_thread_gets(embedder: Embedder) -> None:
    texts = [f"paragraph {number} about leave and travel" for number in range(12)]
    alone = [embedder.query(text).vectors[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: embedder.query(text).vectors[0], texts))
    np.testing.assert_allclose(np.stack(together), np.stack(alone), atol=1e-5)


@pytest.mark.parametrize(
    ("system", "machine", "flags", "runs"),
    [
        ("Linux", "x86_64", AVX2, True),
        ("Linux", "x86_64", frozenset({"sse4_2"}), False),
        ("Linux", "x86_64", frozenset(), False),
        ("Linux", "aarch64", frozenset(), True),
        ("Linux", "riscv64", AVX2, False),
        ("Darwin", "arm64", frozenset(), True),
        ("Darwin", "x86_64", AVX2, False),
        ("Windows", "AMD64", AVX2, False),
    ],
)
def test_the_engine_is_only_loaded_where_it_runs(
    system: str, machine: str, flags: frozenset[str], runs: bool
) -> None:
    assert module._runs_e5(system, machine, lambda: flags) is runs


@pytest.mark.parametrize("error", [ImportError("absent"), OSError("no libgomp"), RuntimeError("bad model")])
def test_an_engine_that_does_not_load_falls_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(module, "_runs_e5", lambda: True)
    monkeypatch.setattr(module, "E5Embedder", refuse)
    assert isinstance(local_embedder(), UseEmbedder)
    assert "falling back" in caplog.text
