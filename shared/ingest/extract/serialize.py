"""An extraction as bytes: how it is kept in storage, and how it leaves the child process."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from shared.domain.knowledge import Coverage
from shared.domain.text import Extraction, PageSpan


def dump_extraction(extraction: Extraction) -> bytes:
    """UTF-8 JSON; `load_extraction` gives back an equal value."""
    return json.dumps(asdict(extraction), ensure_ascii=False, separators=(",", ":")).encode()


def load_extraction(data: bytes) -> Extraction:
    """Raises `ValueError`, `KeyError` or `TypeError` when `data` was not written by `dump_extraction`."""
    fields: dict[str, Any] = json.loads(data)
    coverage = fields["coverage"]
    return Extraction(
        markdown=fields["markdown"],
        coverage=Coverage(
            unit=coverage["unit"],
            total=coverage["total"],
            with_text=coverage["with_text"],
            missing=tuple(coverage["missing"]),
            left_out=tuple(coverage["left_out"]),
        ),
        title=fields["title"],
        language=fields["language"],
        pages=tuple(PageSpan(**page) for page in fields["pages"]),
        notes=tuple(fields["notes"]),
    )
