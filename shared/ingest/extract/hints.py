"""What a client says about a file."""

from __future__ import annotations

import os.path
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hints:
    """Used only where the bytes leave a choice. `charset` is what a web server declared."""

    name: str = ""
    type: str = ""

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - pathlib costs a child 8 ms

    @property
    def media_type(self) -> str:
        return self.type.partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        for part in self.type.split(";")[1:]:
            key, _, value = part.partition("=")
            if key.strip().lower() == "charset":
                return value.strip(" \"'").lower() or None
        return None
