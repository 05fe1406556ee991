"""Spaces: create, find, change, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.domain.accounts import Caller
from shared.domain.agents import Space
from shared.domain.errors import ConflictError
from shared.domain.ids import new_id
from shared.library.paging import visible_page
from shared.ports import AccountStore, Clock, Page, Query, Transaction
from shared.records import SPACES
from shared.tenancy.accounts import require_departments
from shared.tenancy.authorize import not_found, require_own_departments, require_reach


def create_space(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    *,
    name: str,
    knowledge_base_ids: Sequence[str] = (),
    department_ids: Sequence[str] = (),
) -> Space:
    """Raises `InvalidRequestError` for departments that are not the caller's."""
    _check_departments(store, caller, department_ids, department_ids)
    now = clock.now()
    made = Space(
        id=new_id("spc"),
        name=name,
        created_at=now,
        updated_at=now,
        knowledge_base_ids=tuple(dict.fromkeys(knowledge_base_ids)),
        department_ids=tuple(dict.fromkeys(department_ids)),
    )
    store.create(SPACES, made)
    return made


def get_space(store: AccountStore, caller: Caller, space_id: str) -> Space:
    """Raises `NotFoundError` for what is absent or another department's."""
    return _reachable(caller, store.get(SPACES, space_id), space_id)


def space_of(store: AccountStore, caller: Caller, space_id: str | None) -> Space | None:
    """The space that something is in; None for none, and for one that is gone or not the caller's."""
    found = store.get(SPACES, space_id) if space_id is not None else None
    return found if found is not None and caller.reaches(found.department_ids) else None


def list_spaces(store: AccountStore, caller: Caller, *, limit: int, cursor: str | None) -> Page[Space]:
    """Those that the caller may see, by name."""
    query = Query(order_by="name", limit=limit, cursor=cursor)
    return visible_page(
        store, SPACES, query, lambda found: [one for one in found if caller.reaches(one.department_ids)]
    )


def change_space(
    store: AccountStore, clock: Clock, caller: Caller, space_id: str, change: Callable[[Space], Space]
) -> Space:
    """Raises `NotFoundError`, and `InvalidRequestError` when departments would come or go that are not the
    caller's."""
    before = get_space(store, caller, space_id)
    wanted = change(before).department_ids
    _check_departments(store, caller, wanted, set(wanted) ^ set(before.department_ids))

    def body(tx: Transaction) -> Space:
        current = _reachable(caller, tx.get(SPACES, space_id), space_id)
        if current.department_ids != before.department_ids:
            raise ConflictError(f"The departments of space {space_id} were changed at the same time.")
        changed = replace(change(current), updated_at=clock.now())
        tx.put(SPACES, changed)
        return changed

    return store.transact(body)


def delete_space(store: AccountStore, caller: Caller, space_id: str) -> None:
    """Its threads stay, without the space's knowledge. Raises `NotFoundError`."""
    store.delete_many(SPACES, [get_space(store, caller, space_id).id])


def _reachable(caller: Caller, found: Space | None, space_id: str) -> Space:
    if found is None:
        raise not_found(f"space {space_id}")
    require_reach(caller, found.department_ids, f"space {space_id}")
    return found


def _check_departments(
    store: AccountStore, caller: Caller, wanted: Sequence[str], touched: Sequence[str] | set[str]
) -> None:
    require_own_departments(caller, touched, "department_ids")
    if wanted:
        require_departments(store, wanted, "department_ids")
