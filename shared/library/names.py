"""Names of knowledge bases: letters, digits and spaces of any script, unique after lower-casing."""

from __future__ import annotations

import unicodedata

from shared.domain.errors import InvalidRequestError
from shared.domain.ids import content_id

_LONGEST = 100
# Letters, digits and the marks that many scripts write their vowels with.
_ALLOWED = ("L", "M", "N")


def clean_name(name: str) -> str:
    """The name in its composed form, with single plain spaces. Raises `InvalidRequestError`."""
    composed = unicodedata.normalize("NFC", name)
    words = "".join(" " if unicodedata.category(c) == "Zs" else c for c in composed).split(" ")
    cleaned = " ".join(word for word in words if word)
    odd = sorted({c for c in cleaned if c != " " and not unicodedata.category(c).startswith(_ALLOWED)})
    if odd:
        shown = " ".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in odd[:5])
        raise _invalid(f"only letters, digits and spaces; not {shown}")
    if not 1 <= len(cleaned) <= _LONGEST:
        raise _invalid(f"1 to {_LONGEST} characters")
    return cleaned


def name_key(name: str) -> str:
    """What must be unique: the lower-cased name, composed again since lower-casing can take letters apart."""
    return unicodedata.normalize("NFC", name.lower())


def claim_id(key: str) -> str:
    """The id of the claim on a name."""
    return content_id("name", key)


def _invalid(message: str) -> InvalidRequestError:
    return InvalidRequestError("The name is not usable for a knowledge base.", fields=(("name", message),))
