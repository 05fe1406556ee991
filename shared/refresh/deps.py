"""What following addresses needs of the container."""

from __future__ import annotations

from typing import Protocol

from shared.library.deps import LibraryDeps
from shared.ports import Fetcher
from shared.settings import Settings


class AddressDeps(LibraryDeps, Protocol):
    @property
    def settings(self) -> Settings: ...


class RefreshDeps(AddressDeps, Protocol):
    @property
    def fetcher(self) -> Fetcher: ...
