"""Markdown as a row of blocks with exact character offsets, by markdown-it-py's block parser.

Only structure is read here, never inline markup (but for the titles of headings). Offsets count characters
of the text as given.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markdown_it import MarkdownIt, rules_block
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

_Rule = Callable[[StateBlock, int, int, bool], bool]

_MARKUP = re.compile(r"[*_`~\[\]<>&\\!]")
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


def starting_in(parts: Sequence[Block], start: int, end: int) -> Sequence[Block]:
    """Those of some blocks in order that start in `[start, end)`."""
    return parts[bisect_left(parts, start, key=_start_of) : bisect_left(parts, end, key=_start_of)]


def _start_of(block: Block) -> int:
    return block.start


def plain_title(markdown: str) -> str:
    """The words of one line of inline Markdown: no emphasis, links' texts, code as it is."""
    if not _MARKUP.search(markdown):
        return " ".join(markdown.split())
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
    rules = parser.block.ruler
    rules.at("table", _table, {"alt": ["paragraph", "reference"]})
    rules.at("paragraph", _folded(rules_block.paragraph))
    rules.at("heading", _folded(rules_block.heading), {"alt": ["paragraph", "reference", "blockquote"]})
    rules.at("lheading", _folded(rules_block.lheading))
    # Inline parsing would cost most of the time and none of it is used; the text is normalised by the caller.
    return parser.disable(["inline", "normalize"])


def _folded(rule: _Rule) -> _Rule:
    """A rule that leaves one token where it would leave three: a text of a megabyte can have half a million
    paragraphs, and every token is half a kilobyte."""

    def fold(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        if not silent:
            opening, words, _ = state.tokens[before:]
            opening.nesting, opening.content = 0, words.content
            del state.tokens[before + 1 :]
        return True

    return fold


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table as one token, its cells left alone. The library's rule tells its first two lines, and here is
    what ends it there: a blank line, a dedent, indented code, or the start of another block."""
    if not rules_block.table(state, start, end, True):
        return False
    if silent:
        return True
    kept, state.parentType = state.parentType, "table"
    breaks = state.md.block.ruler.getRules("blockquote")
    line = start + 2
    while line < end and not _ends_table(state, line, end, breaks):
        line += 1
    state.push("table_open", "table", 0).map = [start, line]
    state.parentType, state.line = kept, line
    return True


def _ends_table(state: StateBlock, line: int, end: int, breaks: Sequence[_Rule]) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line) or state.isEmpty(line):
        return True
    return any(rule(state, line, end, True) for rule in breaks)


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
        return _heading(first, start, end)
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


def _heading(token: Token, start: int, end: int) -> Block:
    title = plain_title(token.content)
    underlined = token.markup in {"=", "-"}
    if not title or (underlined and len(token.content) > _LONGEST_TITLE):
        return Block(BlockKind.PARAGRAPH, start, end)
    return Block(BlockKind.HEADING, start, end, level=int(token.tag[1:]), title=title[:_LONGEST_TITLE])
