from __future__ import annotations

from tests.emulated import storage_url

__all__ = ["storage_url"]
