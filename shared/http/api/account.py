"""The account, its departments and its API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from shared.domain.accounts import Account, ApiKey, Caller, Department, Permission, Plan, Role
from shared.http.api.deps import AccountDeps
from shared.http.api.receipts import AcceptedView
from shared.http.models import Body, Id, Listing, NoParams, PageParams, View
from shared.http.routes import AnyRoute, Call, Reply, Route
from shared.library.closing import close_account
from shared.library.deps import LibraryDeps
from shared.library.paging import visible_page
from shared.ports import Query
from shared.records import ACCOUNT, API_KEYS, DEPARTMENTS
from shared.tenancy import accounts
from shared.tenancy.authorize import covers, not_found
from shared.tenancy.plans import limits

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class LimitsView(View):
    knowledge_bases: int
    documents: int
    chats_per_minute: int


class CallerView(View):
    principal: str
    role: Role | None = Field(description="A member's role; a key has none, only permissions.")
    permissions: tuple[Permission, ...]
    department_ids: tuple[str, ...] | None = Field(description="None: all departments.")


class AccountView(View):
    id: str
    name: str
    plan: Plan
    limits: LimitsView
    created_at: datetime
    caller: CallerView


class NewDepartment(Body):
    name: Title


class DepartmentView(View):
    id: str
    name: str
    created_at: datetime


class NewApiKey(Body):
    name: Title
    permissions: tuple[Permission, ...] = Field(min_length=1)
    department_ids: tuple[Id, ...] | None = Field(
        default=None, description="None: all departments of the caller."
    )


class ApiKeyView(View):
    id: str
    name: str
    permissions: tuple[Permission, ...]
    department_ids: tuple[str, ...] | None
    created_at: datetime
    revoked_at: datetime | None


class CreatedApiKeyView(ApiKeyView):
    secret: str = Field(description="What goes behind `Bearer`. Shown this once.")


def get_account(deps: LibraryDeps, call: Call[None, NoParams]) -> AccountView:
    account = deps.store.of(call.caller.account_id).get(ACCOUNT, call.caller.account_id)
    if account is None:
        raise not_found("account")
    return _account_view(account, call)


def delete_account(deps: LibraryDeps, call: Call[None, NoParams]) -> AcceptedView:
    return AcceptedView(receipt_id=close_account(deps, call.caller).id)


def list_departments(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[DepartmentView]:
    mine = call.caller.department_ids
    page = visible_page(
        deps.store.of(call.caller.account_id),
        DEPARTMENTS,
        Query(order_by="name", limit=call.query.limit, cursor=call.query.cursor),
        lambda found: [one for one in found if mine is None or one.id in mine],
    )
    return Listing[DepartmentView](
        items=tuple(_department_view(one) for one in page.items), next_cursor=page.next_cursor
    )


def create_department(deps: LibraryDeps, call: Call[NewDepartment, NoParams]) -> DepartmentView:
    store = deps.store.of(call.caller.account_id)
    return _department_view(accounts.create_department(store, deps.clock, call.body.name))


def list_api_keys(deps: LibraryDeps, call: Call[None, PageParams]) -> Listing[ApiKeyView]:
    page = visible_page(
        deps.store.of(call.caller.account_id),
        API_KEYS,
        Query(order_by="created_at", limit=call.query.limit, cursor=call.query.cursor),
        lambda found: [key for key in found if covers(call.caller, key.department_ids)],
    )
    return Listing[ApiKeyView](
        items=tuple(_key_view(key) for key in page.items), next_cursor=page.next_cursor
    )


def create_api_key(deps: LibraryDeps, call: Call[NewApiKey, NoParams]) -> CreatedApiKeyView:
    made = accounts.grant_key(
        deps.store.of(call.caller.account_id),
        deps.clock,
        call.caller,
        name=call.body.name,
        permissions=call.body.permissions,
        department_ids=call.body.department_ids,
    )
    return CreatedApiKeyView(**_key_view(made.key).model_dump(), secret=made.token)


def revoke_api_key(deps: AccountDeps, call: Call[None, NoParams]) -> Reply:
    account_id, key_id = call.caller.account_id, call.path["key_id"]
    accounts.revoke_key(deps.store.of(account_id), deps.clock, call.caller, key_id)
    deps.authenticator.forget_key(account_id, key_id)
    return Reply(None, 204)


def _account_view(account: Account, call: Call[None, NoParams]) -> AccountView:
    included = limits(call.caller)
    return AccountView(
        id=account.id,
        name=account.name,
        plan=account.plan,
        limits=LimitsView(
            knowledge_bases=included.knowledge_bases,
            documents=included.documents,
            chats_per_minute=included.chats_per_minute,
        ),
        created_at=account.created_at,
        caller=_caller_view(call.caller),
    )


def _caller_view(caller: Caller) -> CallerView:
    mine = caller.department_ids
    return CallerView(
        principal=caller.principal,
        role=caller.role,
        permissions=tuple(sorted(caller.permissions)),
        department_ids=None if mine is None else tuple(sorted(mine)),
    )


def _department_view(department: Department) -> DepartmentView:
    return DepartmentView(id=department.id, name=department.name, created_at=department.created_at)


def _key_view(key: ApiKey) -> ApiKeyView:
    return ApiKeyView(
        id=key.id,
        name=key.name,
        permissions=key.permissions,
        department_ids=key.department_ids,
        created_at=key.created_at,
        revoked_at=key.revoked_at,
    )


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/v1/account", get_account, "The caller's account, and the caller", response=AccountView),
    Route(
        "DELETE",
        "/v1/account",
        delete_account,
        "Delete the account with all that is in it",
        Permission.ACCOUNT_ADMIN,
        response=AcceptedView,
        status=202,
    ),
    Route(
        "GET",
        "/v1/departments",
        list_departments,
        "The caller's departments",
        query=PageParams,
        response=Listing[DepartmentView],
    ),
    Route(
        "POST",
        "/v1/departments",
        create_department,
        "Add a department",
        Permission.ACCOUNT_ADMIN,
        body=NewDepartment,
        response=DepartmentView,
        status=201,
    ),
    Route(
        "GET",
        "/v1/api-keys",
        list_api_keys,
        "The keys that the caller administers",
        Permission.ACCOUNT_ADMIN,
        query=PageParams,
        response=Listing[ApiKeyView],
    ),
    Route(
        "POST",
        "/v1/api-keys",
        create_api_key,
        "Make a key; its secret is shown once",
        Permission.ACCOUNT_ADMIN,
        body=NewApiKey,
        response=CreatedApiKeyView,
        status=201,
        secret=True,
    ),
    Route(
        "DELETE",
        "/v1/api-keys/{key_id}",
        revoke_api_key,
        "Revoke a key",
        Permission.ACCOUNT_ADMIN,
        status=204,
    ),
)
