"""The members of the account: whom it invites, and what they may do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from shared.domain.accounts import Member, MemberStatus, Permission, Role
from shared.http.models import Body, Id, Listing, NoParams, PageParams, View, changes, unchanged
from shared.http.routes import AnyRoute, Call, Reply, Route
from shared.library.deps import LibraryDeps
from shared.library.paging import visible_page
from shared.ports import Query
from shared.records import MEMBERS
from shared.tenancy import members
from shared.tenancy.authorize import covers
from shared.tenancy.members import NewMember
from shared.tenancy.roles import permissions_of

Email = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=254, pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")
]
Uid = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]
Departments = Annotated[tuple[Id, ...] | None, Field(max_length=50, description="Null: all departments.")]


class NewMemberBody(Body):
    """By `email` or by `uid`, one of the two. The person joins with its first call: by e-mail once the
    address is verified."""

    email: Email | None = None
    uid: Uid | None = Field(default=None, description="The person's uid in Firebase Authentication.")
    role: Role
    department_ids: Departments = None

    @model_validator(mode="after")
    def _one_of_two(self) -> NewMemberBody:
        if (self.email is None) == (self.uid is None):
            raise ValueError("give either email or uid")
        return self


class MemberChanges(Body):
    """Only the fields given change, from the member's next call on."""

    role: Role = Field(default_factory=unchanged)
    department_ids: Departments = Field(default_factory=unchanged)
    active: bool = Field(default_factory=unchanged, description="False refuses the member at once.")


class MemberView(View):
    id: str
    uid: str | None
    email: str | None
    role: Role
    permissions: tuple[Permission, ...]
    department_ids: tuple[str, ...] | None
    status: MemberStatus
    created_at: datetime
    joined_at: datetime | None


def list_members(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[MemberView]:
    page = visible_page(
        deps.store.of(call.caller.account_id),
        MEMBERS,
        Query(order_by="created_at", limit=call.query.limit, cursor=call.query.cursor),
        lambda found: [one for one in found if covers(call.caller, one.department_ids)],
    )
    return Listing[MemberView](items=tuple(_view(one) for one in page.items), next_cursor=page.next_cursor)


def create_member(deps: LibraryDeps, call: Call[NewMemberBody, NoParams]) -> MemberView:
    body = call.body
    new = NewMember(role=body.role, department_ids=body.department_ids, uid=body.uid, email=body.email)
    store = deps.store.of(call.caller.account_id)
    return _view(members.grant_member(store, deps.clock, call.caller, new))


def get_member(deps: LibraryDeps, call: Call[None, NoParams]) -> MemberView:
    store = deps.store.of(call.caller.account_id)
    return _view(members.get_member(store, call.caller, call.path["member_id"]))


def change_member(deps: LibraryDeps, call: Call[MemberChanges, NoParams]) -> MemberView:
    given = changes(call.body)
    changed = members.change_member(
        deps.store.of(call.caller.account_id),
        call.caller,
        call.path["member_id"],
        lambda current: replace(current, **given),
    )
    return _view(changed)


def remove_member(deps: LibraryDeps, call: Call[None, NoParams]) -> Reply:
    members.remove_member(deps.store.of(call.caller.account_id), call.caller, call.path["member_id"])
    return Reply(None, 204)


def _view(member: Member) -> MemberView:
    return MemberView(
        id=member.id,
        uid=member.uid,
        email=member.email,
        role=member.role,
        permissions=tuple(sorted(permissions_of(member.role))),
        department_ids=member.department_ids,
        status=member.status,
        created_at=member.created_at,
        joined_at=member.joined_at,
    )


_ALL, _ONE = "/v1/members", "/v1/members/{member_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        _ALL,
        list_members,
        "The members that the caller administers, the invited ones too",
        Permission.ACCOUNT_ADMIN,
        query=PageParams,
        response=Listing[MemberView],
    ),
    Route(
        "POST",
        _ALL,
        create_member,
        "Invite a person",
        Permission.ACCOUNT_ADMIN,
        body=NewMemberBody,
        response=MemberView,
        status=201,
    ),
    Route("GET", _ONE, get_member, "One member", Permission.ACCOUNT_ADMIN, response=MemberView),
    Route(
        "PATCH",
        _ONE,
        change_member,
        "Change what a member may do",
        Permission.ACCOUNT_ADMIN,
        body=MemberChanges,
        response=MemberView,
    ),
    Route("DELETE", _ONE, remove_member, "Remove a member", Permission.ACCOUNT_ADMIN, status=204),
)
