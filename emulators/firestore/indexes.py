"""The indexes file."""

from __future__ import annotations


class Indexes:
    pass
