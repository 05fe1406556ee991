"""What every embedding model must be protected from."""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain.errors import InvalidRequestError


def clean_text(text: str) -> str:
    """NUL becomes a space (C strings end there) and a lone surrogate a question mark (it has no UTF-8)."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def clean_passages(texts: Sequence[str]) -> list[str]:
    """Raises `ValueError` for a blank text: models refuse it or, worse, give it a vector."""
    cleaned = [clean_text(text) for text in texts]
    for position, text in enumerate(cleaned):
        if not text.strip():
            raise ValueError(f"passage {position} of {len(cleaned)} is blank and cannot be embedded")
    return cleaned


def clean_query(text: str) -> str:
    """Raises `InvalidRequestError` for a blank query."""
    cleaned = clean_text(text)
    if not cleaned.strip():
        raise InvalidRequestError("The query is blank.", hint="Send a question of at least one character.")
    return cleaned
