"""One composition for every answer: sections in a fixed order, each inside its budget, each with its reason.

Chat, streaming and previews all come through here, so that what a preview shows is what is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.context import notes
from shared.context.history import recent_turns
from shared.context.references import defused, render_reference, render_references
from shared.context.sections import BUDGETS, SLOTS, Omitted, Place, Section, SectionKind
from shared.domain.models import Prompt, Reference, Turn
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.ports import TokenCounter


@dataclass(frozen=True, slots=True)
class Material:
    """Knowledge that goes into the system text, as its owner wrote it: inline records, guides, memory …"""

    kind: SectionKind
    title: str
    text: str
    sources: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ComposeRequest:
    """`retrieval` None means that none was asked for. `history` is the whole conversation, oldest first."""

    question: str
    retrieval: Retrieval | None = None
    history: tuple[Turn, ...] = ()
    material: tuple[Material, ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """`prompt` is what is sent; `sections` and `omitted` explain it. `tokens` counts all of the prompt."""

    prompt: Prompt
    sections: tuple[Section, ...]
    omitted: tuple[Omitted, ...]
    tokens: int


@dataclass(slots=True)
class _Parts:
    """What composition collects on its way."""

    sections: list[Section] = field(default_factory=list)
    omitted: list[Omitted] = field(default_factory=list)


def compose(request: ComposeRequest, count_tokens: TokenCounter) -> Composition:
    """The prompt for one question. Pure: the same request gives the same prompt, byte for byte."""
    parts = _Parts()
    _add_system(parts, request, count_tokens)
    history = _add_history(parts, request, count_tokens)
    references = _add_references(parts, request, count_tokens)
    system = "\n\n".join(section.text for section in parts.sections if _PLACES[section.kind] is Place.SYSTEM)
    user = _user(request, references)
    prompt = Prompt(
        system=system,
        history=history,
        user=user,
        question=request.question,
        references=references,
        covered=request.retrieval.covered if request.retrieval is not None else False,
    )
    tokens = sum(map(count_tokens, (system, *(turn.text for turn in history), user)))
    return Composition(prompt, tuple(parts.sections), tuple(parts.omitted), tokens)


_PLACES = {slot.kind: slot.place for slot in SLOTS}


def _add_system(parts: _Parts, request: ComposeRequest, count_tokens: TokenCounter) -> None:
    fixed = notes.NOTES
    if any(material.kind in {SectionKind.SPACE, SectionKind.AGENT} for material in request.material):
        fixed = f"{fixed}\n\n{notes.PRECEDENCE}"
    parts.sections.append(
        Section(SectionKind.NOTES, "Fixed notes", fixed, (), count_tokens(fixed), "always there")
    )
    for slot in SLOTS:
        if slot.place is not Place.SYSTEM or slot.kind is SectionKind.NOTES:
            continue
        left = slot.budget
        for material in request.material:
            if material.kind is slot.kind:
                left = _add_material(parts, material, left, count_tokens)


def _add_material(
    parts: _Parts, material: Material, left: int | None, count_tokens: TokenCounter
) -> int | None:
    """Adds what fits, and returns the room that is left. What is cut says so."""
    text = f"# {' '.join(material.title.split())}\n{defused(material.text).strip()}"
    tokens = count_tokens(text)
    if left is not None and tokens > left:
        parts.omitted.append(
            Omitted(material.kind, material.title, material.sources, tokens, "over the section's budget")
        )
        return left
    parts.sections.append(
        Section(material.kind, material.title, text, material.sources, tokens, material.reason)
    )
    return None if left is None else left - tokens


def _add_history(parts: _Parts, request: ComposeRequest, count_tokens: TokenCounter) -> tuple[Turn, ...]:
    if not request.history:
        return ()
    kept = recent_turns(request.history, budget=BUDGETS[SectionKind.HISTORY] or 0, count_tokens=count_tokens)
    left_out = request.history[: len(request.history) - len(kept)]
    if left_out:
        tokens = sum(count_tokens(turn.text) for turn in left_out)
        parts.omitted.append(
            Omitted(SectionKind.HISTORY, "Earlier turns", (), tokens, "older than the history's budget holds")
        )
    if kept:
        text = "\n\n".join(f"{turn.role.value}: {turn.text}" for turn in kept)
        tokens = sum(count_tokens(turn.text) for turn in kept)
        reason = f"the latest {len(kept)} turns"
        parts.sections.append(Section(SectionKind.HISTORY, "Conversation", text, (), tokens, reason))
    return kept


def _add_references(
    parts: _Parts, request: ComposeRequest, count_tokens: TokenCounter
) -> tuple[Reference, ...]:
    if request.retrieval is None:
        return ()
    kept: list[Reference] = []
    left = BUDGETS[SectionKind.REFERENCES] or 0
    for reference in references_of(request.retrieval):
        tokens = count_tokens(render_reference(reference))
        if tokens > left:
            parts.omitted.append(
                Omitted(
                    SectionKind.REFERENCES,
                    reference.title,
                    (reference.id,),
                    tokens,
                    "over the block's budget",
                )
            )
            continue
        kept.append(reference)
        left -= tokens
    if kept:
        text = render_references(kept)
        parts.sections.append(
            Section(
                SectionKind.REFERENCES,
                "Reference documents",
                text,
                tuple(reference.id for reference in kept),
                count_tokens(text),
                _why_found(request.retrieval),
            )
        )
    return tuple(kept)


def references_of(retrieval: Retrieval) -> tuple[Reference, ...]:
    """The passages, or the summaries that stand in for them, as a model reads them."""
    passages = tuple(Reference(p.id, p.title, p.heading_path, p.pages, p.text) for p in retrieval.passages)
    summaries = tuple(
        Reference(s.id, s.title, s.heading_path, s.pages, s.text, is_summary=True)
        for s in retrieval.summaries
    )
    return passages + summaries


def _why_found(retrieval: Retrieval) -> str:
    if retrieval.status is RetrievalStatus.FALLBACK:
        return "no passage passed the minimum similarity, so summaries of the nearest sections stand in"
    return "found for this question"


def _user(request: ComposeRequest, references: Sequence[Reference]) -> str:
    """What changes with every question comes last: the reference documents, a note on how the search went,
    and the caller's words."""
    parts = [render_references(references)]
    note = _note(request.retrieval, references)
    if note:
        parts.append(f"<note>{note}</note>")
    question = defused(request.question).strip()
    parts.append(f"<question>\n{question}\n</question>" if any(parts) else question)
    return "\n\n".join(filter(None, parts))


def _note(retrieval: Retrieval | None, references: Sequence[Reference]) -> str:
    if retrieval is None or retrieval.status is RetrievalStatus.SKIPPED:
        return ""
    if retrieval.status is RetrievalStatus.FAILED:
        return notes.RETRIEVAL_FAILED
    if not references:
        return notes.NOTHING_FOUND
    return "" if retrieval.covered else notes.NOT_COVERED
