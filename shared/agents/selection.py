"""Which knowledge bases an agent brings: by names in its own definition, or by the workspace's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.domain.accounts import Caller
from shared.domain.agents import Agent, Link, Unresolved, Why
from shared.domain.ids import is_id
from shared.domain.knowledge import KnowledgeBase
from shared.library.names import claim_id, name_key
from shared.ports import AccountStore
from shared.records import KNOWLEDGE_BASE_NAMES, KNOWLEDGE_BASES


@dataclass(frozen=True, slots=True)
class Known:
    """The knowledge bases that selections may mean, as they are now."""

    by_name: Mapping[str, KnowledgeBase] = field(default_factory=dict)
    by_id: Mapping[str, KnowledgeBase] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """What an agent brings for one caller.

    With `nothing` it brings no knowledge and keeps out what would come by itself. `limited` are those of
    `bases` that some callers of the account do not reach.
    """

    bases: tuple[KnowledgeBase, ...] = ()
    nothing: bool = False
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def limited(self) -> tuple[KnowledgeBase, ...]:
        return tuple(base for base in self.bases if base.department_ids)


def key_of(name: str) -> str:
    """A name in kebab-case as the key that knowledge bases are unique by: lower-cased, hyphens as spaces."""
    return name_key(name.replace("-", " "))


def read_known(store: AccountStore, agents: Iterable[Agent]) -> Known:
    """Two batch reads, however many agents."""
    keys: dict[str, None] = {}
    ids: dict[str, None] = {}
    for agent in agents:
        keys |= dict.fromkeys(map(key_of, agent.agent_ds or ()))
        named = (*(agent.agent_tenant_ds or ()), *agent.knowledge_base_ids)
        ids |= dict.fromkeys(filter(is_id, (*named, *(link.knowledge_base_id for link in agent.links))))
    claims = store.get_many(KNOWLEDGE_BASE_NAMES, [claim_id(key) for key in keys]) if keys else {}
    wanted = [*ids, *(claim.knowledge_base_id for claim in claims.values())]
    bases = store.get_many(KNOWLEDGE_BASES, wanted) if wanted else {}
    return Known({base.name_key: base for base in bases.values()}, bases)


def select(agent: Agent, known: Known, caller: Caller) -> Selection:
    """What the agent brings for this caller. Only active knowledge bases that it may see resolve; what it may
    not see looks like something that never was."""
    if agent.agent_tenant_ds is not None:
        chosen = _Entries("agent_tenant_ds", agent.agent_tenant_ds, known.by_id.get)
    else:
        chosen = _Entries("agent_ds", agent.agent_ds, lambda name: known.by_name.get(key_of(name)))
    if chosen.names == ():
        return Selection(nothing=True)
    attached = _Entries("knowledge_base_ids", agent.knowledge_base_ids, known.by_id.get)
    bases: dict[str, KnowledgeBase] = {}
    unresolved: list[Unresolved] = []
    renamed = _renamed(agent.links, known, caller) if chosen.field == "agent_ds" else {}
    for entries in (chosen, attached):
        for name in dict.fromkeys(entries.names or ()):
            base = entries.find(name)
            if base is not None and _exists(base, caller) and base.active:
                bases.setdefault(base.id, base)
            else:
                unresolved.append(_unresolved(entries.field, name, base, renamed.get(name), caller))
    return Selection(tuple(bases.values()), unresolved=tuple(unresolved))


def links_of(names: Sequence[str] | None, known: Known, caller: Caller) -> tuple[Link, ...]:
    """What the names stand for now."""
    found = ((name, known.by_name.get(key_of(name))) for name in dict.fromkeys(names or ()))
    return tuple(Link(name, base.id) for name, base in found if base is not None and _exists(base, caller))


@dataclass(frozen=True, slots=True)
class _Entries:
    field: str
    names: tuple[str, ...] | None
    find: Callable[[str], KnowledgeBase | None]


def _exists(base: KnowledgeBase, caller: Caller) -> bool:
    return not base.deleting and caller.reaches(base.department_ids)


def _renamed(links: Iterable[Link], known: Known, caller: Caller) -> dict[str, KnowledgeBase]:
    """By the name that a knowledge base had."""
    found = ((link.name, known.by_id.get(link.knowledge_base_id)) for link in links)
    return {name: base for name, base in found if base is not None and _exists(base, caller)}


def _unresolved(
    field_name: str, name: str, base: KnowledgeBase | None, renamed: KnowledgeBase | None, caller: Caller
) -> Unresolved:
    if base is not None and _exists(base, caller):
        return Unresolved(field_name, name, Why.INACTIVE, f"The knowledge base {base.name!r} is not active.")
    if renamed is not None:
        detail = f"The knowledge base that it named is called {renamed.name!r} now."
        return Unresolved(field_name, name, Why.RENAMED, detail)
    what = "name" if field_name == "agent_ds" else "id"
    return Unresolved(field_name, name, Why.UNKNOWN, f"No knowledge base has this {what}.")
