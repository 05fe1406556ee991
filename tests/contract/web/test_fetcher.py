"""How the fetcher reads: conditions, limits, kinds of content, robots, pauses, TLS."""

from __future__ import annotations

import datetime as dt
import gzip
import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shared.adapters.web.fetcher import WebFetcher
from shared.adapters.web.network import dial_tcp
from shared.adapters.web.pace import HostPace
from shared.domain.errors import (
    FetchFailedError,
    RateLimitedError,
    TooLargeError,
    UnsupportedTypeError,
    UrlForbiddenError,
)
from shared.ports import FetchRequest
from shared.settings import Settings
from tests.site import Site, SitePage, redirect

LIMIT = 100_000
PAGE = b"<h1>Opening hours</h1><p>The reading room opens at nine.</p>"


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.pages.clear()
    running.requests.clear()
    return running


@pytest.fixture
def reader(site: Site) -> WebFetcher:
    return WebFetcher(local_sites=[site.host], pause=0, seconds=5)


def request(site: Site, path: str = "/page", **more: str | None) -> FetchRequest:
    return FetchRequest(f"{site.url}{path}", LIMIT, **more)


def test_a_page_comes_with_what_its_server_says(site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(
        PAGE, etag='"v1"', headers={"Last-Modified": "Tue, 01 Dec 2026 10:00:00 GMT"}
    )
    fetched = reader.fetch(request(site))
    assert (fetched.status, fetched.body, fetched.etag) == (200, PAGE, '"v1"')
    assert fetched.content_type == "text/html; charset=utf-8"
    assert fetched.last_modified == "Tue, 01 Dec 2026 10:00:00 GMT"
    assert fetched.url == f"{site.url}/page"


def test_nothing_but_the_request_is_sent(
    site: Site, reader: WebFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.pages["/page"] = SitePage(PAGE, headers={"Set-Cookie": "session=1"})
    reader.fetch(request(site))
    reader.fetch(request(site))
    _, headers = site.requests[-1]
    assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert headers["host"] == site.host
    assert headers["user-agent"].startswith("AlmanacBot/")


def test_what_did_not_change_is_not_sent_again(site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(PAGE, etag='"v1"')
    fetched = reader.fetch(request(site, etag='"v1"', last_modified="Tue, 01 Dec 2026 10:00:00 GMT"))
    assert (fetched.status, fetched.body) == (304, b"")
    assert site.requests[-1][1]["if-modified-since"] == "Tue, 01 Dec 2026 10:00:00 GMT"


@pytest.mark.parametrize("status", [204, 400, 401, 403, 404, 410, 429, 500, 503])
def test_other_answers_carry_no_content(status: int, site: Site, reader: WebFetcher) -> None:
    body = b"" if status == 204 else b"<h1>oops</h1>"
    site.pages["/page"] = SitePage(body, status, headers={"Retry-After": "120"})
    fetched = reader.fetch(request(site))
    assert (fetched.status, fetched.body, fetched.retry_after) == (status, b"", 120.0)


def test_a_date_to_come_back_at_becomes_seconds(site: Site, reader: WebFetcher) -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=10)
    for value, expected in ((later.strftime("%a, %d %b %Y %H:%M:%S GMT"), 600.0), ("soon", None)):
        site.pages["/page"] = SitePage(status=503, headers={"Retry-After": value})
        assert reader.fetch(request(site)).retry_after == (expected and pytest.approx(expected, abs=5))


def test_redirects_are_followed_to_their_end(site: Site, reader: WebFetcher) -> None:
    site.pages |= {"/page": redirect("/a", 301), "/a": redirect("b?x=1", 307), "/b": SitePage(PAGE)}
    fetched = reader.fetch(request(site))
    assert (fetched.body, fetched.url) == (PAGE, f"{site.url}/b?x=1")


# --- limits ----------------------------------------------------------------------------------------


def _deflated(data: bytes, window: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("gzip", gzip.compress(PAGE[:20]) + gzip.compress(PAGE[20:])),
        ("gzip", gzip.compress(PAGE) + b"\0\0\0"),
        ("deflate", _deflated(PAGE, zlib.MAX_WBITS)),
        ("deflate", _deflated(PAGE, -zlib.MAX_WBITS)),
        ("identity", PAGE),
    ],
)
def test_compressed_content_is_expanded(encoding: str, packed: bytes, site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(packed, headers={"Content-Encoding": encoding})
    assert reader.fetch(request(site)).body == PAGE


@pytest.mark.parametrize("drip", [0.0, 1e-9], ids=["length declared", "length unknown"])
def test_a_file_over_the_limit_is_refused(drip: float, site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(b"x" * 200, drip=drip)
    with pytest.raises(TooLargeError):
        reader.fetch(FetchRequest(f"{site.url}/page", 100))


@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_goes_off_at_the_limit(layers: int, site: Site, reader: WebFetcher) -> None:
    packed = bytes(200 * LIMIT)
    for _ in range(layers):
        packed = gzip.compress(packed)
    assert len(packed) < LIMIT
    site.pages["/page"] = SitePage(packed, headers={"Content-Encoding": ", ".join(["gzip"] * layers)})
    with pytest.raises((TooLargeError, FetchFailedError)):
        reader.fetch(request(site))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", b"not packed"), ("gzip", gzip.compress(PAGE)[:-12]), ("br", PAGE), ("zstd", PAGE)],
)
def test_content_that_cannot_be_expanded_is_a_failure(
    encoding: str, body: bytes, site: Site, reader: WebFetcher
) -> None:
    site.pages["/page"] = SitePage(body, headers={"Content-Encoding": encoding})
    with pytest.raises(FetchFailedError):
        reader.fetch(request(site))


def test_a_server_that_drips_runs_out_of_time(site: Site) -> None:
    site.pages["/page"] = SitePage(b"x" * 1_000, drip=0.02)
    site.pages["/robots.txt"] = SitePage(b"")
    started = time.monotonic()
    with pytest.raises(FetchFailedError):
        WebFetcher(local_sites=[site.host], pause=0, seconds=0.5).fetch(request(site))
    assert time.monotonic() - started < 5


def test_nobody_there_is_a_failure_that_may_pass(reader: WebFetcher) -> None:
    with Site() as gone:
        host = gone.host
    with pytest.raises(FetchFailedError) as caught:
        WebFetcher(local_sites=[host], pause=0).fetch(FetchRequest(f"http://{host}/", LIMIT))
    assert caught.value.retryable


@pytest.mark.parametrize(
    "kind",
    ["text/html", "text/plain", "application/pdf", "application/octet-stream", "application/xhtml+xml", "",
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "TEXT/HTML;charset=x"],
)  # fmt: skip
def test_kinds_that_may_be_documents_are_read(kind: str, site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(PAGE, type=kind)
    assert reader.fetch(request(site)).body == PAGE


@pytest.mark.parametrize(
    "kind", ["image/png", "video/mp4", "audio/ogg", "font/woff2", "text/javascript", "application/wasm"]
)
def test_kinds_that_are_no_documents_are_refused(kind: str, site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(PAGE, type=kind)
    with pytest.raises(UnsupportedTypeError, match=kind):
        reader.fetch(request(site))


# --- manners ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: AlmanacBot\nDisallow: /page", False),
        ("User-agent: *\nDisallow: /p*e$", False),
        ("User-agent: *\nDisallow: /\nAllow: /page", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: AlmanacBot\nDisallow:", True),
        ("<html>no rules</html>", True),
        ("", True),
    ],
)
def test_robots_rules_are_kept(rules: str, allowed: bool, site: Site, reader: WebFetcher) -> None:
    site.pages |= {"/page": SitePage(PAGE), "/robots.txt": SitePage(rules.encode(), type="text/plain")}
    if allowed:
        assert reader.fetch(request(site)).status == 200
    else:
        with pytest.raises(UrlForbiddenError, match=r"robots\.txt"):
            reader.fetch(request(site))
        assert site.hits() == 0


def test_robots_rules_are_asked_for_once(site: Site, reader: WebFetcher) -> None:
    site.pages["/page"] = SitePage(PAGE)
    for _ in range(5):
        reader.fetch(request(site))
    assert site.hits("/robots.txt") == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_site_that_cannot_say_its_rules_is_left_alone(status: int, site: Site, reader: WebFetcher) -> None:
    site.pages |= {"/page": SitePage(PAGE), "/robots.txt": SitePage(status=status)}
    with pytest.raises(FetchFailedError):
        reader.fetch(request(site))
    assert site.hits() == 0


def test_reads_of_a_host_keep_their_distance() -> None:
    slept: list[float] = []
    now = [100.0]
    pace = HostPace(1.0, now=lambda: now[0], sleep=slept.append)
    for _ in range(3):
        pace.wait("a.org", delay=0, at_most=5)
    pace.wait("b.org", delay=4, at_most=5)
    pace.wait("b.org", delay=4, at_most=5)
    assert slept == [1.0, 2.0, 4.0]
    with pytest.raises(RateLimitedError) as caught:
        pace.wait("b.org", delay=4, at_most=5)
    assert caught.value.retry_after == 8.0
    now[0] += 8
    pace.wait("b.org", delay=4, at_most=5)
    assert len(slept) == 3


def test_a_deployed_function_takes_no_site_of_a_test() -> None:
    env = {"ALMANAC_WEB_EMULATOR_HOST": "127.0.0.1:4321, localhost:4321"}
    assert Settings.from_env(env).web_sites == ("127.0.0.1:4321", "localhost:4321")
    assert Settings.from_env({"K_SERVICE": "tasks"}).web_sites == ()
    with pytest.raises(Exception, match="ALMANAC_WEB_EMULATOR_HOST"):
        Settings.from_env(env | {"K_SERVICE": "tasks"})


# --- TLS -------------------------------------------------------------------------------------------

OUTSIDE = "93.184.216.34"


class _Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/page"
        body = f"for {self.headers['Host']}".encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, ssl.SSLContext, list[str]]]:
    """A TLS server for pages.example.org: its port, a context that trusts it, and the names asked for."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pages.example.org")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("pages.example.org")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, *plain))
    (folder / "cert.pem").write_bytes(certificate.public_bytes(encoding))
    names: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    server = HTTPServer(("127.0.0.1", 0), _Greeting)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # refused handshakes are the point
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port, ssl.create_default_context(cafile=str(folder / "cert.pem")), names
    server.shutdown()
    server.server_close()
    thread.join()


def _secure_reader(port: int, context: ssl.SSLContext) -> WebFetcher:
    def dial(address: str, _port: int, seconds: float) -> httpcore2.NetworkStream:
        assert address == OUTSIDE
        return dial_tcp("127.0.0.1", port, seconds)

    return WebFetcher(resolve=lambda _: [OUTSIDE], dial=dial, tls=context, pause=0)


def test_a_pinned_connection_still_proves_and_carries_the_name(
    secure: tuple[int, ssl.SSLContext, list[str]],
) -> None:
    port, context, names = secure
    fetched = _secure_reader(port, context).fetch(FetchRequest("https://pages.example.org/page", LIMIT))
    assert fetched.body == b"for pages.example.org"
    assert set(names) == {"pages.example.org"}


def test_a_certificate_for_another_name_is_refused(secure: tuple[int, ssl.SSLContext, list[str]]) -> None:
    port, context, _ = secure
    with pytest.raises(FetchFailedError):
        _secure_reader(port, context).fetch(FetchRequest("https://other.example.org/page", LIMIT))


def test_an_unknown_authority_is_refused(secure: tuple[int, ssl.SSLContext, list[str]]) -> None:
    with pytest.raises(FetchFailedError):
        _secure_reader(secure[0], ssl.create_default_context()).fetch(
            FetchRequest("https://pages.example.org/page", LIMIT)
        )
