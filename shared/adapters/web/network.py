"""Names to checked addresses, and connections to exactly these."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from ipaddress import ip_address
from typing import Any

import httpcore2

from shared.domain.addresses import is_public
from shared.domain.errors import FetchFailedError, UrlForbiddenError
from shared.domain.web_url import WebUrl

# Host name to numeric addresses.
Resolve = Callable[[str], Sequence[str]]
# Numeric address, port and seconds to a connection.
Dial = Callable[[str, int, float], httpcore2.NetworkStream]

_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 20.0


class Deadline:
    """The time that one fetch has for everything: names, connections, redirects and content."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self, at_most: float) -> float:
        """Seconds for the next step. Raises `FetchFailedError` when the time is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise FetchFailedError(f"The address did not answer whole within {self._seconds:g} seconds.")
        return min(left, at_most)


def resolve_name(host: str) -> Sequence[str]:
    """The addresses of a host in the system's order of preference. Raises `OSError`."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def dial_tcp(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
    return httpcore2.SyncBackend().connect_tcp(address, port, timeout=seconds)


def checked_addresses(
    url: WebUrl, resolve: Resolve, deadline: Deadline, *, local_sites: Collection[str]
) -> Sequence[str]:
    """The numeric addresses of the host. Raises `UrlForbiddenError` unless every one of them is public: a
    name that leads to both is an attempt to get in by the order of its answers."""
    try:
        addresses: Sequence[str] = [str(ip_address(url.host))]
    except ValueError:
        addresses = _resolved(url.host, resolve, deadline)
    if f"{url.host}:{url.port}" in local_sites:
        return addresses
    if not addresses:
        raise FetchFailedError(f"The host {url.host} has no address.")
    if not all(is_public(address) for address in addresses):
        raise UrlForbiddenError(f"The host {url.host} is not on the public internet.")
    return addresses


def _resolved(host: str, resolve: Resolve, deadline: Deadline) -> Sequence[str]:
    """The system's resolver knows no time limit, so it runs beside us and is left to itself when late."""
    answer: list[Sequence[str] | OSError] = []

    def run() -> None:
        try:
            answer.append(resolve(host))
        except OSError as error:
            answer.append(error)

    thread = threading.Thread(target=run, name="resolve", daemon=True)
    thread.start()
    thread.join(deadline.left(_CONNECT_SECONDS))
    if not answer:
        raise FetchFailedError(f"The name {host} was not resolved in time.")
    if isinstance(answer[0], OSError):
        raise FetchFailedError(f"The name {host} cannot be resolved.") from answer[0]
    return answer[0]


class PinnedBackend(httpcore2.NetworkBackend):
    """Connects to the addresses that were checked, whatever the name would resolve to by now. TLS still
    verifies the name, and the request still carries it."""

    def __init__(self, addresses: Sequence[str], dial: Dial, deadline: Deadline) -> None:
        self._addresses = addresses
        self._dial = dial
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception | None = None
        for address in self._addresses:
            try:
                stream = self._dial(address, port, self._deadline.left(_CONNECT_SECONDS))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _TimedStream(stream, self._deadline)
        raise failure or httpcore2.ConnectError(f"{host} has no address")


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose every step is held to the deadline of the whole: a server that sends one byte now
    and then would otherwise never time out."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(_SILENCE_SECONDS))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left(_SILENCE_SECONDS))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = self._deadline.left(_CONNECT_SECONDS)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
