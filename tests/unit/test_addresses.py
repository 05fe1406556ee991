"""Which IP addresses count as public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.addresses import is_public

PUBLIC = """
8.8.8.8 1.1.1.1 93.184.216.34 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.0.1.1 198.17.255.255
198.20.0.0 223.255.255.255 2606:2800:220:1:248:1893:25c8:1946 2a00:1450:4001:81b::200e 2001:4860:4860::8888
::ffff:8.8.8.8 64:ff9b::808:808
"""
PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1
198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:127.0.0.1 64:ff9b::7f00:1
64:ff9b::a9fe:a9fe 64:ff9b::a00:1 64:ff9b:1::808:808 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2002:808:808:: 2620:4f:8000::1
3fff::1 5f00::1 fc00::1 fd00::1 fd20:ce::254 fe80::1 fe80::1%eth0 fe80::5efe:127.0.0.1 fec0::1 ff02::1 ff0e::1
"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", PRIVATE.split())
def test_addresses_of_other_networks(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_never_wider_than_the_standard_library(address: IPv4Address) -> None:
    if is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=6))
def test_never_wider_than_the_standard_library_in_ipv6(address: IPv6Address) -> None:
    if is_public(str(address)) and address.ipv4_mapped is None:
        assert address.is_global
        assert not address.is_multicast
        assert address.sixtofour is None
        assert address.teredo is None


def test_what_is_no_address_is_an_error() -> None:
    with pytest.raises(ValueError, match="localhost"):
        is_public("localhost")
