"""Addresses of pages on the public web: which ones may be opened, as far as their text tells.

Parsers of URLs disagree on odd spellings, and a spelling that one of them checks and another one opens is a
way into a private network. So there is one strict grammar, and what is opened is written anew from its parts.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from shared.domain.addresses import is_public
from shared.domain.errors import UrlForbiddenError

_LONGEST_URL = 2_083  # characters, as Cloud Tasks and most browsers take them
_LONGEST_HOST = 253
_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
# What browsers read as an IPv4 address: the last label is a decimal, octal or hexadecimal number.
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")
# Names that never are on the public web (RFC 6761, 6762, 7686, 8375), and those of cloud networks.
_PRIVATE_ENDINGS = frozenset(
    {"arpa", "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost"}
    | {"onion", "private"}
)
_PATH = "/%:@!$&'()*+,;=~-._"
_QUERY = _PATH + "?[]"


@dataclass(frozen=True, slots=True)
class WebUrl:
    """`host` is a lower-case ASCII name, an IPv4 address, or an IPv6 address without brackets; `target` is
    path and query, ASCII, as it goes onto the wire."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def site(self) -> str:
        """`host:port`, or the host alone on the port of its scheme; as the `Host` header writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.site}"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse_url(text: str, *, local_sites: Collection[str] = ()) -> WebUrl:
    """The address in `text`. Raises `UrlForbiddenError`, which says what is wrong with it.

    `local_sites` are `host:port` of a test's own servers: these alone may be without a public name and on
    another port than 80 and 443. Whether a name leads to a public address is only known when it is resolved.
    """
    _check_characters(text)
    try:
        parts = urlsplit(text)
        given = parts.port
    except ValueError as error:
        raise UrlForbiddenError(f"The address {_shown(text)} cannot be read: {error}") from error
    scheme = parts.scheme
    if scheme not in _PORTS:
        raise UrlForbiddenError(f"The address {_shown(text)} does not begin with http:// or https://.")
    if "@" in parts.netloc:
        raise UrlForbiddenError("The address holds a user name or a password.")
    if not parts.netloc or not parts.hostname:
        raise UrlForbiddenError(f"The address {_shown(text)} names no host.")
    port = _PORTS[scheme] if given is None else given
    if f"{parts.hostname}:{port}" in local_sites:
        return WebUrl(scheme, parts.hostname, port, _target(parts))
    if port not in _PORTS.values():
        raise UrlForbiddenError(f"Port {port} is not one that pages are fetched from.")
    return WebUrl(scheme, _host(parts), port, _target(parts))


def join_url(base: WebUrl, reference: str, *, local_sites: Collection[str] = ()) -> WebUrl:
    """Where a redirect leads. Raises `UrlForbiddenError` as `parse_url` does."""
    # Servers write blanks and characters of any script into `Location`; browsers encode them.
    tidy = quote(reference.strip(), safe=_QUERY + "#\\" + "\x00\t\r\n")
    _check_characters(tidy)
    try:
        return parse_url(urljoin(str(base), tidy), local_sites=local_sites)
    except ValueError as error:
        raise UrlForbiddenError(f"The redirect to {_shown(tidy)} cannot be read: {error}") from error


def same_site(first: str, second: str) -> bool:
    """Whether two hosts are one site to a reader: equal, but for a leading `www.`."""
    return first.removeprefix("www.") == second.removeprefix("www.")


def _check_characters(text: str) -> None:
    if not text or len(text) > _LONGEST_URL:
        raise UrlForbiddenError(f"The address has {len(text):,} characters; 1 to {_LONGEST_URL:,} are taken.")
    if "\\" in text:
        raise UrlForbiddenError("The address holds a backslash.")
    if any(not character.isprintable() or character.isspace() for character in text):
        raise UrlForbiddenError("The address holds blanks or control characters.")


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if "[" in parts.netloc or ":" in host:
        return _ipv6(parts)
    name = _ascii(host)
    labels = name.split(".")
    if len(name) > _LONGEST_HOST or not all(_LABEL.match(label) for label in labels):
        raise UrlForbiddenError(f"The host {_shown(host)} is not the name of a public host.")
    if _NUMBER.match(labels[-1]):
        return _ipv4(name)
    if len(labels) < 2 or labels[-1] in _PRIVATE_ENDINGS:
        raise UrlForbiddenError(f"The host {_shown(host)} is not the name of a public host.")
    return name


def _ascii(host: str) -> str:
    """The name as it is resolved. Only what IDNA 2008 allows: no digits in circles, no other signs that
    some programs read as dots and digits."""
    if host.isascii():
        return host
    import idna  # noqa: PLC0415 - its tables are for names in other scripts only

    try:
        return idna.encode(host.lower(), strict=True).decode()
    except idna.IDNAError as error:
        raise UrlForbiddenError(f"The host {_shown(host)} is not a valid name: {error}") from error


def _ipv4(name: str) -> str:
    try:
        address = str(ipaddress.IPv4Address(name))
    except ValueError as error:
        raise UrlForbiddenError(f"The host {_shown(name)} is a number, not an address or a name.") from error
    return _public(address)


def _ipv6(parts: SplitResult) -> str:
    if "%" in parts.netloc:
        raise UrlForbiddenError(f"The host {_shown(parts.netloc)} names a network interface.")
    try:
        address = str(ipaddress.IPv6Address(parts.hostname or ""))
    except ValueError as error:
        raise UrlForbiddenError(f"The host {_shown(parts.netloc)} is not an IPv6 address.") from error
    return _public(address)


def _public(address: str) -> str:
    if not is_public(address):
        raise UrlForbiddenError(f"The address {address} is not on the public internet.")
    return address


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_PATH)
    return f"{path}?{quote(parts.query, safe=_QUERY)}" if parts.query else path


def _shown(text: str) -> str:
    return repr(text[:100])
