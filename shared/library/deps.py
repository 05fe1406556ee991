"""What the library needs of the container."""

from __future__ import annotations

from typing import Protocol

from shared.ports import Clock, Objects, Store, TaskQueue


class LibraryDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def uploads(self) -> Objects: ...
    @property
    def derived(self) -> Objects: ...
    @property
    def queue(self) -> TaskQueue: ...
    @property
    def clock(self) -> Clock: ...
