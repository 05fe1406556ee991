"""What a prompt is made of, in which order, and how much room each part has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SectionKind(StrEnum):
    NOTES = "notes"
    INSTRUCTIONS = "instructions"
    INLINE = "inline"
    POINTERS = "pointers"
    SPACE = "space"
    AGENT = "agent"
    SKILLS = "skills"
    STANDARDS = "standards"
    MEMORY = "memory"
    CONNECTION = "connection"
    APPS = "apps"
    EARLIER = "earlier"
    HISTORY = "history"
    REFERENCES = "references"
    FILES = "files"
    SEARCH = "search"
    QUESTION = "question"


class Place(StrEnum):
    """The part of the call that a section goes to."""

    SYSTEM = "system"
    HISTORY = "history"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Slot:
    """`budget` is in tokens; None for what is never cut: it is ours, or was bounded when it came in.
    Retrieval has filled its own budget already; what is counted here is its text in the block's markup."""

    kind: SectionKind
    place: Place
    budget: int | None


# Tokens of inline records that one request can carry: what is over it is refused when it is saved. The
# section has a little more room, for its markup.
INLINE_TOKENS = 20_000

# The one table of order and budgets. What is stable comes first, so that a provider's prompt cache holds it;
# what changes with every question comes last.
SLOTS = (
    Slot(SectionKind.NOTES, Place.SYSTEM, None),
    Slot(SectionKind.INSTRUCTIONS, Place.SYSTEM, None),
    Slot(SectionKind.INLINE, Place.SYSTEM, INLINE_TOKENS + 2_000),
    Slot(SectionKind.POINTERS, Place.SYSTEM, 4_000),
    Slot(SectionKind.SPACE, Place.SYSTEM, 4_000),
    Slot(SectionKind.AGENT, Place.SYSTEM, 5_000),
    Slot(SectionKind.SKILLS, Place.SYSTEM, 2_000),
    Slot(SectionKind.STANDARDS, Place.SYSTEM, 4_000),
    Slot(SectionKind.MEMORY, Place.SYSTEM, 1_500),
    Slot(SectionKind.CONNECTION, Place.SYSTEM, 1_000),
    Slot(SectionKind.APPS, Place.SYSTEM, 6_000),
    Slot(SectionKind.EARLIER, Place.HISTORY, 1_200),
    Slot(SectionKind.HISTORY, Place.HISTORY, 4_800),
    Slot(SectionKind.REFERENCES, Place.USER, 12_000),
    Slot(SectionKind.FILES, Place.USER, 24_000),
    Slot(SectionKind.SEARCH, Place.USER, None),
    Slot(SectionKind.QUESTION, Place.USER, None),
)

# When the turns that stand whole have more tokens than this, the oldest are folded into the summary until
# they have no more than that: several turns at a time, so that what stands before the latest ones stays the
# same for a while, and the provider's prompt cache with it. The rest of the budget is for turns that come
# before the folding is done.
FOLD_ABOVE = 3_200
FOLD_DOWN_TO = 1_600

BUDGETS = {slot.kind: slot.budget for slot in SLOTS}
PLACES = {slot.kind: slot.place for slot in SLOTS}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a prompt: `sources` are the ids that it came from, `reason` is why it is in."""

    kind: SectionKind
    title: str
    text: str
    sources: tuple[str, ...]
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Omitted:
    """A part that was left out, and why."""

    kind: SectionKind
    title: str
    sources: tuple[str, ...]
    tokens: int
    reason: str
