"""An image, described in the words of the account's own vocabularies and no others."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from shared.domain.accounts import Caller
from shared.domain.errors import (
    EmptyFileError,
    ModelUnavailableError,
    TooLargeError,
    TransientError,
    UnsupportedTypeError,
)
from shared.domain.media import Described, DescribeRequest, Image, Word
from shared.domain.spending import Purpose, Spending
from shared.library.vocabulary import Vocabulary, read_vocabulary
from shared.ports import AccountStore, Clock, ImageDescriber, Store
from shared.tenancy.usage import count_search

log = logging.getLogger(__name__)

# What the API takes of an image is 5 MB as base64, which is four bytes for three.
MAX_IMAGE_BYTES = 3_750_000
_RETRIES = 1


class DescribeDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def describer(self) -> ImageDescriber: ...


def describe(deps: DescribeDeps, caller: Caller, data: bytes) -> Described:
    """Description, tags and flags. A word that is in neither vocabulary is sent back once.

    Raises `EmptyFileError`, `TooLargeError`, `UnsupportedTypeError`, and `ModelUnavailableError`, also when
    the model stays with words of its own.
    """
    image = read_image(data)
    store = deps.store.of(caller.account_id)
    tags = read_vocabulary(store, caller, Vocabulary.TAGS)
    flags = read_vocabulary(store, caller, Vocabulary.FLAGS)
    refused: tuple[str, ...] = ()
    for _ in range(_RETRIES + 1):
        found = deps.describer.describe(DescribeRequest(image, tags, flags, refused))
        _count(deps, store, found)
        refused = (*_foreign(found.tags, tags), *_foreign(found.flags, flags))
        if not refused:
            return _clean(found)
        log.info("a description used foreign words", extra={"words": len(refused)})
    raise ModelUnavailableError(
        f"{deps.describer.name} described the image with {len(refused)} words that are in no vocabulary."
    )


def _count(deps: DescribeDeps, store: AccountStore, found: Described) -> None:
    """A description that cannot be counted is given all the same."""
    try:
        count_search(store, [Spending(Purpose.IMAGE, found.use)], {}, deps.clock.now())
    except TransientError:
        log.warning("usage of an image not counted", exc_info=True)


def read_image(data: bytes) -> Image:
    """The kind is told from the bytes. Raises `EmptyFileError`, `TooLargeError`, `UnsupportedTypeError`."""
    if not data:
        raise EmptyFileError("The image has 0 bytes.")
    if len(data) > MAX_IMAGE_BYTES:
        raise TooLargeError(
            f"The image has more than {MAX_IMAGE_BYTES:,} bytes.",
            hint="Send it smaller: 1,600 pixels are plenty.",
        )
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Image(data, "image/png")
    if data.startswith(b"\xff\xd8\xff"):
        return Image(data, "image/jpeg")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Image(data, "image/webp")
    raise UnsupportedTypeError("The file is no PNG, JPEG or WebP.", hint="Send the image as one of these.")


def _foreign(given: Iterable[str], vocabulary: Iterable[Word]) -> tuple[str, ...]:
    known = {one.word for one in vocabulary}
    return tuple(word for word in given if word not in known)


def _clean(found: Described) -> Described:
    return Described(
        found.description.strip(),
        tuple(dict.fromkeys(found.tags)),
        tuple(dict.fromkeys(found.flags)),
        found.use,
    )
