"""Knowledge with a purpose outside chat, told by a knowledge base's category: closed vocabularies, and the
identity of a brand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.accounts import Caller
from shared.domain.knowledge import KnowledgeBase, Record
from shared.domain.media import Word
from shared.library.inline import is_inline, read_inline
from shared.ports import AccountStore, Query
from shared.records import KNOWLEDGE_BASES, RECORDS


class Vocabulary(StrEnum):
    """Categories whose words are the only ones that an image is described with."""

    TAGS = "media-tags"
    FLAGS = "media-flags"


BRAND_IDENTITY = "brand-identity"

# The field of a form's entry that holds the word, whichever of these it has.
_WORD_FIELDS = ("word", "tag", "flag", "name", "label", "title")
_MEANING_FIELDS = ("meaning", "description", "definition")
# A page has one word a line, perhaps as a list, perhaps with what it means behind a colon or a dash.
_MARKER = re.compile(r"\A\s*(?:[-*+•]|\d+[.)])(?:\s+|\Z)")
_MEANS = re.compile(r"\s*[:：]\s*|\s+[-–—]\s+")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class BrandPart:
    """What one knowledge base says; of one with documents only what it says of itself."""

    knowledge_base_id: str
    name: str
    text: str


def read_vocabulary(store: AccountStore, caller: Caller, vocabulary: Vocabulary) -> tuple[Word, ...]:
    """The words of every active form and page of this category that the caller may see, as they are now; the
    first spelling of a word counts."""
    words: dict[str, Word] = {}
    for base in _of_category(store, caller, vocabulary.value):
        if is_inline(base):
            query = Query(where=(("knowledge_base_id", "==", base.id),), order_by="created_at")
            for word in words_of(store.every(RECORDS, query)):
                words.setdefault(word.word.casefold(), word)
    return tuple(words.values())


def read_brand(store: AccountStore, caller: Caller) -> tuple[BrandPart, ...]:
    """The parts of the brand's identity that the caller may see, by name."""
    return tuple(
        BrandPart(base.id, base.name, read_inline(store, base) if is_inline(base) else base.description)
        for base in _of_category(store, caller, BRAND_IDENTITY)
    )


def words_of(records: Iterable[Record]) -> Iterator[Word]:
    """A form's entry is a word; a page is one on each line. Headings and what is too long to be a word are
    passed over."""
    for record in records:
        found = _lines(record.text) if record.text is not None else _entry(record)
        yield from (word for word in found if 0 < len(word.word) <= _LONGEST)


def _entry(record: Record) -> Iterator[Word]:
    values = {name.casefold(): str(value).strip() for name, value in record.values.items()}
    word = next((values[name] for name in _WORD_FIELDS if values.get(name)), None)
    if word is None and len(values) == 1:
        word = next(iter(values.values()))
    if word is not None:
        yield Word(word, next((values[name] for name in _MEANING_FIELDS if name in values), ""))


def _lines(text: str) -> Iterator[Word]:
    for line in text.splitlines():
        if not line.lstrip().startswith("#"):
            word, *meaning = _MEANS.split(_MARKER.sub("", line, count=1), maxsplit=1)
            yield Word(word.strip("*_` "), "".join(meaning).strip())


def _of_category(store: AccountStore, caller: Caller, category: str) -> list[KnowledgeBase]:
    where = (("category", "==", category), ("active", "==", True))
    found = store.every(KNOWLEDGE_BASES, Query(where=where))
    seen = [base for base in found if not base.deleting and caller.reaches(base.department_ids)]
    return sorted(seen, key=lambda base: base.name_key)
