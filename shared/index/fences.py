"""Which rows of a segment no longer count."""

from __future__ import annotations

from dataclasses import dataclass

# The fence of a deleted document: no revision gets there.
NEVER = 2**31


@dataclass(frozen=True, slots=True)
class Fence:
    """Rows of a document's revisions below `revision` are dead; `dead` of them are still in segments."""

    revision: int
    dead: int
