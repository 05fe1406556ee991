"""Reads of the public web: every hop parsed, resolved, checked and pinned; size, time, redirects and kinds of
content bounded; robots.txt and a pause for each host respected."""

from __future__ import annotations

import ssl
from collections.abc import Collection
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, partial

import httpcore2

from shared.adapters.web.body import ACCEPT_ENCODING, read_body, require_document
from shared.adapters.web.network import (
    Deadline,
    Dial,
    PinnedBackend,
    Resolve,
    checked_addresses,
    dial_tcp,
    resolve_name,
)
from shared.adapters.web.pace import HostPace
from shared.adapters.web.robots import AGENT, MAX_BYTES, Robots
from shared.domain.errors import AlmanacError, FetchFailedError
from shared.domain.web_url import WebUrl, join_url, parse_url
from shared.ports import Fetched, FetchRequest

_SECONDS = 60.0
_REDIRECTS = 5
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_LONGEST_PAUSE = 10.0
_ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.5"
_LONGEST_VALIDATOR = 1_000


class WebFetcher:
    """`ports.Fetcher`. Sends no cookies and no credentials, and takes no proxy from the environment.

    `local_sites` are `host:port` of a test's own servers, the only ones that are not asked to be public.
    `pause` is the seconds between two reads of one host.
    """

    def __init__(
        self,
        *,
        local_sites: Collection[str] = (),
        pause: float = 1.0,
        seconds: float = _SECONDS,
        resolve: Resolve = resolve_name,
        dial: Dial = dial_tcp,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._local_sites = frozenset(local_sites)
        self._seconds = seconds
        self._resolve = resolve
        self._dial = dial
        self._given_tls = tls
        self._pace = HostPace(pause)
        self._robots = Robots()

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or httpcore2.default_ssl_context()

    def fetch(self, request: FetchRequest) -> Fetched:
        url = parse_url(request.url, local_sites=self._local_sites)
        return self._follow(url, request, Deadline(self._seconds), polite=True)

    def _read_robots(self, url: WebUrl, deadline: Deadline) -> Fetched:
        return self._follow(url, FetchRequest(str(url), MAX_BYTES), deadline, polite=False)

    def _follow(self, url: WebUrl, request: FetchRequest, deadline: Deadline, *, polite: bool) -> Fetched:
        for _ in range(_REDIRECTS + 1):
            if polite:
                delay = self._robots.allow(url, partial(self._read_robots, deadline=deadline))
                self._pace.wait(url.host, delay=delay, at_most=deadline.left(_LONGEST_PAUSE))
            answer = self._hop(url, request, deadline)
            if isinstance(answer, Fetched):
                return answer
            url = answer
        raise FetchFailedError(f"The address redirects more than {_REDIRECTS} times.")

    def _hop(self, url: WebUrl, request: FetchRequest, deadline: Deadline) -> Fetched | WebUrl:
        """One request: its answer, or where it redirects to."""
        addresses = checked_addresses(url, self._resolve, deadline, local_sites=self._local_sites)
        connection = httpcore2.HTTPConnection(
            httpcore2.Origin(url.scheme.encode(), url.host.encode(), url.port),
            ssl_context=self._tls if url.scheme == "https" else None,
            network_backend=PinnedBackend(addresses, self._dial, deadline),
        )
        target = httpcore2.URL(
            scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode()
        )
        try:
            with connection, connection.stream("GET", target, headers=_headers(url, request)) as response:
                return self._answer(url, request, response)
        except AlmanacError:
            raise
        except (
            httpcore2.NetworkError,
            httpcore2.TimeoutException,
            httpcore2.ProtocolError,
            ssl.SSLError,
            OSError,
        ) as error:
            raise FetchFailedError(f"The host {url.host} gave no answer: {type(error).__name__}.") from error

    def _answer(self, url: WebUrl, request: FetchRequest, response: httpcore2.Response) -> Fetched | WebUrl:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }
        if response.status in _REDIRECT_STATUSES and "location" in headers:
            location = headers["location"].encode("latin-1").decode("utf-8", "replace")
            return join_url(url, location, local_sites=self._local_sites)
        content_type = headers.get("content-type", "")[:200]
        body = b""
        if response.status == 200:
            require_document(content_type)
            declared = headers.get("content-length", "")
            body = read_body(
                response.iter_stream(),
                encoding=headers.get("content-encoding", ""),
                declared=int(declared) if declared.isdecimal() else None,
                limit=request.max_bytes,
            )
        return Fetched(
            url=str(url),
            status=response.status,
            content_type=content_type,
            body=body,
            etag=_validator(headers.get("etag")),
            last_modified=_validator(headers.get("last-modified")),
            retry_after=_retry_after(headers.get("retry-after"), datetime.now(UTC)),
        )


def _headers(url: WebUrl, request: FetchRequest) -> list[tuple[str, str]]:
    headers = [
        ("Host", url.site),
        ("User-Agent", f"{AGENT}/1.0"),
        ("Accept", _ACCEPT),
        ("Accept-Encoding", ACCEPT_ENCODING),
        ("Connection", "close"),
    ]
    if request.etag is not None:
        headers.append(("If-None-Match", request.etag))
    if request.last_modified is not None:
        headers.append(("If-Modified-Since", request.last_modified))
    return headers


def _validator(value: str | None) -> str | None:
    """What may be sent back as it came: short, printable ASCII."""
    if not value or len(value) > _LONGEST_VALIDATOR or not (value.isascii() and value.isprintable()):
        return None
    return value


def _retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds, from a number of them or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp())
