"""The one place that decides what a verified caller may do and see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shared.domain.accounts import Caller, Permission
from shared.domain.errors import InvalidRequestError, NotFoundError, PermissionDeniedError


def require(caller: Caller, permission: Permission | None) -> None:
    """Raises `PermissionDeniedError` without the permission; None asks for nothing beyond being known."""
    if permission is not None and permission not in caller.permissions:
        raise PermissionDeniedError(
            f"This call needs the permission {permission.value}, which the caller does not hold."
        )


def require_reach(caller: Caller, limited_to: tuple[str, ...], what: str) -> None:
    """Raises the same `NotFoundError` as for something absent when it is another department's."""
    if not caller.reaches(limited_to):
        raise not_found(what)


def not_found(what: str) -> NotFoundError:
    """`what` names kind and id as the caller gave it, e.g. `document doc_1`."""
    return NotFoundError(f"There is no {what}.")


def require_own_departments(caller: Caller, department_ids: Iterable[str], field: str) -> None:
    """A caller hands on only what it has: raises `InvalidRequestError` for departments beyond its own."""
    if caller.department_ids is None:
        return
    beyond = sorted(set(department_ids) - caller.department_ids)
    if beyond:
        raise InvalidRequestError(
            f"The caller is not in {', '.join(beyond)}.",
            fields=((field, f"not a department of the caller: {', '.join(beyond)}"),),
        )


def covers(caller: Caller, department_ids: Iterable[str] | None) -> bool:
    """Whether a key or member limited to these departments (None: not limited) reaches no further than the
    caller, who administers only such."""
    if caller.department_ids is None:
        return True
    return department_ids is not None and caller.department_ids.issuperset(department_ids)


def act_as(caller: Caller, user_id: str, department_ids: tuple[str, ...]) -> Caller:
    """The key's caller narrowed to one of its users: the key's permissions, the user's departments.

    Raises `PermissionDeniedError` for a member and without the scope `act_as`, `InvalidRequestError` for
    departments beyond the key's own. An empty tuple is a user in no department, who sees only what is the
    whole account's.
    """
    if caller.role is not None:
        raise PermissionDeniedError(
            "A member acts for itself alone.", hint="Use an API key with the permission act_as."
        )
    require(caller, Permission.ACT_AS)
    require_own_departments(caller, department_ids, "acting_as.department_ids")
    return replace(
        caller,
        principal=f"user:{user_id}",
        permissions=caller.permissions - {Permission.ACT_AS, Permission.ACCOUNT_ADMIN},
        department_ids=frozenset(department_ids),
    )
