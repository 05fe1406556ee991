"""Segments: what is packed comes out again, within the store's limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.index.layout import MAX_ROWS, CorruptSegmentError
from shared.index.lexicon import Lexicon
from shared.index.rows import BODY_MAX, HEADING_MAX, IndexPassage, Row, row_of, term_key
from shared.index.segment import MAX_PAYLOAD, Segment, pack, unpack
from tests.unit.index_passages import FINGERPRINT, VOCABULARY, passage, passages


def same(left: Row, right: Row) -> bool:
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in (
            (getattr(left, field.name), getattr(right, field.name)) for field in dataclasses.fields(Row)
        )
    )


def rows_of(segments: tuple[Segment, ...]) -> list[Row]:
    return [loaded.row(row) for loaded in map(unpack, segments) for row in range(loaded.rows)]


@given(passages())
@settings(max_examples=60)
def test_what_is_packed_comes_out_again(given_passages: list[IndexPassage]) -> None:
    segments = pack(given_passages, "kb", FINGERPRINT)
    for passage_, row in zip(given_passages, rows_of(segments), strict=True):
        assert same(row, row_of(passage_))
        where = row.where
        for name in where._fields:
            assert getattr(where, name) == getattr(passage_, name)
        np.testing.assert_allclose(row.vector, passage_.vector, atol=5e-4)


@given(passages(), st.sampled_from(VOCABULARY))
@settings(max_examples=60)
def test_a_term_is_found_where_it_stands(given_passages: list[IndexPassage], term: str) -> None:
    (segment,) = pack(given_passages, "kb", FINGERPRINT)
    loaded = unpack(segment)
    spans = Lexicon([loaded.dictionary]).find(np.array([term_key(term)], dtype=np.uint64))
    found = {
        int(row): (int(count) & BODY_MAX, int(count) >> 6)
        for start, end in zip(spans.starts, spans.ends, strict=True)
        for row, count in zip(loaded.posting_rows[start:end], loaded.posting_counts[start:end], strict=True)
    }
    assert found == {
        row: (min(p.terms.get(term, 0), BODY_MAX), min(p.heading_terms.get(term, 0), HEADING_MAX))
        for row, p in enumerate(given_passages)
        if term in p.terms or term in p.heading_terms
    }


@given(passages())
@settings(max_examples=20)
def test_the_same_passages_make_the_same_segments(given_passages: list[IndexPassage]) -> None:
    first, second = (pack(given_passages, "kb", FINGERPRINT) for _ in range(2))
    assert first == second
    assert {s.id for s in first}.isdisjoint(s.id for s in pack(given_passages, "kb", "other/8"))


def test_a_segment_is_as_full_as_a_record_allows() -> None:
    rng = np.random.default_rng(1)
    many = [
        passage(
            f"p{n:032x}", counts={f"term{t}": 1 for t in rng.integers(0, 50_000, 400)}, vector=[1.0] * 1536
        )
        for n in range(500)
    ]
    segments = pack(many, "kb", FINGERPRINT)
    assert [row.where.passage_id for row in rows_of(segments)] == [p.passage_id for p in many]
    assert all(len(segment.payload) <= MAX_PAYLOAD for segment in segments)
    assert all(len(segment.payload) > 0.99 * MAX_PAYLOAD for segment in segments[:-1])


def test_a_posting_names_its_passage_in_one_byte() -> None:
    segments = pack([passage(f"p{n}", counts={"ab": 1}) for n in range(MAX_ROWS + 1)], "kb", FINGERPRINT)
    assert [segment.rows for segment in segments] == [MAX_ROWS, 1]
    assert len(rows_of(segments)) == MAX_ROWS + 1


def test_passages_without_a_model_have_no_vectors() -> None:
    (segment,) = pack([passage("p", text="words only", vector=())], "kb", "")
    assert unpack(segment).vectors.shape == (1, 0)


def test_nothing_makes_no_segment() -> None:
    assert pack([], "kb", FINGERPRINT) == ()


def test_one_revision_and_one_size_of_vector_at_a_time() -> None:
    with pytest.raises(ValueError, match="one revision"):
        pack([passage("a", revision=1), passage("b", revision=2)], "kb", FINGERPRINT)
    with pytest.raises(ValueError, match="do not fit"):
        pack([passage("a"), passage("b", vector=(1.0, 0.0, 0.0))], "kb", FINGERPRINT)


def test_a_damaged_segment_is_refused() -> None:
    (segment,) = pack([passage("a", text="some words")], "kb", FINGERPRINT)
    for payload in (b"", segment.payload[:-8], b"XXXX" + segment.payload[4:]):
        with pytest.raises(CorruptSegmentError):
            unpack(dataclasses.replace(segment, payload=payload))


def test_short_terms_are_their_own_key_and_never_meet_hashes() -> None:
    keys = [term_key(chr(a) + chr(b)) for a in range(0x4E00, 0x4E20) for b in range(0x4E00, 0x4E20)]
    assert len(set(keys)) == len(keys)
    assert max(keys) < 2**32
    assert term_key("err-4711") >= 2**63
    assert term_key("𠀀𠀁") >= 2**63  # not of the basic plane
