from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.plaintext import attribute, escaped, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("pay\u200bpal", "paypal"),
        ("\u202eevil\u202c", "evil"),
        ("a\U000e0069\U000e0067b", "ab"),
        ("tab\tline\r\nend\r", "tab\tline\nend\n"),
        ("nul\0bel\x07", "nulbel"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u200c\u200d\u200cb", "ab"),
        ("half \ud83d", "half "),
        ("年假　二十天", "年假　二十天"),
    ],
)
def test_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(), st.text())
def test_no_text_closes_the_element_around_it(body: str, title: str) -> None:
    element = ElementTree.fromstring(
        f"<document title={attribute(title)}>{escaped(body)}</document>".encode("utf-16", "ignore")
        .decode("utf-16")
        .replace("\ufffe", "")
        .replace("\uffff", "")
    )
    assert not list(element)
    assert element.tag == "document"


@given(st.text())
def test_visible_is_idempotent(text: str) -> None:
    assert visible(visible(text)) == visible(text)
