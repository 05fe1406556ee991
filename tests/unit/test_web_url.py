"""What is taken for the address of a page, and what is not."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url as urllib3_parse

from shared.domain.errors import UrlForbiddenError
from shared.domain.web_url import join_url, parse_url, same_site


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG:443/A?b=C#part", "https://example.org/A?b=C"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:443/x", "http://example.org:443/x"),
        ("https://a-b.c_d.example.org/%7Euser/?q=%20", "https://a-b.c_d.example.org/%7Euser/?q=%20"),
        ("https://bücher.example/straße?ü=ö", "https://xn--bcher-kva.example/stra%C3%9Fe?%C3%BC=%C3%B6"),
        ("https://例え.jp/価格", "https://xn--r8jz45g.jp/%E4%BE%A1%E6%A0%BC"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("http://[2606:2800:0220:0001::1]/", "http://[2606:2800:220:1::1]/"),
        ("https://example.org?x=1", "https://example.org/?x=1"),
        ("https://example.org/a@b", "https://example.org/a@b"),
    ],
)
def test_addresses_are_written_anew_from_their_parts(text: str, expected: str) -> None:
    assert str(parse_url(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "//example.org/",
        "http:example.org",
        "http:///path",
        "http://",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "data:text/html,x",
        "javascript:alert(1)",
        "http://user@example.org/",
        "http://user:secret@example.org/",
        "http://:@example.org/",
        "http://example.org@127.0.0.1/",
        "http://169.254.169.254\\@example.org/",
        "http://example.org\\.evil.net/",
        "http:\\\\example.org\\",
        "http://exa mple.org/",
        "http://example.org/a b",
        "http://example.org/\n",
        "http://example.org/\r\nHost: evil",
        "http://example.org/\t",
        "http://example.org/\x00",
        "http://example.org/\u200b",
        "http://example.org:22/",
        "http://example.org:8080/",
        "http://example.org:0/",
        "http://example.org:65536/",
        "http://example.org:x/",
        "http://example.org:-80/",
        "http://localhost/",
        "http://metadata/",
        "http://LOCALHOST/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://router.lan/",
        "http://x.localhost/",
        "http://example.org./",
        "http://.example.org/",
        "http://example..org/",
        "http://-example.org/",
        "http://example-.org/",
        "http://exam%70le.org/",
        "http://127.0.0.1%2f@example.org/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.01/",
        "http://127.0.0.0x1/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://0/",
        "http://example.0x7f/",
        "http://①②⑦.⓪.⓪.①/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://example．org/",
        "http://ⓔxample.org/",
        "http://ex\u00adample.org/",
        "http://[::1%25eth0]/",
        "http://[::1%eth0]/",
        "http://[::1/",
        "http://[127.0.0.1]/",
        "http://[v1.x]/",
        "http://[example.org]/",
        f"http://{'a' * 64}.org/",
        f"http://{'a.' * 130}org/",
        f"http://example.org/{'a' * 2_083}",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(UrlForbiddenError):
        parse_url(text)


def test_only_the_named_site_may_be_local() -> None:
    sites = {"127.0.0.1:4321"}
    assert parse_url("http://127.0.0.1:4321/a", local_sites=sites).port == 4321
    for text in ("http://127.0.0.1:4322/", "http://localhost:4321/", "http://u@127.0.0.1:4321/"):
        with pytest.raises(UrlForbiddenError):
            parse_url(text, local_sites=sites)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/login", "https://example.org/login"),
        ("next", "https://example.org/a/next"),
        ("//other.org/x", "https://other.org/x"),
        ("http://other.org/x y", "http://other.org/x%20y"),
        ("?page=2", "https://example.org/a/b?page=2"),
        ("/straße", "https://example.org/stra%C3%9Fe"),
    ],
)
def test_redirects_are_resolved(location: str, expected: str) -> None:
    assert str(join_url(parse_url("https://example.org/a/b"), location)) == expected


@pytest.mark.parametrize(
    "location",
    [
        "http://localhost/",
        "file:///etc/passwd",
        "http://a@b.org/",
        "/\\evil.org",
        "//[::1",
        "http://x.org:9/",
    ],
)
def test_redirects_are_held_to_the_same_rules(location: str) -> None:
    with pytest.raises(UrlForbiddenError):
        join_url(parse_url("https://example.org/a/b"), location)


def test_a_site_is_the_same_with_and_without_www() -> None:
    assert same_site("www.example.org", "example.org")
    assert not same_site("docs.example.org", "example.org")


_SIGNS = list("ahtp:/\\@.#?%[]0179x-_ \t①。ü\u00ad")
_PARTS = ["http://", "https://", "example.org", "127.0.0.1", "::1", ":80", "@127.0.0.1", "#@", "%2f", "%00"]
_PIECES = st.sampled_from([*_SIGNS, *_PARTS])


@given(st.lists(_PIECES, min_size=1, max_size=12).map("".join))
def test_what_is_taken_means_the_same_to_every_parser(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://example.org{text}"):
        try:
            url = parse_url(candidate)
        except UrlForbiddenError:
            continue
        written = str(url)
        assert parse_url(written) == url
        assert written.isascii()
        hosts = {
            urlsplit(written).hostname,
            urllib3_parse(written).host.strip("[]"),  # type: ignore[union-attr]
            httpcore2.URL(written).host.decode().strip("[]"),
        }
        assert hosts == {url.host}
