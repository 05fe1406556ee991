"""People who sign in, for flow tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.domain.accounts import Member, Role
from shared.tenancy.members import NewMember, add_member
from tests.emulated import PROJECT
from tests.flows.api_stack import Api, Stack, Tenant
from tests.identity import Identity, claims_of, unsigned


@dataclass(frozen=True)
class People:
    stack: Stack
    identity: Identity

    def sign_in(self, uid: str, email: str | None = None, *, verified: bool = True, **claims: Any) -> Api:
        """The API as this person sees it; the identity provider knows it from now on."""
        self.identity.users.setdefault(uid, {"validSince": "0"})
        if email is not None:
            claims |= {"email": email, "email_verified": verified}
        return Api(self.stack.client, unsigned(claims_of(PROJECT, uid, self.stack.deps.clock.time, **claims)))

    def add(self, tenant: Tenant, uid: str, role: Role, departments: Sequence[str] | None = None) -> Member:
        """Makes a person a member, in departments given by name."""
        ids = None if departments is None else tuple(tenant.departments[name] for name in departments)
        return add_member(tenant.records, self.stack.deps.clock, NewMember(role, ids, uid=uid))

    def joined(self, tenant: Tenant, uid: str, role: Role, departments: Sequence[str] | None = None) -> Api:
        """A member who has called once."""
        self.add(tenant, uid, role, departments)
        api = self.sign_in(uid)
        assert api("GET", "/v1/account", X_Account_Id=tenant.account.id).status_code == 200
        return api
