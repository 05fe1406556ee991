"""Markdown as a row of blocks with exact character offsets, by markdown-it-py's block parser.

Only structure is read here, never inline markup (but for the titles of headings). Offsets count characters
of the text as given.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

# An underlined paragraph longer than this is text above a rule ("-----"), not a heading.
_LONGEST_TITLE = 200


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    TABLE = "table"
    CODE = "code"
    LIST = "list"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"
    FRONT_MATTER = "front_matter"


@dataclass(frozen=True, slots=True)
class Block:
    """A block at `text[start:end]`, its lines whole; what stands between two blocks is blank or a link's
    definition.

    `lead` is the end of the lines that every part of a cut block needs in front: a table's header and rule,
    a fence's opening line. `inner` are the starts of rows, lines or blocks inside, where it may be cut.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    lead: int | None = None
    inner: tuple[int, ...] = ()


_KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "table_open": BlockKind.TABLE,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "blockquote_open": BlockKind.QUOTE,
    "html_block": BlockKind.HTML,
    "hr": BlockKind.RULE,
    "front_matter": BlockKind.FRONT_MATTER,
}


def blocks(text: str) -> tuple[Block, ...]:
    """The top-level blocks of `text` in order: none where it is only blanks and link definitions."""
    starts = _line_starts(text)
    # The parser counts "\n" only; a stray carriage return must not become a line of its own.
    tokens = _parser().parse(text.replace("\r", " "))
    return tuple(_block(group, starts) for group in _top_level(tokens))


def plain_title(markdown: str) -> str:
    """The words of one line of inline Markdown: no emphasis, links' texts, code as it is."""
    (token,) = _inline_parser().parseInline(markdown) or (None,)
    children = (token.children if token else None) or []
    words = "".join(
        child.content
        if child.type in {"text", "code_inline", "image"}
        else " " * child.type.endswith("break")
        for child in children
    )
    return " ".join(words.split())


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
    # Inline parsing would cost most of the time and none of it is used; the text is normalised by the caller.
    return parser.disable(["inline", "normalize"])


@functools.cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _line_starts(text: str) -> list[int]:
    starts = [0]
    found = text.find("\n")
    while found >= 0:
        starts.append(found + 1)
        found = text.find("\n", found + 1)
    starts.append(len(text))  # a map may point one line past the last
    return starts


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            if group[0].map and group[0].type in _KINDS:
                yield group
            group = []


def _block(group: Sequence[Token], starts: Sequence[int]) -> Block:
    first = group[0]
    begin, finish = first.map or (0, 0)
    start, end = starts[begin], starts[min(finish, len(starts) - 1)]
    kind = _KINDS[first.type]
    if kind is BlockKind.HEADING:
        return _heading(group, start, end)
    if kind is BlockKind.TABLE:
        rows = tuple(starts[line] for line in range(begin + 3, finish))
        return Block(kind, start, end, lead=starts[min(begin + 2, len(starts) - 1)], inner=rows)
    if first.type == "fence":
        lines = tuple(starts[line] for line in range(begin + 2, finish - 1))
        return Block(kind, start, end, lead=starts[min(begin + 1, len(starts) - 1)], inner=lines)
    if kind in {BlockKind.LIST, BlockKind.QUOTE}:
        inside = {starts[token.map[0]] for token in group if token.map and token.nesting >= 0}
        return Block(kind, start, end, inner=tuple(sorted(at for at in inside if at > start)))
    if kind is BlockKind.PARAGRAPH:
        return Block(kind, start, end)
    return Block(kind, start, end, inner=tuple(starts[line] for line in range(begin + 1, finish)))


def _heading(group: Sequence[Token], start: int, end: int) -> Block:
    content = group[1].content
    title = plain_title(content)
    underlined = group[0].markup in {"=", "-"}
    if not title or (underlined and len(content) > _LONGEST_TITLE):
        return Block(BlockKind.PARAGRAPH, start, end)
    return Block(BlockKind.HEADING, start, end, level=int(group[0].tag[1:]), title=title[:_LONGEST_TITLE])
