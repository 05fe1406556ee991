"""Knowledge that travels whole: records of `form` and `page` knowledge bases as text, and how much fits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from shared.domain.errors import TextTooLargeError
from shared.domain.knowledge import KnowledgeBase, KnowledgeBaseType, MetadataValue, Record
from shared.ports import AccountStore, Query, TokenCounter, Transaction
from shared.records import KNOWLEDGE_BASES, RECORDS

# More than any plan holds.
_MOST_BASES = 1_000


class InlineTooLargeError(TextTooLargeError):
    title = "The inline knowledge is too large"
    default_hint = (
        "Shorten it, or keep it as documents in a knowledge base of type files, which are searched."
    )


@dataclass(frozen=True, slots=True)
class InlineRoom:
    """`limit` is how many tokens of records one request can carry."""

    count_tokens: TokenCounter
    limit: int


def is_inline(base: KnowledgeBase) -> bool:
    return base.type is not KnowledgeBaseType.FILES


def render_record(record: Record) -> str:
    """A page's text, or a form's entry with one line a field. Fields are ordered by name: the database keeps
    no other order."""
    if record.text is not None:
        return record.text.strip()
    return "\n".join(f"{name}: {_value(value)}" for name, value in sorted(record.values.items()))


def read_inline(store: AccountStore, base: KnowledgeBase) -> str:
    """Every record, in the order of their making; empty when there is none."""
    query = Query(where=(("knowledge_base_id", "==", base.id),), order_by="created_at")
    return "\n\n".join(map(render_record, store.every(RECORDS, query)))


class InlineTexts:
    """The texts of `read_inline` in this instance's memory: what a request has to carry is the same from one
    to the next, and reading a form of 2,000 small entries takes more than half a second.

    The knowledge base's record is read for every request; equal versions need nothing more. What was used
    longest ago goes first.
    """

    def __init__(self, characters: int = 8_000_000) -> None:
        self._room = characters
        self._texts: OrderedDict[tuple[str, str, int], str] = OrderedDict()
        self._lock = Lock()

    def read(self, store: AccountStore, base: KnowledgeBase) -> str:
        key = (store.account_id, base.id, base.inline_version)
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
                return self._texts[key]
        # Records that change meanwhile have raised the version: nobody asks for this one any more.
        text = read_inline(store, base)
        with self._lock:
            self._room -= 0 if key in self._texts else len(text)
            self._texts[key] = text
            while self._room < 0:
                _, oldest = self._texts.popitem(last=False)
                self._room += len(oldest)
        return text


def require_inline_room(tx: Transaction, base: KnowledgeBase, limit: int) -> None:
    """Raises `InlineTooLargeError` when the knowledge base, or with it the automatic context of one of its
    departments, is more than one request can carry. Who is in several departments may still have more: then
    the request tells what it left out."""
    if not is_inline(base):
        return
    if base.inline_tokens > limit:
        raise InlineTooLargeError(
            f"The records of {base.name!r} would have {base.inline_tokens:,} tokens; a request carries "
            f"{limit:,}."
        )
    if not (base.is_auto_context and base.active):
        return
    where = (("is_auto_context", "==", True), ("active", "==", True))
    every = tx.find(KNOWLEDGE_BASES, Query(where=where, limit=_MOST_BASES))
    total = base.inline_tokens + _beside(base, [other for other in every if _counts(base, other)])
    if total > limit:
        raise InlineTooLargeError(
            f"With {base.name!r} the automatic context would have {total:,} tokens of records; a request "
            f"carries {limit:,}."
        )


def require_fit(bases: Iterable[KnowledgeBase], limit: int, what: str) -> None:
    """Raises `InlineTooLargeError` when these knowledge bases together are more than one request carries."""
    counted = {base.id: base for base in bases if is_inline(base)}
    total = sum(base.inline_tokens for base in counted.values())
    if total > limit:
        sizes = ", ".join(f"{base.name} {base.inline_tokens:,}" for base in counted.values())
        raise InlineTooLargeError(
            f"The inline knowledge of {what} has {total:,} tokens ({sizes}); a request carries {limit:,}."
        )


def automatic(store: AccountStore) -> Iterator[KnowledgeBase]:
    """What is active and comes by itself."""
    return store.every(
        KNOWLEDGE_BASES, Query(where=(("is_auto_context", "==", True), ("active", "==", True)))
    )


def _counts(base: KnowledgeBase, other: KnowledgeBase) -> bool:
    return other.id != base.id and not other.deleting and is_inline(other)


def _beside(base: KnowledgeBase, others: Sequence[KnowledgeBase]) -> int:
    """Tokens of the others that come with it, in the department that has most."""
    departments = set(base.department_ids) or {name for other in others for name in other.department_ids}

    def tokens(department: str) -> int:
        seen = (one for one in others if not one.department_ids or department in one.department_ids)
        return sum(one.inline_tokens for one in seen)

    return max(map(tokens, departments or {""}))


def _value(value: MetadataValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
