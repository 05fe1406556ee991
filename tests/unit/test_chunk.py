from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings

from shared.domain.knowledge import Coverage
from shared.domain.text import Chunk, Extraction, PageSpan
from shared.ingest.blocks import BlockKind, blocks
from shared.ingest.chunk import MAXIMUM, MINIMUM, TARGET, chunk
from tests.markdown_samples import document, documents, fence, paragraph, table


def extraction(text: str, pages: tuple[PageSpan, ...] = ()) -> Extraction:
    return Extraction(text, Coverage("section", 1, 1), pages=pages)


def chunks(text: str) -> tuple[Chunk, ...]:
    return chunk("doc", extraction(text))


def body(size: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    text = ""
    while len(text) < size:
        text += paragraph(rng) + "\n\n"
    return text[:size].rstrip() + "\n\n"


@settings(max_examples=60, deadline=None)
@given(documents(blocks=120))
def test_nothing_is_lost_and_offsets_are_exact(text: str) -> None:
    made = chunks(text)
    assert all(c.text == c.header + text[c.start : c.end] for c in made)
    gaps = [
        text[a:b]
        for a, b in zip([0, *(c.end for c in made)], [*(c.start for c in made), len(text)], strict=True)
    ]
    assert not "".join(gaps).strip()
    assert [c.ordinal for c in made] == list(range(len(made)))


@settings(max_examples=60, deadline=None)
@given(documents(blocks=120))
def test_sizes_hold_and_small_tables_and_fences_stay_whole(text: str) -> None:
    made = chunks(text)
    assert all(len(c.text) <= MAXIMUM for c in made)
    assert all(len(c.text) >= MINIMUM - 2 for c in made[:-1])
    for block in blocks(text):
        if block.kind in {BlockKind.TABLE, BlockKind.CODE} and block.end - block.start <= TARGET:
            assert any(text[block.start : block.end].strip() in c.text for c in made)


@settings(max_examples=30, deadline=None)
@given(documents())
def test_the_same_text_gives_the_same_unique_ids(text: str) -> None:
    made = chunks(text)
    assert made == chunks(text)
    assert len({c.id for c in made}) == len(made)
    assert {c.id for c in made}.isdisjoint(c.id for c in chunk("other", extraction(text)))


def test_splits_at_first_and_second_level_only() -> None:
    text = f"# One\n\n{body(5000)}## Two\n\n{body(5000)}### Three\n\n{body(5000)}# Four\n\n{body(5000)}"
    made = chunks(text)
    assert [c.title for c in made] == ["One", "Two", "Four"]
    assert [c.heading_path for c in made] == [("One",), ("One", "Two"), ("Four",)]


def test_small_sections_join_until_they_have_the_minimum() -> None:
    text = "".join(f"## Release {n}\n\n{body(180, n)}" for n in range(80))
    made = chunks(text)
    assert all(MINIMUM <= len(c.text) <= 2 * MINIMUM for c in made[:-1])
    assert all(c.title != "Release 0" and "Release" in c.title for c in made)


def test_a_heading_without_a_body_goes_with_what_follows() -> None:
    text = f"## Empty\n\n## Full\n\n{body(6000)}## Last\n\n{body(4500)}## Empty too\n"
    made = chunks(text)
    assert made[0].text.startswith("## Empty\n\n## Full")
    assert made[-1].text.endswith("## Empty too")
    assert len(made) == 2


def test_a_merged_chunk_names_only_what_its_sections_share() -> None:
    made = chunks(f"# Book\n\n## A\n\n{body(500)}## B\n\n{body(500)}")
    assert made[0].heading_path == ("Book",)
    assert made[0].title == "Book"
    made = chunks(f"# Book\n\n{body(5000)}## A\n\n{body(500)}## B\n\n{body(500)}# Other\n\n{body(500)}")
    assert made[-1].heading_path == ()
    assert made[-1].outer == ((1, "Book"),)


def test_a_long_section_splits_at_deeper_headings_then_between_paragraphs() -> None:
    deeper = "".join(f"### Part {n}\n\n{body(15_000, n)}" for n in range(4))
    made = chunks(f"## Long\n\n{deeper}")
    assert [c.title for c in made] == ["Long", "Part 1", "Part 2", "Part 3"]
    plain = chunks(body(100_000))
    assert len(plain) == 3
    assert all(TARGET - 8_000 <= len(c.text) <= MAXIMUM for c in plain[:-1])
    assert all(c.text.endswith(".") for c in plain[:-1])


def test_a_huge_table_is_cut_between_rows_with_its_header_repeated() -> None:
    rows = table(random.Random(1), 3_000)
    header = "".join(line + "\n" for line in rows.split("\n")[:2])
    made = chunks(f"Before.\n\n{rows}\n\nAfter.")
    assert len(made) > 2
    assert made[0].text.startswith("Before.")
    assert all(c.text.startswith(header) and c.header == header for c in made[1:])
    lines = [line for c in made for line in c.text.split("\n") if line.startswith("|")]
    assert all(line.count("|") == 4 for line in lines)
    assert sum(line.startswith("| P-") for line in lines) == 3_000


def test_a_huge_fence_is_cut_between_lines_and_stays_code() -> None:
    made = chunks(fence(random.Random(1), 3_000))
    assert len(made) > 1
    assert all(c.text.startswith("```python\n") for c in made)
    assert all(b.kind is BlockKind.CODE for c in made for b in blocks(c.text))


def test_a_header_that_would_fill_the_part_is_not_repeated() -> None:
    wide = "|" + " name |" * 3_500
    rule = "|" + "---|" * 3_500
    row = "|" + " 1 |" * 3_500
    made = chunks("\n".join([wide, rule, *[row] * 12]))
    assert all(len(c.text) <= MAXIMUM for c in made)
    assert all(c.header == "" for c in made)


@pytest.mark.parametrize("unit", ["x", "字", "😀", "ภาษาไทย", "e\u0301"])
def test_unbroken_text_is_cut_between_characters(unit: str) -> None:
    text = unit * (120_000 // len(unit))
    made = chunks(text)
    assert "".join(c.text for c in made) == text
    assert all(len(c.text) <= MAXIMUM for c in made)
    assert all(not c.text.startswith("\u0301") for c in made)


def test_emoji_sequences_are_not_torn() -> None:
    family = "👩‍👩‍👧"
    made = chunks(family * 20_000)
    assert all(len(c.text) % len(family) == 0 for c in made)


def test_pages_of_a_chunk() -> None:
    text = f"# A\n\n{body(5000)}# B\n\n{body(5000)}"
    cut = text.index("# B")
    pages = (PageSpan(1, 0, 3000), PageSpan(2, 3000, cut + 100), PageSpan(4, cut + 100, len(text)))
    made = chunk("doc", extraction(text, pages))
    assert [c.pages for c in made] == [(1, 2), (2, 4)]


@pytest.mark.parametrize("headings", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_edit_touches_only_its_neighbours(seed: int, *, headings: bool) -> None:
    rng = random.Random(seed)
    parts = document(rng, "latin", 1_500, headings=headings).split("\n\n")
    before = {c.id for c in chunks("\n\n".join(parts))}
    place = rng.randrange(len(parts))
    for edited in (
        [*parts[:place], paragraph(rng), *parts[place + 1 :]],
        [*parts[:place], paragraph(rng), *parts[place:]],
    ):
        after = chunks("\n\n".join(edited))
        changed = sum(c.id not in before for c in after)
        assert changed <= 3, changed
        assert len(after) > 6


def test_text_of_only_blanks_has_no_chunks() -> None:
    assert chunks("\n \n") == ()
    assert chunks("") == ()


def test_repeated_sections_have_ids_of_their_own() -> None:
    section = f"## Same\n\n{body(5000)}"
    made = chunks(section * 3)
    assert len({c.text for c in made}) == 1
    assert len({c.id for c in made}) == 3
    assert all(a.end <= b.start for a, b in pairwise(made))
