"""Agents and spaces: who answers, with which knowledge, and where."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Link:
    """What a name stood for when the agent was saved: by it a rename is told from a name that never was."""

    name: str
    knowledge_base_id: str


@dataclass(frozen=True, slots=True)
class Agent:
    """Instructions and a selection of knowledge.

    `agent_ds` holds names of knowledge bases in kebab-case, from the agent's own definition;
    `agent_tenant_ds` ids set by the workspace, which win outright. In both an empty tuple means no knowledge
    at all and None the default. `knowledge_base_ids` are attached beside what is selected. `model` None is
    the deployment's. `is_system` marks an agent that is built in, `published` one of the platform's that
    every account has.
    """

    id: str
    name: str
    instructions: str
    created_at: datetime
    updated_at: datetime
    model: str | None = None
    agent_ds: tuple[str, ...] | None = None
    agent_tenant_ds: tuple[str, ...] | None = None
    knowledge_base_ids: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    is_system: bool = False
    published: bool = False


@dataclass(frozen=True, slots=True)
class AgentAdoption:
    """What an account adds to an agent of the platform's; `id` is the agent's."""

    id: str
    updated_at: datetime
    agent_tenant_ds: tuple[str, ...] | None = None
    knowledge_base_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Space:
    """A workspace: its knowledge reaches every thread in it. Where `department_ids` names some, only their
    callers see it."""

    id: str
    name: str
    created_at: datetime
    updated_at: datetime
    knowledge_base_ids: tuple[str, ...] = ()
    department_ids: tuple[str, ...] = ()


class Why(StrEnum):
    """Why a selection does not resolve. What the caller may not see is `unknown` to it."""

    UNKNOWN = "unknown"
    INACTIVE = "inactive"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An entry of `field` that brings no knowledge; `detail` says so to a person."""

    field: str
    name: str
    reason: Why
    detail: str
