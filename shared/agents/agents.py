"""Agents: create, find, change, delete. An account has its own and those that the platform publishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from shared.agents.selection import Known, links_of, read_known, select
from shared.domain.accounts import PLATFORM, Caller
from shared.domain.agents import Agent, AgentAdoption
from shared.domain.errors import InvalidRequestError, PermissionDeniedError
from shared.domain.ids import new_id
from shared.library.inline import automatic, require_fit
from shared.library.paging import visible_page
from shared.ports import AccountStore, Clock, Page, Query, Store, Transaction
from shared.records import AGENT_ADOPTIONS, AGENTS
from shared.tenancy.authorize import not_found

# Marks a cursor into the platform's agents, which follow the account's own.
_PLATFORM_CURSOR = "platform."


@dataclass(frozen=True, slots=True)
class NewAgent:
    name: str
    instructions: str = ""
    model: str | None = None
    agent_ds: tuple[str, ...] | None = None
    agent_tenant_ds: tuple[str, ...] | None = None
    knowledge_base_ids: tuple[str, ...] = ()
    is_system: bool = False
    published: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """An agent as the account has it. `foreign` is one of the platform's: what it says is withheld."""

    agent: Agent
    foreign: bool = False


def create_agent(
    store: AccountStore, clock: Clock, caller: Caller, new: NewAgent, *, inline_limit: int
) -> Agent:
    """Raises `InvalidRequestError` for what only the platform may set, and `InlineTooLargeError` when its
    inline knowledge is more tokens than a request carries."""
    now = clock.now()
    made = Agent(
        id=new_id("agt"),
        name=new.name,
        instructions=new.instructions,
        created_at=now,
        updated_at=now,
        model=new.model,
        agent_ds=new.agent_ds,
        agent_tenant_ds=new.agent_tenant_ds,
        knowledge_base_ids=tuple(dict.fromkeys(new.knowledge_base_ids)),
        is_system=new.is_system,
        published=new.published,
    )
    _require_platform(caller, made)
    known = read_known(store, [made])
    _require_fit(store, caller, made, known, inline_limit)
    made = replace(made, links=links_of(made.agent_ds, known, caller))
    store.create(AGENTS, made)
    return made


def get_agent(stores: Store, caller: Caller, agent_id: str) -> Found:
    """The account's own, or one that the platform publishes with what the account has added to it. Raises
    `NotFoundError`."""
    own = stores.of(caller.account_id)
    found = own.get(AGENTS, agent_id)
    if found is not None:
        return Found(found)
    published = _published(stores, caller, agent_id)
    if published is None:
        raise not_found(f"agent {agent_id}")
    return Found(_adopted(published, own.get(AGENT_ADOPTIONS, agent_id)), foreign=True)


def list_agents(stores: Store, caller: Caller, *, limit: int, cursor: str | None) -> Page[Found]:
    """The account's own by name, then the platform's."""
    own = stores.of(caller.account_id)
    items: list[Found] = []
    if cursor is None or not cursor.startswith(_PLATFORM_CURSOR):
        page = own.find(AGENTS, Query(order_by="name", limit=limit, cursor=cursor))
        items = [Found(agent) for agent in page.items]
        if page.next_cursor is not None or caller.account_id == PLATFORM:
            return Page(tuple(items), page.next_cursor)
        cursor = _PLATFORM_CURSOR
    if len(items) >= limit:
        return Page(tuple(items), _PLATFORM_CURSOR)
    start = cursor.removeprefix(_PLATFORM_CURSOR) or None
    query = Query(order_by="name", limit=limit - len(items), cursor=start)
    published = visible_page(
        stores.of(PLATFORM), AGENTS, query, lambda found: [one for one in found if one.published]
    )
    adopted = own.get_many(AGENT_ADOPTIONS, [agent.id for agent in published.items])
    items += [Found(_adopted(agent, adopted.get(agent.id)), foreign=True) for agent in published.items]
    after = None if published.next_cursor is None else _PLATFORM_CURSOR + published.next_cursor
    return Page(tuple(items), after)


def change_agent(
    stores: Store,
    clock: Clock,
    caller: Caller,
    agent_id: str,
    change: Callable[[Agent], Agent],
    *,
    inline_limit: int,
) -> Found:
    """Applies `change`. Of the platform's agents an account changes only the knowledge that it adds; anything
    else raises `InvalidRequestError`. Raises `NotFoundError`, and `InlineTooLargeError` as `create_agent`."""
    before = get_agent(stores, caller, agent_id)
    store = stores.of(caller.account_id)
    wanted = change(before.agent)
    known = read_known(store, [wanted])
    if _knowledge(wanted) != _knowledge(before.agent):
        _require_fit(store, caller, wanted, known, inline_limit)

    def body(tx: Transaction) -> Found:
        if before.foreign:
            return _adopt(tx, clock, before.agent, change)
        current = tx.get(AGENTS, agent_id)
        if current is None:
            raise not_found(f"agent {agent_id}")
        changed = replace(change(current), updated_at=clock.now())
        _require_platform(caller, changed)
        if changed.agent_ds != current.agent_ds:
            changed = replace(changed, links=links_of(changed.agent_ds, known, caller))
        tx.put(AGENTS, changed)
        return Found(changed)

    return store.transact(body)


def delete_agent(stores: Store, caller: Caller, agent_id: str) -> None:
    """Raises `NotFoundError`, and `PermissionDeniedError` for one of the platform's."""
    if get_agent(stores, caller, agent_id).foreign:
        raise PermissionDeniedError(f"The agent {agent_id} is the platform's.", hint="It cannot be deleted.")
    stores.of(caller.account_id).delete_many(AGENTS, [agent_id])


def _adopt(tx: Transaction, clock: Clock, published: Agent, change: Callable[[Agent], Agent]) -> Found:
    current = _adopted(published, tx.get(AGENT_ADOPTIONS, published.id))
    changed = change(current)
    theirs = replace(
        changed, agent_tenant_ds=current.agent_tenant_ds, knowledge_base_ids=current.knowledge_base_ids
    )
    if theirs != current:
        raise InvalidRequestError(
            f"The agent {published.id} is the platform's.",
            hint="Only agent_tenant_ds and knowledge_base_ids of it can be set.",
        )
    adoption = AgentAdoption(
        published.id, clock.now(), changed.agent_tenant_ds, tuple(dict.fromkeys(changed.knowledge_base_ids))
    )
    tx.put(AGENT_ADOPTIONS, adoption)
    return Found(_adopted(published, adoption), foreign=True)


def _published(stores: Store, caller: Caller, agent_id: str) -> Agent | None:
    if caller.account_id == PLATFORM:
        return None
    found = stores.of(PLATFORM).get(AGENTS, agent_id)
    return found if found is not None and found.published else None


def _adopted(published: Agent, adoption: AgentAdoption | None) -> Agent:
    """The definition is the platform's; ids in it are of the platform's account and mean nothing here."""
    bare = replace(published, agent_tenant_ds=None, knowledge_base_ids=(), links=())
    if adoption is None:
        return bare
    return replace(
        bare,
        agent_tenant_ds=adoption.agent_tenant_ds,
        knowledge_base_ids=adoption.knowledge_base_ids,
        updated_at=max(published.updated_at, adoption.updated_at),
    )


def _knowledge(agent: Agent) -> tuple[object, ...]:
    return agent.agent_ds, agent.agent_tenant_ds, agent.knowledge_base_ids


def _require_fit(store: AccountStore, caller: Caller, agent: Agent, known: Known, limit: int) -> None:
    selection = select(agent, known, caller)
    if selection.nothing:
        return
    beside = (base for base in automatic(store) if not base.deleting and caller.reaches(base.department_ids))
    require_fit((*selection.bases, *beside), limit, f"the agent {agent.name!r}")


def _require_platform(caller: Caller, agent: Agent) -> None:
    """Raises `InvalidRequestError` where an ordinary account would publish or build in an agent."""
    if caller.account_id == PLATFORM:
        return
    beyond = [name for name in ("is_system", "published") if getattr(agent, name)]
    if beyond:
        raise InvalidRequestError(
            "Only the platform's own account has built-in and published agents.",
            fields=tuple((name, "must be false") for name in beyond),
        )
