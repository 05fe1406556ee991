"""When a document counts: from when until when it is in effect, and which other document replaces it."""

from __future__ import annotations

from datetime import datetime

from shared.domain.knowledge import Document


def is_future(document: Document, at: datetime) -> bool:
    """Whether it is not in effect yet."""
    return document.effective_from is not None and document.effective_from > at


def is_past(document: Document, successor: Document | None, at: datetime) -> bool:
    """Whether it is archived, out of effect, or replaced. `successor` is the document that `superseded_by`
    names: it takes over once it is readable and in effect, and not if it is archived itself."""
    if document.archived or (document.effective_to is not None and document.effective_to <= at):
        return True
    return (
        successor is not None and successor.live and not successor.archived and not is_future(successor, at)
    )
