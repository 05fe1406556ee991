"""What counts as a change of a page, and what is no page at all."""

from __future__ import annotations

import pytest

from shared.domain.errors import AlmanacError
from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction
from shared.domain.web_url import parse_url
from shared.ports import Fetched
from shared.refresh.compare import is_stamp, mark, stable_text
from shared.refresh.judge import check_answer, check_content

STAMPS = """
Last updated: 12:03:11
Last updated on 3 December 2026 at 10:00 UTC
Page generated in 0.123 s
Build 2026.11.30-abcdef1
Build: a9f8b7c6d5
*Generated at 2026-12-01T10:00:00Z by node-7*
1,204 views
Visitor number 18234
You are visitor 12345
Request ID: 3f2a9c0e-11aa-4b9f-9f53-a1b2c3d4e5f6
Session: 8ad7f0c3b6d21a77
更新时间：2026-12-01 10:00
浏览次数：12345
1234次浏览
Stand: 01.12.2026
2026-12-01T10:00:00Z
Token: dGhpc2lzYXRva2VuMTIz
Rendered 2026-12-01 10:00:00 on server web-03
Commit 4f3c2d1 · Build 812
Updated 5 minutes ago
| Page views: 100 |
"""
CONTENT = """
The reading room opens at nine.
Opening hours: 9:00 to 17:00
Updated prices apply from 1 May 2026
Token economics
Views of the harbour
Price: 12.50
Version 3.2 adds support for X
Built in 1902
Built: 1902
Session 3 on Monday at 10:00
Served: 12:00 to 14:00
2026-12-01
Phone: 030 123456
The session id is stored
| Monday | 9:00 |
Visitors: 12 euros
Standing orders
Last updated rules of conduct
Session: Monday
SHA-256: 0a1b2c3d4e5f
1.204 readers asked for it
"""


@pytest.mark.parametrize("line", STAMPS.strip().splitlines())
def test_stamps_do_not_count(line: str) -> None:
    assert is_stamp(line)
    assert mark(f"# Rules\n\nText.\n\n{line}\n") == mark("# Rules\n\nText.\n")


@pytest.mark.parametrize("line", CONTENT.strip().splitlines())
def test_everything_else_counts(line: str) -> None:
    assert not is_stamp(line)
    assert mark(f"Text.\n\n{line}\n") != mark("Text.\n")


def test_tokens_of_a_visit_in_links_do_not_count() -> None:
    links = "[a](/x?sid=1&b=2) [c](/y?b=1&token=zz) [d](/z?utm_source=q) [e](/q;jsessionid=9?a=1)"
    assert stable_text(links) == "[a](/x?b=2) [c](/y?b=1) [d](/z) [e](/q)"
    assert mark("[a](/x?page=1)") != mark("[a](/x?page=2)")


PAGE = "https://docs.example.org/guide"


def judged(fetched: Fetched, known_host: str | None = None, asked: str = PAGE) -> None:
    check_answer(fetched, parse_url(asked), parse_url(fetched.url), known_host)


@pytest.mark.parametrize(
    ("url", "known_host"),
    [
        (PAGE, None),
        (PAGE, "docs.example.org"),
        ("https://www.docs.example.org/guide", "docs.example.org"),
        ("https://elsewhere.org/guide", None),
        ("https://docs.example.org/blog/authors", "docs.example.org"),
        ("https://docs.example.org/logistics", "docs.example.org"),
    ],
)
def test_the_page_or_a_redirect_to_it_is_taken(url: str, known_host: str | None) -> None:
    judged(Fetched(url, 200), known_host)


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org/login?next=/guide",
        "https://docs.example.org/users/sign_in",
        "https://docs.example.org/accounts/signin",
        "https://sso.example.org/sso/start",
        "https://docs.example.org/oauth2/authorize?x=1",
        "https://docs.example.org/wp-login.php",
        "https://docs.example.org/saml/request",
    ],
)
def test_a_redirect_to_a_login_is_not_taken(url: str) -> None:
    with pytest.raises(AlmanacError, match="login page"):
        judged(Fetched(url, 200))


def test_a_login_page_may_be_a_document_of_its_own() -> None:
    judged(Fetched("https://docs.example.org/help/login/", 200), asked="https://docs.example.org/help/login")


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(204, False), (304, False), (400, False), (401, False), (403, False), (404, False), (410, False),
     (408, True), (418, False), (429, True), (500, True), (503, True), (520, True)],
)  # fmt: skip
def test_only_success_is_a_page(status: int, retryable: bool) -> None:
    with pytest.raises(AlmanacError, match=str(status)) as caught:
        judged(Fetched(PAGE, status))
    assert caught.value.retryable is retryable


def shown(markdown: str, body: bytes = b"", title: str | None = None) -> None:
    check_content(body, Extraction(markdown, Coverage("section", 1, 1), title=title))


@pytest.mark.parametrize(
    ("markdown", "body", "title"),
    [
        ("# Sign in\n\nPlease sign in to go on.\n", b"", None),
        ("Log in to your account\n", b"", None),
        ("Welcome\n", b'<input name=p type="password">', None),
        ("# 404\n", b"", None),
        ("Oops\n", b"", "404 - Page not found"),
        ("# Service temporarily unavailable\n", b"", None),
        ("# Under maintenance\n", b"", None),
        ("# 请先登录\n", b"", None),
    ],
)
def test_logins_and_errors_that_call_themselves_success(
    markdown: str, body: bytes, title: str | None
) -> None:
    with pytest.raises(AlmanacError):
        shown(markdown, body, title)


@pytest.mark.parametrize(
    ("markdown", "body"),
    [
        ("# Signing in for the first time\n\nUse the card.\n", b""),
        ("# 500 recipes\n", b""),
        ("# 404 Main Street\n", b""),
        ("# Handbook\n\n" + "Rules. " * 200, b"<input type=password>"),
        ("# 404\n\n" + "How the error page of our shop works. " * 40, b""),
    ],
)
def test_pages_about_logins_and_errors_are_pages(markdown: str, body: bytes) -> None:
    shown(markdown, body)
