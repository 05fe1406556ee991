"""What every embedding model must be protected from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest

from shared.domain.errors import InvalidRequestError
from shared.domain.sentences import Sentence, split_sentences

_ASKS = ("?", "？", "؟", "吗", "呢")


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


def clean_query(text: str, most_tokens: int, count: Callable[[str], int]) -> str:
    """A query as it is embedded: at most `most_tokens` of it, as `count` counts them. Raises
    `InvalidRequestError` for a blank query.

    A question is a sentence or two. What is longer is mostly something pasted, around which somebody asks:
    the sentences that ask are taken first, then those at both ends, as many as fit, in their order. A vector
    of all of it would be near to nothing, and cost seconds. Words are looked up in all of it elsewhere.
    """
    cleaned = clean_text(text)
    if not cleaned.strip():
        raise InvalidRequestError("The query is blank.", hint="Send a question of at least one character.")
    # A token is a byte at least: short texts need no counting.
    if len(cleaned.encode()) <= most_tokens or count(cleaned) <= most_tokens:
        return cleaned
    sentences = split_sentences(cleaned)
    kept: list[int] = []
    left = most_tokens
    for place in _most_telling(sentences):
        tokens = count(sentences[place].text) + 1  # the blank between two
        if tokens <= left:
            kept.append(place)
            left -= tokens
    return " ".join(sentences[place].text for place in sorted(kept)) or _ends(cleaned, most_tokens, count)


def _most_telling(sentences: Sequence[Sentence]) -> Iterator[int]:
    """Places of sentences: those that ask, the last one first, then from both ends inwards."""
    asking = [
        place
        for place, sentence in enumerate(sentences)
        if sentence.text.rstrip("\"'”’)）」』").endswith(_ASKS)
    ]
    middle = (len(sentences) + 1) // 2
    inwards = zip_longest(range(len(sentences) - 1, middle - 1, -1), range(middle))
    order = chain(reversed(asking), chain.from_iterable(inwards))
    yield from dict.fromkeys(place for place in order if place is not None)


def _ends(text: str, most_tokens: int, count: Callable[[str], int]) -> str:
    """Both ends of a text that has no sentence short enough: halved until they fit."""
    half = len(text) // 2
    while half > 1 and count(f"{text[:half]} {text[-half:]}") > most_tokens:
        half //= 2
    return f"{text[:half]} {text[-half:]}"
