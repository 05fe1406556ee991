"""What an agent would be sent, without a model being called."""

from __future__ import annotations

from dataclasses import dataclass

from shared.agents.agents import get_agent
from shared.agents.spaces import get_space
from shared.answer.assemble import Ask, Assembled, AssembleDeps, Retriever, Setting, assemble
from shared.context.sections import Omitted, Section, SectionKind
from shared.domain.accounts import Caller
from shared.domain.agents import Unresolved
from shared.domain.knowledge import KnowledgeBase
from shared.domain.retrieval import Retrieval

# What an account is not shown of an agent of the platform's: all but the parts that it contributes.
_WITHHELD = frozenset({SectionKind.NOTES, SectionKind.INSTRUCTIONS})
_WHY_WITHHELD = "withheld: it is the platform's"


@dataclass(frozen=True, slots=True)
class Preview:
    """`sections` are what would be sent, in order. `tokens` counts what is shown. `limited` are knowledge
    bases that some callers of the account are answered without."""

    sections: tuple[Section, ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    unresolved: tuple[Unresolved, ...]
    limited: tuple[KnowledgeBase, ...]
    retrieval: Retrieval


def preview(
    deps: AssembleDeps,
    caller: Caller,
    agent_id: str,
    *,
    message: str | None,
    space_id: str | None,
    retrieve: Retriever,
) -> Preview:
    """The prompt of the first message of a thread; without a message, what stands before any. Raises
    `NotFoundError`."""
    agent = get_agent(deps.store, caller, agent_id)
    space = None if space_id is None else get_space(deps.store.of(caller.account_id), caller, space_id)
    assembled = assemble(deps, caller, Setting(agent, space), Ask(message, message or ""), retrieve)
    return _withheld(assembled) if agent.foreign else _shown(assembled, assembled.composition.tokens)


def _shown(assembled: Assembled, tokens: int) -> Preview:
    composition, selection = assembled.composition, assembled.selection
    return Preview(
        composition.sections,
        composition.omitted,
        tokens,
        selection.unresolved,
        selection.limited,
        assembled.retrieval,
    )


def _withheld(assembled: Assembled) -> Preview:
    whole = _shown(assembled, 0)
    kept = tuple(section for section in whole.sections if section.kind not in _WITHHELD)
    withheld = (
        Omitted(section.kind, section.title, (), 0, _WHY_WITHHELD)
        for section in whole.sections
        if section.kind in _WITHHELD
    )
    return Preview(
        kept,
        (*withheld, *whole.omitted),
        sum(section.tokens for section in kept),
        whole.unresolved,
        whole.limited,
        whole.retrieval,
    )
