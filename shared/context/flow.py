"""One composition for every answer: sections in a fixed order, each inside its budget, each with its reason.

Chat, streaming and previews all come through here, so that what a preview shows is what is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shared.context import notes
from shared.context.earlier import remembered, render_earlier
from shared.context.history import recent_turns
from shared.context.material import (
    FILES_INTRODUCTION,
    AttachedFile,
    Material,
    render_file,
    render_material,
    render_pointers,
)
from shared.context.references import defused, render_reference, render_references
from shared.context.sections import BUDGETS, PLACES, SLOTS, Omitted, Place, Section, SectionKind
from shared.domain.models import Prompt, Reference, Turn, TurnRole
from shared.domain.plaintext import escaped
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.ports import TokenCounter

_NO_ROOM = "over the section's budget"


@dataclass(frozen=True, slots=True)
class ComposeRequest:
    """`question` None composes what stands before any question; `searched` is it as it was searched.
    `retrieval` None means that none was asked for, `narrowed` that it searched named documents alone.
    `history` are the turns that `earlier`, the summary of those before, does not hold; oldest first."""

    question: str | None
    retrieval: Retrieval | None = None
    history: tuple[Turn, ...] = ()
    material: tuple[Material, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    narrowed: bool = False
    searched: str = ""
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Composition:
    """`prompt` is what is sent; `sections` and `omitted` explain it. `tokens` counts all of the prompt.

    The prompt's system text is the texts of the sections with that place, with a blank line between; so is
    its user text.
    """

    prompt: Prompt
    sections: tuple[Section, ...]
    omitted: tuple[Omitted, ...]
    tokens: int


@dataclass(slots=True)
class _Parts:
    """What composition collects on its way."""

    count_tokens: TokenCounter
    sections: list[Section] = field(default_factory=list)
    omitted: list[Omitted] = field(default_factory=list)

    def add(self, kind: SectionKind, title: str, text: str, sources: tuple[str, ...], reason: str) -> int:
        """Puts a section in; how many tokens it has."""
        tokens = self.count_tokens(text)
        self.sections.append(Section(kind, title, text, sources, tokens, reason))
        return tokens

    def leave_out(
        self, kind: SectionKind, title: str, sources: tuple[str, ...], tokens: int, reason: str
    ) -> None:
        self.omitted.append(Omitted(kind, title, sources, tokens, reason))

    def text(self, place: Place) -> str:
        return "\n\n".join(section.text for section in self.sections if PLACES[section.kind] is place)


def compose(request: ComposeRequest, count_tokens: TokenCounter) -> Composition:
    """The prompt for one question. Pure: the same request gives the same prompt, byte for byte."""
    parts = _Parts(count_tokens)
    _add_system(parts, request)
    latest, left_out = _latest(parts, request)
    earlier = _earlier(parts, request, left_out)
    history = _add_history(parts, latest, earlier)
    references = _add_references(parts, request)
    if request.question is not None:
        _add_files(parts, request.files)
        _add_search(parts, request, references)
        _add_question(parts, request.question)
    system, user = parts.text(Place.SYSTEM), parts.text(Place.USER)
    prompt = Prompt(
        system=system,
        history=history,
        earlier=earlier,
        user=user,
        question=request.question or "",
        references=references,
        covered=request.retrieval.covered if request.retrieval is not None else False,
        searched=request.searched,
    )
    tokens = sum(map(count_tokens, (system, *(turn.text for turn in history), user)))
    return Composition(prompt, tuple(parts.sections), tuple(parts.omitted), tokens)


def _add_system(parts: _Parts, request: ComposeRequest) -> None:
    parts.add(SectionKind.NOTES, "Fixed notes", _fixed_notes(request), (), "always there")
    for slot in SLOTS:
        mine = [material for material in request.material if material.kind is slot.kind]
        if slot.kind is SectionKind.POINTERS:
            _add_pointers(parts, mine)
            continue
        left = slot.budget
        for material in mine:
            left = _add_material(parts, material, left)


def _fixed_notes(request: ComposeRequest) -> str:
    kinds = {material.kind for material in request.material}
    fixed = [notes.NOTES]
    if SectionKind.INLINE in kinds:
        fixed.append(notes.GIVEN_WHOLE)
    if kinds & {SectionKind.SPACE, SectionKind.AGENT}:
        fixed.append(notes.PRECEDENCE)
    return "\n\n".join(fixed)


def _add_material(parts: _Parts, material: Material, left: int | None) -> int | None:
    """Adds what fits, and returns the room that is left. Knowledge that a request has to carry whole leaves a
    line in its place when it does not fit, so that the model knows of it."""
    if material.kind is not SectionKind.INSTRUCTIONS and not material.text.strip():
        parts.leave_out(material.kind, material.title, material.sources, 0, "it holds no text")
        return left
    text = render_material(material)
    tokens = parts.count_tokens(text)
    if left is None or tokens <= left:
        parts.add(material.kind, material.title, text, material.sources, material.reason)
        return None if left is None else left - tokens
    parts.leave_out(material.kind, material.title, material.sources, tokens, _NO_ROOM)
    if material.kind is SectionKind.INLINE:
        stub = render_material(material, notes.LEFT_OUT)
        parts.add(material.kind, material.title, stub, material.sources, f"{material.reason}; {_NO_ROOM}")
    return left


def _add_pointers(parts: _Parts, pointers: Sequence[Material]) -> None:
    left = BUDGETS[SectionKind.POINTERS] or 0
    kept: list[Material] = []
    for pointer in pointers:
        tokens = parts.count_tokens(render_pointers([pointer]))
        if tokens > left:
            parts.leave_out(SectionKind.POINTERS, pointer.title, pointer.sources, tokens, _NO_ROOM)
            continue
        kept.append(pointer)
        left -= tokens
    if kept:
        sources = tuple(source for pointer in kept for source in pointer.sources)
        reason = "; ".join(dict.fromkeys(pointer.reason for pointer in kept))
        title = "Knowledge bases that are searched"
        parts.add(SectionKind.POINTERS, title, render_pointers(kept), sources, reason)


def _latest(parts: _Parts, request: ComposeRequest) -> tuple[tuple[Turn, ...], Sequence[Turn]]:
    """The turns that stand whole, and those that there is no room for."""
    budget = BUDGETS[SectionKind.HISTORY] or 0
    kept = recent_turns(request.history, budget=budget, count_tokens=parts.count_tokens)
    return kept, request.history[: len(request.history) - len(kept)]


def _earlier(parts: _Parts, request: ComposeRequest, left_out: Sequence[Turn]) -> str:
    """The summary, with what the turns say that are out of the window and not folded into it yet."""
    count_tokens = parts.count_tokens
    if left_out:
        tokens = sum(count_tokens(turn.text) for turn in left_out)
        reason = "older than the history's budget holds; kept in short"
        parts.leave_out(SectionKind.HISTORY, "Earlier turns", (), tokens, reason)
    budget = BUDGETS[SectionKind.EARLIER] or 0
    if not left_out and count_tokens(render_earlier(request.earlier)) <= budget:
        return request.earlier
    room = budget - count_tokens(render_earlier(""))
    return remembered(
        request.earlier, left_out, budget=room, count_tokens=lambda text: count_tokens(escaped(text))
    )


def _add_history(parts: _Parts, latest: tuple[Turn, ...], earlier: str) -> tuple[Turn, ...]:
    before: tuple[Turn, ...] = ()
    if earlier:
        block = render_earlier(earlier)
        parts.add(
            SectionKind.EARLIER, "Earlier conversation", block, (), "what the turns before said, in short"
        )
        before = (Turn(TurnRole.USER, block),)
    if latest:
        text = "\n\n".join(f"{turn.role.value}: {turn.text}" for turn in latest)
        tokens = sum(parts.count_tokens(turn.text) for turn in latest)
        reason = f"the latest {len(latest)} turns"
        parts.sections.append(Section(SectionKind.HISTORY, "Conversation", text, (), tokens, reason))
    return before + latest


def _add_references(parts: _Parts, request: ComposeRequest) -> tuple[Reference, ...]:
    if request.retrieval is None or request.question is None:
        return ()
    kept = tuple(_fitting(parts, references_of(request.retrieval)))
    if kept:
        ids = tuple(reference.id for reference in kept)
        why = _why_found(request.retrieval)
        parts.add(SectionKind.REFERENCES, "Reference documents", render_references(kept), ids, why)
    return kept


def _fitting(parts: _Parts, references: Sequence[Reference]) -> Iterator[Reference]:
    left = BUDGETS[SectionKind.REFERENCES] or 0
    for reference in references:
        tokens = parts.count_tokens(render_reference(reference))
        if tokens > left:
            parts.leave_out(
                SectionKind.REFERENCES, reference.title, (reference.id,), tokens, "over the block's budget"
            )
            continue
        left -= tokens
        yield reference


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


def _add_files(parts: _Parts, files: Sequence[AttachedFile]) -> None:
    """Their sizes were checked when they were read: a file is sent whole or its message is refused."""
    for number, file in enumerate(files):
        sources = () if file.document_id is None else (file.document_id,)
        text = render_file(file) if number else f"{FILES_INTRODUCTION}\n{render_file(file)}"
        parts.add(SectionKind.FILES, file.name, text, sources, "attached to this message")


def _add_search(parts: _Parts, request: ComposeRequest, references: Sequence[Reference]) -> None:
    """How the search went, where that is not plain from what it found."""
    searched = request.retrieval is not None and request.retrieval.status is not RetrievalStatus.SKIPPED
    found = [notes.ONLY_NAMED] if request.narrowed and searched else []
    found += filter(None, [_search_note(request, references)])
    if found:
        text = f"<note>{' '.join(found)}</note>"
        parts.add(SectionKind.SEARCH, "How the search went", text, (), "it is to be told")


def _search_note(request: ComposeRequest, references: Sequence[Reference]) -> str:
    retrieval = request.retrieval
    if retrieval is None or retrieval.status is RetrievalStatus.SKIPPED:
        return ""
    if retrieval.status is RetrievalStatus.FAILED:
        return notes.RETRIEVAL_FAILED
    if not references:
        beside = request.files or any(one.kind is SectionKind.INLINE for one in request.material)
        if not retrieval.scope:
            return "" if beside else notes.NOTHING_TO_SEARCH
        return notes.NOTHING_FOUND_BESIDE if beside else notes.NOTHING_FOUND
    return "" if retrieval.covered else notes.NOT_COVERED


def _add_question(parts: _Parts, question: str) -> None:
    """What changes with every question comes last, and the caller's words last of all."""
    text = defused(question).strip()
    if parts.text(Place.USER):
        text = f"<question>\n{text}\n</question>"
    parts.add(SectionKind.QUESTION, "The message", text, (), "what the caller wrote")
