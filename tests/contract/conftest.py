"""What tests of the parts of the stack share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulators.delivery.clock import MovableClock
from emulators.identity import TokenIssuer
from tests.emulated import storage_url
from tests.receiver import Receiver

__all__ = ["storage_url"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(scope="session")
def tokens() -> Iterator[TokenIssuer]:
    issuer = TokenIssuer()
    issuer.start()
    yield issuer
    issuer.stop()
