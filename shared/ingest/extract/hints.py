"""What a client says about a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Hints:
    """Used only where the bytes leave a choice. `charset` is what a web server declared."""

    name: str = ""
    type: str = ""

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()

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
