"""What the routes about the account need of the container."""

from __future__ import annotations

from typing import Protocol

from shared.library.deps import LibraryDeps
from shared.tenancy.authenticate import Authenticator


class AccountDeps(LibraryDeps, Protocol):
    @property
    def authenticator(self) -> Authenticator: ...
