"""No address, name or redirect leads the fetcher into a private network.

A listener on loopback counts what reaches it. One public address leads to a site of the test's own, so that
redirects from the outside can be tried.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence

import httpcore2
import pytest

from shared.adapters.web.fetcher import WebFetcher
from shared.adapters.web.network import dial_tcp
from shared.domain.errors import AlmanacError, FetchFailedError, UrlForbiddenError
from shared.ports import FetchRequest
from tests.site import Site, SitePage, redirect

OUTSIDE = "93.184.216.34"


class Trap:
    """Counts connections to a port of loopback, in IPv4 and IPv6."""

    def __init__(self) -> None:
        self.hits = 0
        self._v4 = socket.create_server(("127.0.0.1", 0))
        self.port = self._v4.getsockname()[1]
        self._sockets = [self._v4]
        if socket.has_ipv6:
            self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for listener in self._sockets:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.hits += 1
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
            connection.close()

    def close(self) -> None:
        for listener in self._sockets:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@pytest.fixture
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.close()


@pytest.fixture(scope="module")
def outside() -> Iterator[Site]:
    with Site() as site:
        yield site


class Names:
    """A resolver: each name gives its answers in turn, the last one again and again."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.answers = {name: list(turns) for name, turns in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.answers:  # what the system's resolver would say to a number
            return [entry[4][0] for entry in socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)]
        turns = self.answers[host]
        return turns.pop(0) if len(turns) > 1 else turns[0]


def fetcher(trap: Trap, outside: Site, names: Names) -> WebFetcher:
    def dial(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
        if address == OUTSIDE:
            return dial_tcp("127.0.0.1", outside.port, seconds)
        # Every other address leads to the trap: whatever passes the guard springs it.
        return dial_tcp("::1" if ":" in address else "127.0.0.1", trap.port, seconds)

    return WebFetcher(resolve=names, dial=dial, pause=0)


def attempt(reader: WebFetcher, url: str) -> AlmanacError:
    with pytest.raises(AlmanacError) as caught:
        reader.fetch(FetchRequest(url, 1_000))
    return caught.value


DIRECT = """
http://127.0.0.1/ http://127.0.0.1:443/ http://127.255.255.254/ http://0.0.0.0/ http://10.0.0.1/ http://172.16.0.1/
http://192.168.1.1/ http://100.64.0.1/ http://169.254.169.254/computeMetadata/v1/ http://198.18.0.1/
http://192.0.2.1/ http://224.0.0.1/ http://255.255.255.255/ http://192.88.99.1/ http://[::1]/ http://[::]/
http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::127.0.0.1]/ http://[64:ff9b::7f00:1]/
http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::7f00:1]/ http://[2002:7f00:1::]/ http://[2002:a9fe:a9fe::]/
http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/ http://[fe80::1]/ http://[fe80::1%25lo]/ http://[fc00::1]/
http://[fd20:ce::254]/ http://[fec0::1]/ http://[ff02::1]/ http://[2001:db8::1]/ http://[3fff::1]/
http://localhost/ http://localhost./ http://LOCALHOST/ http://metadata/ http://metadata.google.internal/
http://2130706433/ http://017700000001/ http://0x7f000001/ http://0x7f.0.0.1/ http://0x7f.1/ http://127.1/
http://127.0.1/ http://0177.0.0.1/ http://127.0.0.01/ http://0/ http://①②⑦.⓪.⓪.①/ http://１２７.０.０.１/
http://127。0。0。1/ http://ⓛocalhost/ http://loc\u00adalhost/ http://user@127.0.0.1/ http://a:b@localhost/
http://example.org@127.0.0.1/ http://127.0.0.1@example.org/ http://127.0.0.1\\@example.org/
http://example.org\\@127.0.0.1/ http://127.0.0.1#@example.org/ http://127.0.0.1%2f.example.org/
http://127.0.0.1%00.example.org/ http://example.org:80@127.0.0.1/ http:\\\\127.0.0.1/ http://127.0.0.1\t/
http://[::1]:80/ http://[::1].example.org/ http://127.0.0.1:22/ ftp://127.0.0.1/ file:///etc/passwd
gopher://127.0.0.1:80/ //127.0.0.1/ http:127.0.0.1 http:///127.0.0.1/
"""


@pytest.mark.parametrize("url", re.findall(r"[^ \n]+", DIRECT))
def test_no_spelling_of_an_address_gets_in(url: str, trap: Trap, outside: Site) -> None:
    error = attempt(fetcher(trap, outside, Names({"example.org": [[OUTSIDE]]})), url)
    assert isinstance(error, UrlForbiddenError)
    assert trap.hits == 0


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::a9fe:a9fe"],
        ["2002:7f00:1::"],
        ["fd20:ce::254"],
        ["0.0.0.0"],
        [OUTSIDE, "127.0.0.1"],
        ["127.0.0.1", OUTSIDE],
        [OUTSIDE, "::1"],
        [OUTSIDE, "10.0.0.1", OUTSIDE],
    ],
)
def test_a_name_that_leads_inside_is_refused_whole(answers: list[str], trap: Trap, outside: Site) -> None:
    reader = fetcher(trap, outside, Names({"pages.example.org": [answers]}))
    before = outside.hits()
    assert isinstance(attempt(reader, "http://pages.example.org/"), UrlForbiddenError)
    assert (trap.hits, outside.hits()) == (0, before)


@pytest.mark.parametrize("inside", ["127.0.0.1", "::1", "169.254.169.254"])
def test_a_name_that_changes_after_the_check_does_not_matter(inside: str, trap: Trap, outside: Site) -> None:
    outside.pages = {"/": SitePage(b"<p>outside</p>")}
    names = Names({"pages.example.org": [[OUTSIDE], [OUTSIDE], [inside]]})
    reader = fetcher(trap, outside, names)
    fetched = reader.fetch(FetchRequest("http://pages.example.org/", 1_000))
    assert fetched.body == b"<p>outside</p>"
    # One look at the name for robots.txt and one for the page: none between a check and its connection.
    assert names.asked == ["pages.example.org"] * 2
    assert isinstance(attempt(reader, "http://pages.example.org/"), UrlForbiddenError)
    assert trap.hits == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/computeMetadata/v1/",
        "http://127.0.0.1/",
        "//127.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "http://inside.example.org/",
        "http://pages.example.org:8080/",
        "http://user@pages.example.org/",
        "http://pages.example.org\\@127.0.0.1/",
        "file:///etc/passwd",
        "http://metadata.google.internal/",
    ],
)
def test_a_redirect_is_checked_like_the_address(
    status: int, location: str, trap: Trap, outside: Site
) -> None:
    outside.pages = {"/": redirect(location, status)}
    names = Names({"pages.example.org": [[OUTSIDE]], "inside.example.org": [["10.0.0.7"]]})
    assert isinstance(attempt(fetcher(trap, outside, names), "http://pages.example.org/"), UrlForbiddenError)
    assert trap.hits == 0


def test_a_redirect_to_a_name_that_was_outside_before_is_resolved_again(trap: Trap, outside: Site) -> None:
    outside.pages = {"/": redirect("/next"), "/next": SitePage(b"never")}
    names = Names({"pages.example.org": [[OUTSIDE], [OUTSIDE], ["127.0.0.1"]]})
    assert isinstance(attempt(fetcher(trap, outside, names), "http://pages.example.org/"), UrlForbiddenError)
    assert trap.hits == 0


def test_a_robots_file_that_redirects_inside_lets_nothing_through(trap: Trap, outside: Site) -> None:
    outside.pages = {"/": SitePage(b"page"), "/robots.txt": redirect("http://127.0.0.1/")}
    names = Names({"pages.example.org": [[OUTSIDE]]})
    assert isinstance(attempt(fetcher(trap, outside, names), "http://pages.example.org/"), UrlForbiddenError)
    assert trap.hits == 0


def test_redirects_end(trap: Trap, outside: Site) -> None:
    outside.pages = {"/": redirect("/")}
    error = attempt(
        fetcher(trap, outside, Names({"pages.example.org": [[OUTSIDE]]})), "http://pages.example.org/"
    )
    assert isinstance(error, FetchFailedError)


def test_a_name_without_an_address_is_a_failure(trap: Trap, outside: Site) -> None:
    error = attempt(fetcher(trap, outside, Names({})), "http://nowhere.example.org/")
    assert isinstance(error, FetchFailedError)
    assert error.retryable


def test_the_trap_works(trap: Trap, outside: Site) -> None:
    site = f"127.0.0.1:{trap.port}"
    reader = WebFetcher(local_sites=[site], pause=0)
    assert reader.fetch(FetchRequest(f"http://{site}/", 1_000)).body == b"secret"
    assert trap.hits == 2
    assert isinstance(attempt(reader, f"http://localhost:{trap.port}/"), UrlForbiddenError)
    assert trap.hits == 2
