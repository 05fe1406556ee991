from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from shared.ingest.blocks import Block, BlockKind, blocks, plain_title, starting_in
from tests.markdown_samples import documents

KINDS = """\
---
title: Front
---
# A *title* with [a link](https://example.org) and `code`

A paragraph
of two lines.

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

```py
# no heading
```

    # no heading either

- one
  - two
- three

> quoted

<div>
html
</div>

[ref]: https://example.org

Underlined
==========
"""


def found(text: str) -> list[tuple[BlockKind, str]]:
    return [(block.kind, text[block.start : block.end].strip("\n")) for block in blocks(text)]


def test_tells_the_blocks_apart() -> None:
    kinds = [kind for kind, _ in found(KINDS)]
    assert kinds == [
        BlockKind.FRONT_MATTER,
        BlockKind.HEADING,
        BlockKind.PARAGRAPH,
        BlockKind.TABLE,
        BlockKind.CODE,
        BlockKind.CODE,
        BlockKind.LIST,
        BlockKind.QUOTE,
        BlockKind.HTML,
        BlockKind.HEADING,
    ]


def test_headings_have_level_and_plain_title() -> None:
    first, last = (block for block in blocks(KINDS) if block.kind is BlockKind.HEADING)
    assert (first.level, first.title) == (1, "A title with a link and code")
    assert (last.level, last.title) == (1, "Underlined")


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag",
        "    # indented",
        "```\n# in a fence\n```",
        "~~~~\n```\n# in it\n```\n~~~~",
        "#",
        "> # quoted",
        "- # item",
    ],
)
def test_is_no_heading(text: str) -> None:
    assert all(block.kind is not BlockKind.HEADING for block in blocks(text))


def test_a_long_paragraph_above_a_rule_is_no_heading() -> None:
    text = "word " * 60 + "\n----\n"
    assert [kind for kind, _ in found(text)] == [BlockKind.PARAGRAPH]


def test_a_table_knows_its_header_and_its_rows() -> None:
    text = "before\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\nafter"
    table = next(block for block in blocks(text) if block.kind is BlockKind.TABLE)
    assert text[table.start : table.lead] == "| a | b |\n|---|---|\n"
    assert [text[at : at + 5] for at in table.inner] == ["| 3 |", "| 5 |"]
    assert text[table.end :] == "\nafter"


@pytest.mark.parametrize("ending", ["# heading", "```\ncode\n```", "> quote", "---"])
def test_a_table_ends_where_another_block_begins(ending: str) -> None:
    text = f"| a |\n|---|\n| 1 |\n{ending}\n"
    assert found(text)[0] == (BlockKind.TABLE, "| a |\n|---|\n| 1 |")


@given(documents())
def test_blocks_lie_in_order_and_hold_every_word(text: str) -> None:
    parts = blocks(text)
    assert all(a.end <= b.start for a, b in pairwise(parts))
    between = [
        text[a:b]
        for a, b in zip([0, *(p.end for p in parts)], [*(p.start for p in parts), len(text)], strict=True)
    ]
    # Only links' definitions are in no block.
    assert all(not line.strip() or line.startswith("[") for gap in between for line in gap.splitlines())
    assert all(block.start < at < block.end for block in parts for at in block.inner)


def test_carriage_returns_do_not_shift_offsets() -> None:
    text = "one\r\n\r\n# two\r\n\r\nthree\rfour\n"
    assert [text[b.start : b.end].strip() for b in blocks(text)] == ["one", "# two", "three\rfour"]


def test_finds_those_that_start_in_a_range() -> None:
    parts = tuple(Block(BlockKind.PARAGRAPH, at, at + 5) for at in (0, 10, 20, 30))
    assert [block.start for block in starting_in(parts, 10, 30)] == [10, 20]


def test_a_title_without_markup_is_itself() -> None:
    assert plain_title("24/7  support") == "24/7 support"
    assert plain_title("**Bold** & `a_b`") == "Bold & a_b"
