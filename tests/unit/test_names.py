"""Names of knowledge bases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import InvalidRequestError
from shared.library.names import clean_name, name_key

ALLOWED = st.text(st.characters(categories=["L", "M", "N", "Zs"]), min_size=1, max_size=40)


@given(ALLOWED)
def test_a_clean_name_is_clean(text: str) -> None:
    try:
        name = clean_name(text)
    except InvalidRequestError:
        assert not text.strip()  # only spaces
        return
    assert clean_name(name) == name
    assert name == " ".join(name.split(" "))


@given(ALLOWED.filter(str.strip))
def test_the_key_is_the_same_however_the_name_is_composed(text: str) -> None:
    import unicodedata

    keys = {name_key(clean_name(unicodedata.normalize(form, text))) for form in ("NFC", "NFD")}
    assert len(keys) == 1
    assert name_key(keys.pop()) == name_key(clean_name(text))


@given(ALLOWED, st.characters(categories=["P", "S", "Cc", "Cf", "Co"]))
def test_anything_else_is_refused(text: str, odd: str) -> None:
    with pytest.raises(InvalidRequestError):
        clean_name(text + odd + text)
