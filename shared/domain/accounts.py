"""The tenant and who acts for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# The reserved account that owns what every account is offered. The ids of others are made by the server.
PLATFORM = "platform"


class Plan(StrEnum):
    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


class Permission(StrEnum):
    KB_READ = "kb:read"
    KB_WRITE = "kb:write"
    AGENT_EDIT = "agent:edit"
    RUN_CREATE = "run:create"
    ACCOUNT_ADMIN = "account:admin"
    ACT_AS = "act_as"


class Role(StrEnum):
    """What a member may do; the table is in `shared.tenancy.roles`."""

    ADMIN = "admin"
    EDITOR = "editor"
    MEMBER = "member"
    VIEWER = "viewer"


class MemberStatus(StrEnum):
    INVITED = "invited"
    ACTIVE = "active"
    DEACTIVATED = "deactivated"


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    name: str
    plan: Plan
    created_at: datetime
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Department:
    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`secret_hash` is the SHA-256 of the secret; the secret itself is shown once and never kept.

    `department_ids` None means every department of the account, also those made later.
    """

    id: str
    name: str
    secret_hash: str
    permissions: tuple[Permission, ...]
    department_ids: tuple[str, ...] | None
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Someone whom the identity provider vouches for. That alone opens no account.

    `email` is in lower case, None unless it is verified. `account_hint` is the account that the token's
    claims name: it may be stale, and only chooses among the accounts that the person belongs to.
    """

    uid: str
    email: str | None = None
    account_hint: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A person's place in an account: what decides role and departments, whatever a token says.

    `uid` None is an invitation by e-mail; it becomes the record of whoever signs in first with that verified
    address. `joined_at` is the first call. `department_ids` None means every department, also later ones.
    """

    id: str
    uid: str | None
    email: str | None
    role: Role
    department_ids: tuple[str, ...] | None
    created_at: datetime
    joined_at: datetime | None = None
    active: bool = True

    @property
    def status(self) -> MemberStatus:
        if not self.active:
            return MemberStatus.DEACTIVATED
        return MemberStatus.INVITED if self.joined_at is None else MemberStatus.ACTIVE


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified caller: what the authoriser decides on. It never comes from a request's body.

    `principal` names the key or person in logs and on runs; `department_ids` None means all. `role` is a
    member's; a key has none, only permissions.
    """

    account_id: str
    plan: Plan
    principal: str
    permissions: frozenset[Permission]
    department_ids: frozenset[str] | None
    role: Role | None = None

    def reaches(self, limited_to: tuple[str, ...]) -> bool:
        """Whether something limited to these departments (none: the whole account) is the caller's to see."""
        if not limited_to or self.department_ids is None:
            return True
        return not self.department_ids.isdisjoint(limited_to)
