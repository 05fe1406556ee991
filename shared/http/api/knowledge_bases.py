"""Knowledge bases."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from shared.context.sections import INLINE_TOKENS
from shared.domain.accounts import Permission
from shared.domain.knowledge import KnowledgeBase, KnowledgeBaseType
from shared.http.api.receipts import AcceptedView
from shared.http.models import Body, Id, Listing, NoParams, PageParams, View, changes, unchanged
from shared.http.routes import AnyRoute, Call, Route
from shared.library import knowledge_bases
from shared.library.deletes import delete_knowledge_base as delete
from shared.library.deps import LibraryDeps
from shared.library.knowledge_bases import NewKnowledgeBase


def _known_type(value: Any) -> Any:
    return "page" if value == "singlePage" else value


Type = Annotated[KnowledgeBaseType, BeforeValidator(_known_type)]
Departments = Annotated[tuple[Id, ...], Field(max_length=50)]


def _alias(name: str) -> AliasChoices:
    """The field's name, and the one that it has elsewhere."""
    return AliasChoices(name, f"ds_{name}")


class NewKnowledgeBaseBody(Body):
    """`type` page is also known as singlePage; name, description and category also with `ds_` in front."""

    name: str = Field(validation_alias=_alias("name"), max_length=400)
    type: Type
    description: str = Field(default="", validation_alias=_alias("description"), max_length=2_000)
    category: str | None = Field(default=None, validation_alias=_alias("category"), max_length=100)
    department_ids: Departments = ()
    is_auto_context: bool = False
    active: bool = True


class KnowledgeBaseChanges(Body):
    """Only the fields given change; `category` null clears it."""

    name: str = Field(default_factory=unchanged, validation_alias=_alias("name"), max_length=400)
    description: str = Field(
        default_factory=unchanged, validation_alias=_alias("description"), max_length=2_000
    )
    category: str | None = Field(
        default_factory=unchanged, validation_alias=_alias("category"), max_length=100
    )
    department_ids: Departments = Field(default_factory=unchanged)
    is_auto_context: bool = Field(default_factory=unchanged)
    active: bool = Field(default_factory=unchanged)


class KnowledgeBaseView(View):
    id: str
    name: str
    type: KnowledgeBaseType
    description: str
    category: str | None
    department_ids: tuple[str, ...]
    is_auto_context: bool
    active: bool
    created_at: datetime
    updated_at: datetime


def create_knowledge_base(deps: LibraryDeps, call: Call[NewKnowledgeBaseBody, NoParams]) -> KnowledgeBaseView:
    new = NewKnowledgeBase(
        name=call.body.name,
        type=call.body.type,
        description=call.body.description,
        category=call.body.category,
        department_ids=call.body.department_ids,
        is_auto_context=call.body.is_auto_context,
        active=call.body.active,
    )
    store = deps.store.of(call.caller.account_id)
    made = knowledge_bases.create_knowledge_base(
        store, deps.clock, call.caller, new, knowledge_base_id=call.new_id("kb")
    )
    return _view(made)


def list_knowledge_bases(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[KnowledgeBaseView]:
    page = knowledge_bases.list_knowledge_bases(
        deps.store.of(call.caller.account_id),
        call.caller,
        limit=call.query.limit,
        cursor=call.query.cursor,
    )
    return Listing[KnowledgeBaseView](
        items=tuple(_view(one) for one in page.items), next_cursor=page.next_cursor
    )


def get_knowledge_base(deps: LibraryDeps, call: Call[None, NoParams]) -> KnowledgeBaseView:
    store = deps.store.of(call.caller.account_id)
    return _view(knowledge_bases.get_knowledge_base(store, call.caller, call.path["knowledge_base_id"]))


def change_knowledge_base(deps: LibraryDeps, call: Call[KnowledgeBaseChanges, NoParams]) -> KnowledgeBaseView:
    given = changes(call.body)
    changed = knowledge_bases.change_knowledge_base(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        call.path["knowledge_base_id"],
        lambda current: replace(current, **given),
        inline_limit=INLINE_TOKENS,
    )
    return _view(changed)


def delete_knowledge_base(deps: LibraryDeps, call: Call[None, NoParams]) -> AcceptedView:
    return AcceptedView(receipt_id=delete(deps, call.caller, call.path["knowledge_base_id"]).id)


def _view(found: KnowledgeBase) -> KnowledgeBaseView:
    return KnowledgeBaseView(
        id=found.id,
        name=found.name,
        type=found.type,
        description=found.description,
        category=found.category,
        department_ids=found.department_ids,
        is_auto_context=found.is_auto_context,
        active=found.active,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


_ALL, _ONE = "/v1/knowledge-bases", "/v1/knowledge-bases/{knowledge_base_id}"

ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        _ALL,
        create_knowledge_base,
        "Create a knowledge base",
        Permission.KB_WRITE,
        body=NewKnowledgeBaseBody,
        response=KnowledgeBaseView,
        status=201,
    ),
    Route(
        "GET",
        _ALL,
        list_knowledge_bases,
        "The knowledge bases that the caller may see, by name",
        Permission.KB_READ,
        query=PageParams,
        response=Listing[KnowledgeBaseView],
    ),
    Route(
        "GET", _ONE, get_knowledge_base, "One knowledge base", Permission.KB_READ, response=KnowledgeBaseView
    ),
    Route(
        "PATCH",
        _ONE,
        change_knowledge_base,
        "Change settings of a knowledge base",
        Permission.KB_WRITE,
        body=KnowledgeBaseChanges,
        response=KnowledgeBaseView,
    ),
    Route(
        "DELETE",
        _ONE,
        delete_knowledge_base,
        "Delete a knowledge base with all that is in it",
        Permission.KB_WRITE,
        response=AcceptedView,
        status=202,
    ),
)
