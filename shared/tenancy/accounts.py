"""Accounts, their departments and their API keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.accounts import Account, ApiKey, Caller, Department, Permission, Plan
from shared.domain.errors import ConflictError, InvalidRequestError
from shared.domain.ids import new_id
from shared.ports import AccountStore, Clock, Query, Store, Transaction
from shared.records import ACCOUNT, API_KEYS, DEPARTMENTS
from shared.tenancy.authenticate import KeyParts, hash_secret, new_secret
from shared.tenancy.authorize import covers, not_found, require_own_departments


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `token` is what a client sends; it is nowhere kept."""

    key: ApiKey
    token: str


def create_account(
    store: Store, clock: Clock, name: str, plan: Plan, *, account_id: str | None = None
) -> Account:
    """Raises `ConflictError` when the id is taken."""
    account = Account(account_id or new_id("acc"), name, plan, clock.now())
    store.of(account.id).create(ACCOUNT, account)
    return account


def create_department(store: AccountStore, clock: Clock, name: str) -> Department:
    """Raises `ConflictError` when the account has one of that name."""
    made = Department(new_id("dep"), name, clock.now())

    def body(tx: Transaction) -> None:
        if tx.find(DEPARTMENTS, Query(where=(("name", "==", name),), limit=1)):
            raise ConflictError(f"There is a department called {name} already.", hint="Use that one.")
        tx.put(DEPARTMENTS, made)

    store.transact(body)
    return made


def require_departments(store: AccountStore, department_ids: Sequence[str], field: str) -> None:
    """Raises `InvalidRequestError` when one of them is not the account's."""
    known = store.get_many(DEPARTMENTS, department_ids)
    unknown = [name for name in dict.fromkeys(department_ids) if name not in known]
    if unknown:
        raise InvalidRequestError(
            f"There are no departments {', '.join(unknown)}.",
            fields=((field, f"no such department: {', '.join(unknown)}"),),
            hint="GET /v1/departments lists them.",
        )


def create_key(
    store: AccountStore,
    clock: Clock,
    *,
    name: str,
    permissions: Sequence[Permission],
    department_ids: Sequence[str] | None,
) -> NewKey:
    """A key with these permissions in these departments (None: all). Raises `InvalidRequestError`."""
    if department_ids is not None:
        require_departments(store, department_ids, "department_ids")
    secret = new_secret()
    key = ApiKey(
        id=new_id("key"),
        name=name,
        secret_hash=hash_secret(secret),
        permissions=tuple(dict.fromkeys(permissions)),
        department_ids=None if department_ids is None else tuple(dict.fromkeys(department_ids)),
        created_at=clock.now(),
    )
    store.create(API_KEYS, key)
    return NewKey(key, str(KeyParts(store.account_id, key.id, secret)))


def grant_key(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    *,
    name: str,
    permissions: Sequence[Permission],
    department_ids: Sequence[str] | None,
) -> NewKey:
    """`create_key` by a caller, who can hand on only what it has itself."""
    beyond = [permission.value for permission in permissions if permission not in caller.permissions]
    if beyond:
        raise InvalidRequestError(
            f"The caller does not hold {', '.join(beyond)}.",
            fields=(("permissions", f"not the caller's own: {', '.join(beyond)}"),),
        )
    if department_ids is None and caller.department_ids is not None:
        department_ids = sorted(caller.department_ids)
    require_own_departments(caller, department_ids or (), "department_ids")
    return create_key(store, clock, name=name, permissions=permissions, department_ids=department_ids)


def revoke_key(store: AccountStore, clock: Clock, caller: Caller, key_id: str) -> None:
    """Ends a key. Ending it again changes nothing; raises `NotFoundError` for one that is not there."""

    def body(tx: Transaction) -> None:
        key = tx.get(API_KEYS, key_id)
        if key is None or not covers(caller, key.department_ids):
            raise not_found(f"API key {key_id}")
        if key.revoked_at is None:
            tx.put(API_KEYS, replace(key, revoked_at=clock.now()))

    store.transact(body)
