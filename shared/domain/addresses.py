"""Which IP addresses are on the public internet.

After the special-purpose registries of IANA (iana.org/assignments/iana-ipv4-special-registry and -ipv6-),
written out: what the standard library calls global differs between its versions and lets through tunnels and
groups.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_FORBIDDEN_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared between carriers and their customers
        "127.0.0.0/8",
        "169.254.0.0/16",  # the link, metadata servers among it
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocols
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # groups
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_FORBIDDEN_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocols, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to the IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
# IPv6 addresses that stand for an IPv4 one where the network translates; what counts is that one.
_TRANSLATED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


def is_public(address: str) -> bool:
    """Whether a connection to the address stays on the public internet. Raises `ValueError` for what is no
    address.

    Addresses that carry another one inside are judged by it where networks really translate (IPv4-mapped,
    NAT64); other tunnels (6to4, Teredo, IPv4-compatible, local NAT64) lead wherever their end says and are
    refused.
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _FORBIDDEN_V4)
    return _is_public_v6(parsed)


def _is_public_v6(address: IPv6Address) -> bool:
    if address.scope_id is not None:
        return False
    if any(address in network for network in _TRANSLATED):
        return is_public(str(IPv4Address(int(address) & 0xFFFFFFFF)))
    return address in _PUBLIC_V6 and not any(address in network for network in _FORBIDDEN_V6)
