"""What a model was paid for and is kept, so that nobody pays for it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Paid:
    """`payload` is a summary in UTF-8, or a vector in little-endian float16; `document_id` names the document
    that it was made for, with which it goes."""

    id: str
    model: str
    payload: bytes
    document_id: str
    created_at: datetime
