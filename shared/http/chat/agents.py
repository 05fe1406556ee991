"""Agents."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from shared.agents import agents
from shared.agents.agents import Found, NewAgent
from shared.agents.selection import Known, read_known, select
from shared.context.sections import INLINE_TOKENS
from shared.domain.accounts import Caller, Permission
from shared.domain.errors import InvalidRequestError, MisconfiguredError
from shared.domain.knowledge import KnowledgeBase
from shared.http.chat.views import UnresolvedView
from shared.http.models import Body, Listing, NoParams, PageParams, View, changes, unchanged
from shared.http.routes import AnyRoute, Call, Reply, Route

if TYPE_CHECKING:
    from shared.http.chat.deps import ChatDeps

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Instructions = Annotated[str, StringConstraints(max_length=20_000)]
Model = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,99}$")]
# Longer than any name, so that a misspelt one is reported and not refused.
Names = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=400)], ...], Field(max_length=100)
]

NoTools = Annotated[tuple[str, ...], Field(max_length=0)]

_DS = "Names of knowledge bases in kebab-case; `[]`: no knowledge at all, null: the default."
_TENANT_DS = "Ids of knowledge bases; wins over `agent_ds`. `[]`: no knowledge at all, null: not set."
_ATTACHED = "Knowledge bases that are attached beside what is selected."
_TOOLS = "None are offered yet."
_MODEL = "The answering model; null: the deployment's."


class NewAgentBody(Body):
    name: Title
    instructions: Instructions = ""
    model: Model | None = Field(default=None, description=_MODEL)
    agent_ds: Names | None = Field(default=None, description=_DS)
    agent_tenant_ds: Names | None = Field(default=None, description=_TENANT_DS)
    knowledge_base_ids: Names = Field(default=(), description=_ATTACHED)
    tools: NoTools = Field(default=(), description=_TOOLS)
    is_system: bool = Field(default=False, description="Built in. Only the platform's account sets it.")
    published: bool = Field(
        default=False, description="In every account. Only the platform's account sets it."
    )


class AgentChanges(Body):
    """Only the fields given change. Of an agent of the platform's only `agent_tenant_ds` and
    `knowledge_base_ids` can be set."""

    name: Title = Field(default_factory=unchanged)
    instructions: Instructions = Field(default_factory=unchanged)
    model: Model | None = Field(default_factory=unchanged, description=_MODEL)
    agent_ds: Names | None = Field(default_factory=unchanged, description=_DS)
    agent_tenant_ds: Names | None = Field(default_factory=unchanged, description=_TENANT_DS)
    knowledge_base_ids: Names = Field(default_factory=unchanged, description=_ATTACHED)
    is_system: bool = Field(default_factory=unchanged)
    published: bool = Field(default_factory=unchanged)


class LimitedView(View):
    """A knowledge base of the agent's that callers outside these departments are answered without."""

    knowledge_base_id: str
    name: str
    department_ids: tuple[str, ...]

    @classmethod
    def of(cls, base: KnowledgeBase) -> LimitedView:
        return cls(knowledge_base_id=base.id, name=base.name, department_ids=base.department_ids)


class AgentView(View):
    id: str
    name: str
    instructions: str | None = Field(description="Null for an agent of the platform's: its own are withheld.")
    model: str | None
    agent_ds: tuple[str, ...] | None
    agent_tenant_ds: tuple[str, ...] | None
    knowledge_base_ids: tuple[str, ...]
    tools: NoTools = Field(default=(), description=_TOOLS)
    is_system: bool
    published: bool
    from_platform: bool
    unresolved: tuple[UnresolvedView, ...] = Field(
        description="What of its selection brings the caller no knowledge, as things are now."
    )
    limited: tuple[LimitedView, ...] = Field(description="Empty for callers that do not edit agents.")
    created_at: datetime
    updated_at: datetime


def create_agent(deps: ChatDeps, call: Call[NewAgentBody, NoParams]) -> AgentView:
    body = call.body
    _require_model(deps, body.model)
    new = NewAgent(
        name=body.name,
        instructions=body.instructions,
        model=body.model,
        agent_ds=body.agent_ds,
        agent_tenant_ds=body.agent_tenant_ds,
        knowledge_base_ids=body.knowledge_base_ids,
        is_system=body.is_system,
        published=body.published,
    )
    store = deps.store.of(call.caller.account_id)
    made = agents.create_agent(store, deps.clock, call.caller, new, inline_limit=INLINE_TOKENS)
    return _shown(deps, call.caller, Found(made))


def list_agents(deps: ChatDeps, call: Call[None, PageParams]) -> Listing[AgentView]:
    page = agents.list_agents(deps.store, call.caller, limit=call.query.limit, cursor=call.query.cursor)
    known = read_known(deps.store.of(call.caller.account_id), [found.agent for found in page.items])
    items = tuple(_view(found, known, call.caller) for found in page.items)
    return Listing[AgentView](items=items, next_cursor=page.next_cursor)


def get_agent(deps: ChatDeps, call: Call[None, NoParams]) -> AgentView:
    found = agents.get_agent(deps.store, call.caller, call.path["agent_id"])
    return _shown(deps, call.caller, found)


def change_agent(deps: ChatDeps, call: Call[AgentChanges, NoParams]) -> AgentView:
    given = changes(call.body)
    _require_model(deps, given.get("model"))
    changed = agents.change_agent(
        deps.store,
        deps.clock,
        call.caller,
        call.path["agent_id"],
        lambda current: replace(current, **given),
        inline_limit=INLINE_TOKENS,
    )
    return _shown(deps, call.caller, changed)


def delete_agent(deps: ChatDeps, call: Call[None, NoParams]) -> Reply:
    agents.delete_agent(deps.store, call.caller, call.path["agent_id"])
    return Reply(None, 204)


def _require_model(deps: ChatDeps, model: str | None) -> None:
    """Raises `InvalidRequestError` for a model that the deployment does not know."""
    try:
        if model is not None:
            deps.answer_model.using(model)
    except MisconfiguredError as error:
        raise InvalidRequestError(
            f"The model {model!r} is not one of this deployment's.", fields=(("model", "unknown"),)
        ) from error


def _shown(deps: ChatDeps, caller: Caller, found: Found) -> AgentView:
    return _view(found, read_known(deps.store.of(caller.account_id), [found.agent]), caller)


def _view(found: Found, known: Known, caller: Caller) -> AgentView:
    agent = found.agent
    selection = select(agent, known, caller)
    edits = Permission.AGENT_EDIT in caller.permissions
    return AgentView(
        id=agent.id,
        name=agent.name,
        instructions=None if found.foreign else agent.instructions,
        model=agent.model,
        agent_ds=agent.agent_ds,
        agent_tenant_ds=agent.agent_tenant_ds,
        knowledge_base_ids=agent.knowledge_base_ids,
        is_system=agent.is_system,
        published=agent.published,
        from_platform=found.foreign,
        unresolved=tuple(map(UnresolvedView.of, selection.unresolved)),
        limited=tuple(map(LimitedView.of, selection.limited)) if edits else (),
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


_ALL, _ONE = "/v1/agents", "/v1/agents/{agent_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        _ALL,
        create_agent,
        "Create an agent",
        Permission.AGENT_EDIT,
        body=NewAgentBody,
        response=AgentView,
        status=201,
    ),
    Route(
        "GET",
        _ALL,
        list_agents,
        "The account's agents by name, then those of the platform",
        Permission.RUN_CREATE,
        query=PageParams,
        response=Listing[AgentView],
    ),
    Route("GET", _ONE, get_agent, "One agent", Permission.RUN_CREATE, response=AgentView),
    Route(
        "PATCH",
        _ONE,
        change_agent,
        "Change an agent",
        Permission.AGENT_EDIT,
        body=AgentChanges,
        response=AgentView,
    ),
    Route("DELETE", _ONE, delete_agent, "Delete an agent", Permission.AGENT_EDIT, status=204),
)
