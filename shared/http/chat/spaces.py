"""Spaces."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from shared.agents import spaces
from shared.domain.accounts import Permission
from shared.domain.agents import Space
from shared.http.chat.agents import Title
from shared.http.models import Body, Id, Listing, NoParams, PageParams, View, changes, unchanged
from shared.http.routes import AnyRoute, Call, Reply, Route

if TYPE_CHECKING:
    from shared.http.chat.deps import ChatDeps

Bases = Annotated[tuple[Id, ...], Field(max_length=100)]
Departments = Annotated[tuple[Id, ...], Field(max_length=50)]


class NewSpaceBody(Body):
    """`knowledge_base_ids` reach every thread in the space; `department_ids` are those that see it."""

    name: Title
    knowledge_base_ids: Bases = ()
    department_ids: Departments = ()


class SpaceChanges(Body):
    """Only the fields given change."""

    name: Title = Field(default_factory=unchanged)
    knowledge_base_ids: Bases = Field(default_factory=unchanged)
    department_ids: Departments = Field(default_factory=unchanged)


class SpaceView(View):
    id: str
    name: str
    knowledge_base_ids: tuple[str, ...]
    department_ids: tuple[str, ...]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, space: Space) -> SpaceView:
        return cls(
            id=space.id,
            name=space.name,
            knowledge_base_ids=space.knowledge_base_ids,
            department_ids=space.department_ids,
            created_at=space.created_at,
            updated_at=space.updated_at,
        )


def create_space(deps: ChatDeps, call: Call[NewSpaceBody, NoParams]) -> SpaceView:
    made = spaces.create_space(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        name=call.body.name,
        knowledge_base_ids=call.body.knowledge_base_ids,
        department_ids=call.body.department_ids,
    )
    return SpaceView.of(made)


def list_spaces(deps: ChatDeps, call: Call[None, PageParams]) -> Listing[SpaceView]:
    store = deps.store.of(call.caller.account_id)
    page = spaces.list_spaces(store, call.caller, limit=call.query.limit, cursor=call.query.cursor)
    return Listing[SpaceView](items=tuple(map(SpaceView.of, page.items)), next_cursor=page.next_cursor)


def get_space(deps: ChatDeps, call: Call[None, NoParams]) -> SpaceView:
    store = deps.store.of(call.caller.account_id)
    return SpaceView.of(spaces.get_space(store, call.caller, call.path["space_id"]))


def change_space(deps: ChatDeps, call: Call[SpaceChanges, NoParams]) -> SpaceView:
    given = changes(call.body)
    store = deps.store.of(call.caller.account_id)
    changed = spaces.change_space(
        store, deps.clock, call.caller, call.path["space_id"], lambda current: replace(current, **given)
    )
    return SpaceView.of(changed)


def delete_space(deps: ChatDeps, call: Call[None, NoParams]) -> Reply:
    spaces.delete_space(deps.store.of(call.caller.account_id), call.caller, call.path["space_id"])
    return Reply(None, 204)


_ALL, _ONE = "/v1/spaces", "/v1/spaces/{space_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        _ALL,
        create_space,
        "Create a space",
        Permission.AGENT_EDIT,
        body=NewSpaceBody,
        response=SpaceView,
        status=201,
    ),
    Route(
        "GET",
        _ALL,
        list_spaces,
        "The spaces that the caller may see, by name",
        Permission.RUN_CREATE,
        query=PageParams,
        response=Listing[SpaceView],
    ),
    Route("GET", _ONE, get_space, "One space", Permission.RUN_CREATE, response=SpaceView),
    Route(
        "PATCH",
        _ONE,
        change_space,
        "Change a space",
        Permission.AGENT_EDIT,
        body=SpaceChanges,
        response=SpaceView,
    ),
    Route("DELETE", _ONE, delete_space, "Delete a space", Permission.AGENT_EDIT, status=204),
)
