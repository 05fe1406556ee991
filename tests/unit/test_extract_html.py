from __future__ import annotations

import pytest

from shared.domain.errors import NoTextError, UnsafeFileError
from shared.domain.text import Extraction
from shared.ingest.extract.hints import Hints
from shared.ingest.extract.readers import read

WORDS = "The council reviews its budget for the water supply in March every year. " * 4


def extract(html: str | bytes, type_hint: str = "text/html") -> Extraction:
    return read(html.encode() if isinstance(html, str) else html, Hints("page.html", type_hint))


def markdown(inner: str) -> str:
    return extract(f"<!doctype html><html><body>{inner}</body></html>").markdown


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<h1>A <b>b</b></h1><p>one<br>two</p>", "# A b\n\none\ntwo"),
        ("<p>x <b> bold </b>y <em>em</em><code>a_b</code></p>", "x **bold** y *em*`a_b`"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        (
            '<pre class="language-python">def f():\n    return "```"\n</pre>',
            '````python\ndef f():\n    return "```"\n````',
        ),
        ('<a href="https://example.org/a(b)">link</a>', "[link](https://example.org/a%28b%29)"),
        ('<a href="#top">top</a> <a href="javascript:x()">x</a>', "top x"),
        ("<p># no heading</p><p>- no item</p><p>1. none</p>", "\\# no heading\n\n\\- no item\n\n1\\. none"),
        ("<p>a &lt;b&gt; c</p>", "a <b> c"),
        ("<p>&lt;div&gt; at the start</p>", "\\<div> at the start"),
        ("<dl><dt>Term</dt><dd>Meaning</dd></dl>", "**Term**\n\nMeaning"),
        ("<div>loose<div>inner</div>tail</div>", "loose\n\ninner\n\ntail"),
        ("<span><p>block in inline</p></span>", "block in inline"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<p>kan<ruby>漢字<rt>かんじ</rt></ruby></p>", "kan漢字"),
        ("<h2>Setup <a href='#setup'>#</a></h2>", "## Setup"),
        ("<h2><a href='#c'>§</a>C# and <a href='#c'>more</a></h2>", "## C# and more"),
    ],
)
def test_elements(inner: str, expected: str) -> None:
    assert markdown(inner) == expected + "\n"


def test_tables_with_spans_blocks_and_pipes() -> None:
    text = markdown(
        "<table><caption>Teas</caption><thead><tr><th colspan=2>Plant</th><th>Notes</th></tr></thead>"
        "<tr><td rowspan=2>Mint</td><td>leaf<br>stem</td><td><ul><li>cool</li><li>fresh</li></ul></td></tr>"
        "<tr><td>a|b</td><td><p>x</p><p>y</p></td></tr></table>"
    )
    assert text == (
        "Teas\n\n| Plant |  | Notes |\n| --- | --- | --- |\n| Mint | leaf stem | cool; fresh |\n"
        "|  | a\\|b | x y |\n"
    )


def test_two_header_rows_become_one() -> None:
    text = markdown(
        "<table><thead><tr><th rowspan=2>Site</th><th colspan=2>2024</th></tr><tr><th>Q1</th><th>Q2</th></tr>"
        "</thead><tbody><tr><td>A</td><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert text.startswith("| Site | 2024 Q1 | Q2 |\n")


def test_ticks_that_are_pictures_are_read() -> None:
    text = markdown(
        "<table><tr><th>a</th><th>b</th></tr><tr><td>x</td><td><img alt=yes src=t.png></td></tr></table>"
    )
    assert "| x | yes |" in text


def test_tables_that_arrange_a_page_are_unfolded() -> None:
    text = markdown(f"<table><tr><td>Menu</td><td><h1>Title</h1><p>{WORDS}</p></td></tr></table>")
    assert "|" not in text
    assert "# Title" in text


def test_the_main_content_without_navigation_and_scripts() -> None:
    links = "".join(f'<li><a href="/{n}">Link {n}</a></li>' for n in range(9))
    text = extract(
        f"""<html lang="en-GB"><head><title>T</title><style>p {{}}</style></head><body>
        <header><h1>The budget</h1></header><nav><ul>{links}</ul></nav>
        <div class="cookie-banner">We use cookies</div>
        <main><p>{WORDS}</p><script>alert(1)</script><noscript>no</noscript>
        <div class="share-buttons">Share this</div></main>
        <aside><ul>{links}</ul></aside><footer>Imprint</footer></body></html>"""
    )
    assert text.markdown == f"# The budget\n\n{WORDS.strip()}\n"
    assert (text.title, text.language) == ("T", "en")


def test_lists_of_links_go_where_nothing_is_marked() -> None:
    links = "".join(f'<li><a href="/{n}">Link {n}</a></li>' for n in range(9))
    text = markdown(f"<div><ul>{links}</ul></div><div><p>{WORDS}</p></div>")
    assert text == WORDS.strip() + "\n"


def test_a_page_that_is_all_links_keeps_them() -> None:
    links = "".join(f'<li><a href="https://example.org/{n}">Report number {n}</a></li>' for n in range(30))
    assert "Report number 7" in markdown(f"<ul>{links}</ul>")


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>SECRET</p>",
        "<p style='display: none'>SECRET</p>",
        "<p style='visibility:hidden !important'>SECRET</p>",
        "<p aria-hidden=true>SECRET</p>",
        "<span class='sr-only'>SECRET</span>",
        "<template>SECRET</template>",
        "<!-- SECRET -->",
    ],
)
def test_hidden_text_is_left_out(hidden: str) -> None:
    found = extract(f"<html><body><p>Shown.</p>{hidden}</body></html>")
    assert "SECRET" not in found.markdown
    assert found.notes == ()


@pytest.mark.parametrize(
    "disguised",
    [
        "<p style='color:#fff'>SECRET</p>",
        "<font color=white>SECRET</font>",
        "<p style='font-size:0px'>SECRET</p>",
        "<p style='opacity: 0'>SECRET</p>",
        "<p style='text-indent:-9999px'>SECRET</p>",
        "<style>.x{font-size:0}</style><p class=x>SECRET</p>",
    ],
)
def test_disguised_text_is_left_out_and_noted(disguised: str) -> None:
    found = extract(f"<html><body><p>Shown.</p>{disguised}</body></html>")
    assert "SECRET" not in found.markdown
    assert found.notes == ("hidden_text_removed",)


def test_white_text_on_a_ground_of_its_own_is_shown() -> None:
    found = extract("<html><body><p style='color:white;background:#004'>Shown.</p></body></html>")
    assert (found.markdown, found.notes) == ("Shown.\n", ())


@pytest.mark.parametrize(
    ("data", "type_hint"),
    [
        ("<meta charset=gb2312><p>中国制造的领军者</p>".encode("gb18030"), ""),
        ("<p>中国制造的领军者</p>".encode("gb18030"), "text/html; charset=GBK"),
        ("<p>中国制造的领军者</p>".encode("gb18030"), "text/html; charset=iso-2022-jp"),
        ("<meta charset=utf-16><p>中国制造的领军者</p>".encode(), ""),
        ("<?xml version='1.0' encoding='big5'?><html><p>中国制造的领军者</p></html>".encode(), ""),
        ("<p>中国制造的领军者</p>".encode("utf-16"), ""),
    ],
)
def test_charsets(data: bytes, type_hint: str) -> None:
    page = data if data.startswith((b"<?xml", b"\xff\xfe")) else b"<html><body>" + data + b"</body></html>"
    assert extract(page, type_hint).markdown == "中国制造的领军者\n"


def test_a_page_without_words_is_refused() -> None:
    with pytest.raises(NoTextError):
        extract("<html><body><script>var words = 1;</script></body></html>")


def test_deep_nesting_is_read_to_its_end_or_refused() -> None:
    assert "deep" in markdown("<div>" * 300 + "deep" + "</div>" * 300)
    with pytest.raises(UnsafeFileError, match="not read to its end"):
        markdown("<p>Words.</p>" + "<div>" * 3_000 + "deep")


def test_control_characters_in_a_page_are_no_obstacle() -> None:
    page = "<div>a\x0bb&#1;<script>x</script>c\x07<p hidden>h</p>d&#x1f;</div>"
    assert "".join(markdown(page).split()) == "abcd"
