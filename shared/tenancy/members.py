"""The members of an account: invite, change, remove.

Who administers hands on only what it holds, and touches only members that reach no further than itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.domain.accounts import Caller, Member, Role
from shared.domain.errors import ConflictError, InvalidRequestError, PermissionDeniedError
from shared.domain.ids import new_id
from shared.ports import AccountStore, Clock, Query, Transaction
from shared.records import MEMBERS
from shared.tenancy.accounts import require_departments
from shared.tenancy.authorize import covers, not_found, require_own_departments
from shared.tenancy.membership import member_id
from shared.tenancy.roles import permissions_of

# As many administrators are looked through for one who stays.
_MOST_ADMINISTRATORS = 500


@dataclass(frozen=True, slots=True)
class NewMember:
    """Whom to add, by `uid` or by `email`, and as what. `department_ids` None: all of the account."""

    role: Role
    department_ids: tuple[str, ...] | None = None
    uid: str | None = None
    email: str | None = None


def add_member(store: AccountStore, clock: Clock, new: NewMember) -> Member:
    """Invites a person; it joins with its first call. Nothing is sent to it, and nobody is asked whether it
    exists, so that an address cannot be tried out here.

    Raises `InvalidRequestError` for departments that are not the account's, `ConflictError` for a person who
    has a place already, deactivated or not.
    """
    if (new.uid is None) == (new.email is None):
        raise InvalidRequestError(
            "A member is added by either uid or email.", fields=(("email", "give this or uid"),)
        )
    if new.department_ids is not None:
        require_departments(store, new.department_ids, "department_ids")
    made = Member(
        id=new_id("inv") if new.uid is None else member_id(new.uid),
        uid=new.uid,
        email=None if new.email is None else new.email.lower(),
        role=new.role,
        department_ids=None if new.department_ids is None else tuple(dict.fromkeys(new.department_ids)),
        created_at=clock.now(),
    )

    def body(tx: Transaction) -> None:
        same = Query(where=(("email", "==", made.email),), limit=1)
        known = tx.find(MEMBERS, same) if made.uid is None else tx.get(MEMBERS, made.id)
        if known:
            raise ConflictError(
                f"{made.email or made.uid} is a member of the account or invited to it already.",
                hint="Change the member that GET /v1/members lists.",
            )
        tx.put(MEMBERS, made)

    store.transact(body)
    return made


def grant_member(store: AccountStore, clock: Clock, caller: Caller, new: NewMember) -> Member:
    """`add_member` by a caller, who can hand on only what it has itself."""
    departments = new.department_ids
    if departments is None and caller.department_ids is not None:
        departments = tuple(sorted(caller.department_ids))
    _require_grantable(caller, new.role, departments)
    return add_member(store, clock, NewMember(new.role, departments, new.uid, new.email))


def get_member(store: AccountStore, caller: Caller, name: str) -> Member:
    """Raises `NotFoundError`."""
    return _seen(store.get(MEMBERS, name), caller, name)


def change_member(
    store: AccountStore, caller: Caller, name: str, change: Callable[[Member], Member]
) -> Member:
    """Changes role, departments or whether a member is active, from its next call on.

    Raises `NotFoundError`, `InvalidRequestError` for what the caller cannot hand on, `PermissionDeniedError`
    for a member who holds more than the caller, `ConflictError` for the last administrator.
    """
    current = get_member(store, caller, name)
    if (wanted := change(current).department_ids) is not None:
        require_departments(store, wanted, "department_ids")

    def body(tx: Transaction) -> Member:
        current = _seen(tx.get(MEMBERS, name), caller, name)
        changed = change(current)
        if changed == current:
            return current
        _require_no_more(caller, current)
        _require_grantable(caller, changed.role, changed.department_ids)
        if _administers(current) and not _administers(changed):
            _require_another(tx, current)
        tx.put(MEMBERS, changed)
        return changed

    return store.transact(body)


def remove_member(store: AccountStore, caller: Caller, name: str) -> None:
    """Ends a membership or an invitation. Raises as `change_member` does."""

    def body(tx: Transaction) -> None:
        current = _seen(tx.get(MEMBERS, name), caller, name)
        _require_no_more(caller, current)
        if _administers(current):
            _require_another(tx, current)
        tx.delete(MEMBERS, name)

    store.transact(body)


def _seen(member: Member | None, caller: Caller, name: str) -> Member:
    if member is None or not covers(caller, member.department_ids):
        raise not_found(f"member {name}")
    return member


def _require_grantable(caller: Caller, role: Role, department_ids: Sequence[str] | None) -> None:
    beyond = _beyond(caller, role)
    if beyond:
        raise InvalidRequestError(
            f"The role {role.value} holds what the caller does not: {', '.join(beyond)}.",
            fields=(("role", f"holds more than the caller: {', '.join(beyond)}"),),
        )
    if department_ids is None and caller.department_ids is not None:
        raise InvalidRequestError(
            "The caller is not in every department.",
            fields=(("department_ids", "must be departments of the caller"),),
        )
    require_own_departments(caller, department_ids or (), "department_ids")


def _require_no_more(caller: Caller, member: Member) -> None:
    beyond = _beyond(caller, member.role)
    if beyond:
        raise PermissionDeniedError(
            f"The member {member.id} holds what the caller does not: {', '.join(beyond)}."
        )


def _beyond(caller: Caller, role: Role) -> list[str]:
    return sorted(permission.value for permission in permissions_of(role) - caller.permissions)


def _administers(member: Member) -> bool:
    """Whether the member can administer the whole account now."""
    joined = member.active and member.joined_at is not None
    return joined and member.role is Role.ADMIN and member.department_ids is None


def _require_another(tx: Transaction, leaving: Member) -> None:
    where = (("role", "==", Role.ADMIN.value), ("active", "==", True))
    others = tx.find(MEMBERS, Query(where=where, limit=_MOST_ADMINISTRATORS))
    if not any(_administers(other) for other in others if other.id != leaving.id):
        raise ConflictError(
            f"The member {leaving.id} is the last administrator of the account.",
            hint="Make another member administrator of all departments first, and let it sign in.",
        )
