from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.adapters.tokens import count_tokens
from shared.domain.knowledge import Coverage
from shared.domain.text import Chunk, Extraction, PageSpan, Passage
from shared.ingest.chunk import chunk
from shared.ingest.passages import OVERLAP, embedding_text, passages
from tests.markdown_samples import document, documents, paragraph, table


def windows(
    text: str, *, max_tokens: int = 8_192, pages: tuple[PageSpan, ...] = (), document_id: str = "doc"
) -> tuple[tuple[Chunk, ...], tuple[Passage, ...]]:
    made = chunk(document_id, Extraction(text, Coverage("section", 1, 1), pages=pages))
    return made, passages(document_id, made, pages=pages, count_tokens=count_tokens, max_tokens=max_tokens)


def by_chunk(chunks: tuple[Chunk, ...], found: tuple[Passage, ...]) -> list[tuple[Chunk, list[Passage]]]:
    return [(c, [p for p in found if p.chunk_id == c.id]) for c in chunks]


@settings(max_examples=50, deadline=None)
@given(documents(blocks=80))
def test_offsets_are_exact_and_nothing_is_lost(text: str) -> None:
    chunks, found = windows(text)
    for section, inside in by_chunk(chunks, found):
        covered = 0
        for passage in inside:
            header = section.text[slice(*passage.header)] if passage.header else ""
            assert passage.text == header + section.text[passage.start : passage.end]
            assert not section.text[covered : passage.start].strip()
            covered = max(covered, passage.end)
        assert not section.text[covered:].strip()
        assert all(a.start < b.start and a.end < b.end for a, b in pairwise(inside))


@settings(max_examples=50, deadline=None)
@given(documents(blocks=80))
def test_neighbours_overlap_by_at_most_what_is_configured(text: str) -> None:
    chunks, found = windows(text)
    for _, inside in by_chunk(chunks, found):
        assert all(a.end - b.start <= OVERLAP for a, b in pairwise(inside))


@settings(max_examples=25, deadline=None)
@given(documents(blocks=40), st.sampled_from([256, 512, 8_192]))
def test_no_passage_has_more_tokens_than_the_model_takes(text: str, limit: int) -> None:
    _, found = windows(text, max_tokens=limit)
    assert all(count_tokens(embedding_text(p.heading_path, p.text)) <= limit for p in found)


@settings(max_examples=30, deadline=None)
@given(documents())
def test_the_same_text_gives_the_same_unique_ids(text: str) -> None:
    _, found = windows(text)
    assert found == windows(text)[1]
    assert len({p.id for p in found}) == len(found)


@pytest.mark.parametrize("unit", ["x", "字", "😀", "שלום ", "ไทย", "e\u0301"])
def test_unbroken_text_is_bounded_in_tokens(unit: str) -> None:
    _, found = windows(unit * (20_000 // len(unit)), max_tokens=512)
    assert all(count_tokens(p.text) <= 512 for p in found)
    assert len(found) > 5


def test_running_text_makes_windows_of_about_a_thousand_characters_with_overlap() -> None:
    rng = random.Random(5)
    text = "\n\n".join(paragraph(rng) for _ in range(200))
    _, found = windows(text)
    sizes = [len(p.text) for p in found]
    assert 850 <= sum(sizes) / len(sizes) <= 1_250
    assert max(sizes) <= 1_400 + OVERLAP
    assert all(a.end - b.start > 0 for a, b in pairwise(found) if a.chunk_id == b.chunk_id)


def test_windows_begin_and_end_with_paragraphs_or_sentences() -> None:
    rng = random.Random(5)
    _, found = windows("\n\n".join(paragraph(rng) for _ in range(100)))
    assert all(p.text[-1] in ".!?" for p in found)


@pytest.mark.parametrize("script", ["latin", "chinese", "japanese"])
def test_a_sentence_on_a_boundary_is_whole_in_one_passage(script: str) -> None:
    rng = random.Random(9)
    text = paragraph(rng, script, sentences=400) + paragraph(rng, script, sentences=400)
    stop = "." if script == "latin" else "。"
    _, found = windows(text, max_tokens=512)
    for sentence in filter(None, (part.strip() for part in text.split(stop))):
        assert any(sentence + stop in p.text for p in found)


def test_sections_with_words_of_their_own_are_not_mixed() -> None:
    text = "".join(f"## Question {n}\n\n{'The answer is that it depends. ' * 12}\n\n" for n in range(20))
    _, found = windows(text)
    assert [p.heading_path for p in found] == [(f"Question {n}",) for n in range(20)]


def test_a_window_over_tiny_sections_is_named_after_what_they_share() -> None:
    text = "# Log\n\n" + "".join(f"## v{n}\n\nFixed {n}.\n\n" for n in range(60))
    _, found = windows(text)
    assert {p.heading_path for p in found} == {("Log",)}


def test_the_heading_path_reaches_below_the_chunk() -> None:
    rng = random.Random(2)
    deep = "".join(f"### Part {n}\n\n{paragraph(rng, sentences=12)}\n\n" for n in range(6))
    _, found = windows(f"# Book\n\n## Chapter\n\n{deep}")
    assert ("Book", "Chapter", "Part 4") in {p.heading_path for p in found}
    assert all(p.heading_path[:1] == ("Book",) for p in found)


def test_rows_are_never_cut_and_carry_their_header() -> None:
    text = f"# Stock\n\n{table(random.Random(1), 60)}\n\n# Big\n\n{table(random.Random(2), 2_000)}\n"
    _, found = windows(text)
    rows = Counter(line for p in found for line in p.text.split("\n") if line.startswith("|"))
    assert all(line.count("|") == 4 and line.endswith("|") for line in rows)
    assert sum(line.startswith("| P-") for line in rows) == 2_060
    assert all("Column 0" in p.text for p in found if "| P-" in p.text)


def test_long_rows_stay_whole_where_the_model_takes_them() -> None:
    rows = [f"| {n} | {'word ' * 400}|" for n in range(10)]
    text = "\n".join(["| a | b |", "|---|---|", *rows])
    _, found = windows(text)
    assert all(any(row in p.text for p in found) for row in rows)
    _, found = windows(text, max_tokens=300)
    assert all(count_tokens(p.text) <= 300 for p in found)


def test_pages_of_a_passage_in_a_chunk_with_a_repeated_header() -> None:
    text = table(random.Random(3), 3_000)
    third = len(text) // 3
    pages = tuple(PageSpan(n + 1, n * third, min((n + 1) * third, len(text))) for n in range(4))
    chunks, found = windows(text, pages=pages)
    at = {c.id: c for c in chunks}
    for passage in found:
        section = at[passage.chunk_id]
        start = max(section.start + passage.start - len(section.header), section.start)
        expected = [p.number for p in pages if p.start <= start < p.end]
        assert passage.pages is not None
        assert passage.pages[0] == expected[0]


def test_code_is_cut_between_lines() -> None:
    lines = [f"    total_{n} = compute({n}) + offset" for n in range(400)]
    _, found = windows("```\n" + "\n".join(lines) + "\n```")
    assert all(any(line in p.text for p in found) for line in lines)
    assert all(p.text.rstrip().endswith(("offset", "```")) for p in found)


def test_repeated_text_has_ids_of_its_own_across_chunks() -> None:
    rng = random.Random(4)
    same = "\n\n".join(paragraph(rng) for _ in range(30))
    chunks, found = windows(f"# A\n\n{same}\n\n# B\n\n{same}")
    assert len(chunks) == 2
    assert len({p.id for p in found}) == len(found)
    assert len({p.text for p in found}) < len(found)


@pytest.mark.parametrize("script", ["latin", "chinese"])
@pytest.mark.parametrize("headings", [False, True])
def test_an_edit_embeds_only_a_few_passages_again(script: str, *, headings: bool) -> None:
    rng = random.Random(11)
    parts = document(rng, script, 300, headings=headings).split("\n\n")
    before = {p.id for p in windows("\n\n".join(parts))[1]}
    changes = []
    for step in range(10):
        place = rng.randrange(len(parts))
        new = paragraph(rng, script)
        rest = parts[place + 1 :] if step % 2 else parts[place:]
        _, after = windows("\n\n".join([*parts[:place], new, *rest]))
        changes.append(sum(p.id not in before for p in after))
    assert max(changes) <= 8
    assert sum(changes) / len(changes) <= 3.5


def test_ids_do_not_depend_on_the_chunk() -> None:
    rng = random.Random(6)
    text = "\n\n".join(paragraph(rng) for _ in range(40))
    _, alone = windows(text)
    _, moved = windows("# Before\n\n" + paragraph(rng, sentences=90) + "\n\n# Text\n\n" + text)
    ids = {p.id for p in moved}
    assert sum(p.id in ids for p in alone) >= len(alone) - 2


def test_what_is_embedded_names_its_headings_once() -> None:
    assert embedding_text(("Book", "Returns", "Within 30 days"), "You may return it.") == (
        "Returns\nWithin 30 days\nYou may return it."
    )
    assert embedding_text(("Returns",), "## Returns\n\nYou may.") == "## Returns\n\nYou may."
