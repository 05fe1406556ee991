"""Knowledge bases: create, find, change. Deleting is in `deletes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError
from shared.domain.ids import is_id, new_id
from shared.domain.knowledge import KnowledgeBase, KnowledgeBaseType, NameClaim
from shared.library.inline import require_inline_room
from shared.library.names import claim_id, clean_name, name_key
from shared.library.paging import visible_page
from shared.ports import AccountStore, Clock, Page, Query, Transaction
from shared.records import KNOWLEDGE_BASE_NAMES, KNOWLEDGE_BASES
from shared.tenancy.accounts import require_departments
from shared.tenancy.authorize import not_found, require_own_departments, require_reach
from shared.tenancy.plans import limits, require_retrieval, require_room


@dataclass(frozen=True, slots=True)
class NewKnowledgeBase:
    name: str
    type: KnowledgeBaseType
    description: str = ""
    category: str | None = None
    department_ids: tuple[str, ...] = ()
    is_auto_context: bool = False
    active: bool = True


def create_knowledge_base(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    new: NewKnowledgeBase,
    *,
    knowledge_base_id: str | None = None,
) -> KnowledgeBase:
    """Makes it under `knowledge_base_id`, a new id by default; what is there already under that id was made
    by an earlier try of the same call, and is returned.

    Raises `PlanRequiredError`, `QuotaExceededError`, `ConflictError` for a name that is taken, and
    `InvalidRequestError` for an unfit name or departments that are not the caller's.

    The count is read before the write: requests in flight together may pass the quota by their number.
    """
    if new.type is KnowledgeBaseType.FILES:
        require_retrieval(caller)
    require_room(
        caller, "knowledge bases", store.count(KNOWLEDGE_BASES, Query()), limits(caller).knowledge_bases
    )
    _check_departments(store, caller, new.department_ids, new.department_ids)
    now = clock.now()
    name = clean_name(new.name)
    made = KnowledgeBase(
        id=knowledge_base_id or new_id("kb"),
        name=name,
        name_key=name_key(name),
        type=new.type,
        description=new.description,
        category=new.category,
        department_ids=tuple(dict.fromkeys(new.department_ids)),
        is_auto_context=new.is_auto_context,
        active=new.active,
        index_version=0,
        created_at=now,
        updated_at=now,
    )

    def body(tx: Transaction) -> KnowledgeBase:
        earlier = tx.get(KNOWLEDGE_BASES, made.id)
        if earlier is not None:
            return earlier
        _require_free_name(tx, made)
        tx.put(KNOWLEDGE_BASE_NAMES, NameClaim(claim_id(made.name_key), made.id))
        tx.put(KNOWLEDGE_BASES, made)
        return made

    return store.transact(body)


def reachable(caller: Caller, found: KnowledgeBase | None, knowledge_base_id: str) -> KnowledgeBase:
    """What was read under this id, if the caller may know of it. Raises `NotFoundError` otherwise."""
    what = f"knowledge base {knowledge_base_id}"
    if found is None or found.deleting:
        raise not_found(what)
    require_reach(caller, found.department_ids, what)
    return found


def get_knowledge_base(store: AccountStore, caller: Caller, knowledge_base_id: str) -> KnowledgeBase:
    """Raises `NotFoundError` for what is absent, being deleted, or another department's."""
    found = store.get(KNOWLEDGE_BASES, knowledge_base_id) if is_id(knowledge_base_id) else None
    return reachable(caller, found, knowledge_base_id)


def list_knowledge_bases(
    store: AccountStore, caller: Caller, *, limit: int, cursor: str | None
) -> Page[KnowledgeBase]:
    """Those that the caller may see, by name."""

    def keep(found: Sequence[KnowledgeBase]) -> list[KnowledgeBase]:
        return [one for one in found if not one.deleting and caller.reaches(one.department_ids)]

    query = Query(order_by="name_key", limit=limit, cursor=cursor)
    return visible_page(store, KNOWLEDGE_BASES, query, keep)


def change_knowledge_base(
    store: AccountStore,
    clock: Clock,
    caller: Caller,
    knowledge_base_id: str,
    change: Callable[[KnowledgeBase], KnowledgeBase],
    *,
    inline_limit: int,
) -> KnowledgeBase:
    """Applies `change` to the settings and bumps the version that retrieval watches, in one transaction.

    Raises `NotFoundError`, `ConflictError` for a name that is taken, `InlineTooLargeError` when its records
    would be automatic context beyond what a request carries, and `InvalidRequestError`, also when
    departments would come or go that are not the caller's.
    """
    before = get_knowledge_base(store, caller, knowledge_base_id)
    wanted = change(before).department_ids
    _check_departments(store, caller, wanted, sorted(set(wanted) ^ set(before.department_ids)))

    def body(tx: Transaction) -> KnowledgeBase:
        current = reachable(caller, tx.get(KNOWLEDGE_BASES, knowledge_base_id), knowledge_base_id)
        changed = change(current)
        if current.department_ids != before.department_ids:
            raise ConflictError(f"The departments of {knowledge_base_id} were changed at the same time.")
        name = clean_name(changed.name)
        changed = replace(
            changed,
            name=name,
            name_key=name_key(name),
            department_ids=tuple(dict.fromkeys(changed.department_ids)),
            index_version=current.index_version + 1,
            updated_at=clock.now(),
        )
        if changed.is_auto_context and changed.active:
            require_inline_room(tx, changed, inline_limit)
        if changed.name_key != current.name_key:
            _require_free_name(tx, changed)
            tx.delete(KNOWLEDGE_BASE_NAMES, claim_id(current.name_key))
            tx.put(KNOWLEDGE_BASE_NAMES, NameClaim(claim_id(changed.name_key), changed.id))
        tx.put(KNOWLEDGE_BASES, changed)
        return changed

    return store.transact(body)


def _require_free_name(tx: Transaction, wanted: KnowledgeBase) -> None:
    claim = tx.get(KNOWLEDGE_BASE_NAMES, claim_id(wanted.name_key))
    if claim is not None and claim.knowledge_base_id != wanted.id:
        # The name may be another department's: nothing more is said about who has it.
        raise ConflictError(
            f"The name {wanted.name!r} is taken in this account.", hint="Choose another name."
        )


def _check_departments(
    store: AccountStore, caller: Caller, wanted: Sequence[str], touched: Sequence[str]
) -> None:
    require_own_departments(caller, touched, "department_ids")
    if wanted:
        require_departments(store, wanted, "department_ids")
