"""From a person whom the identity provider vouches for to its place in one account."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shared.domain.accounts import Member, Person
from shared.domain.errors import InvalidRequestError, PermissionDeniedError
from shared.domain.ids import content_id, is_id
from shared.ports import AccountStore, Clock, Query, Store, Transaction
from shared.records import MEMBERS

ACCOUNT_HEADER = "X-Account-Id"
# More accounts than this one person is not shown to choose from; naming one always works.
_MOST_ACCOUNTS = 50


def member_id(uid: str) -> str:
    """The record of a person: the uid itself where it can be an id, as those made by the provider can. A
    project may import users with others, of up to 128 characters of any kind."""
    return uid if is_id(uid) else content_id("uid", uid)


def belonging(store: Store, clock: Clock, person: Person, account_id: str | None) -> tuple[str, Member]:
    """The account that a person acts in and its record there.

    The account is the one named, else the one that the token hints at if the person belongs to it, else the
    only one that the person has joined, else the only one that it is invited to. Being invited to one more
    account therefore changes nothing for somebody who names none. Raises `PermissionDeniedError`, the same
    for an account that is not there, and `InvalidRequestError` when there are several to choose from.
    """
    if account_id is not None:
        member = _enter(store, clock, person, account_id)
        if member is None:
            raise no_member(account_id)
        return account_id, member
    if person.account_hint is not None:
        member = _enter(store, clock, person, person.account_hint)
        if member is not None:
            return person.account_hint, member
    return _only_one(store, clock, person)


def no_member(account_id: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        f"The signed-in person is not an active member of the account {account_id}.",
        hint="An administrator of the account can invite it, by a verified e-mail address or by its uid.",
    )


def _only_one(store: Store, clock: Clock, person: Person) -> tuple[str, Member]:
    known = store.accounts_with(MEMBERS, "uid", person.uid, limit=_MOST_ACCOUNTS)
    records = {name: store.of(name).get(MEMBERS, member_id(person.uid)) for name in known}
    own = {name: member for name, member in records.items() if member is not None and member.active}
    joined = {name: member for name, member in own.items() if member.joined_at is not None}
    if joined:
        chosen = _one_of(joined)
        return chosen, joined[chosen]
    waiting = {*own, *_invited(store, person)}
    if waiting:
        chosen = _one_of(waiting)
        member = _enter(store, clock, person, chosen)
        if member is not None:
            return chosen, member
    raise PermissionDeniedError(
        "The signed-in person is an active member of no account.",
        hint="An administrator of an account can invite it; one by e-mail takes a verified address.",
    )


def _invited(store: Store, person: Person) -> tuple[str, ...]:
    if person.email is None:
        return ()
    names = store.accounts_with(MEMBERS, "email", person.email, limit=_MOST_ACCOUNTS)
    return tuple(name for name in names if _invitations(store.of(name), person.email))


def _one_of(account_ids: Iterable[str]) -> str:
    names = sorted(account_ids)
    if len(names) > 1:
        raise InvalidRequestError(
            f"The signed-in person belongs to {len(names)} accounts, and the request names none.",
            fields=((ACCOUNT_HEADER, f"must be one of {', '.join(names)}"),),
            hint=f"Send the account's id in {ACCOUNT_HEADER}.",
        )
    return names[0]


def _enter(store: Store, clock: Clock, person: Person, account_id: str) -> Member | None:
    """The person's active record in the account, joined now when this is the first call; None without."""
    if not is_id(account_id):
        return None
    records = store.of(account_id)
    member = records.get(MEMBERS, member_id(person.uid))
    if member is None and person.email is None:
        return None
    if member is None or member.joined_at is None:
        member = records.transact(lambda tx: _join(tx, clock, person))
    if member is None or member.uid != person.uid or not member.active:
        return None
    return member


def _join(tx: Transaction, clock: Clock, person: Person) -> Member | None:
    """The first call: an invitation becomes the person's own record, and is used up."""
    own = tx.get(MEMBERS, member_id(person.uid))
    if own is not None and (own.uid != person.uid or own.joined_at is not None or not own.active):
        return own
    by_email = tx.find(MEMBERS, _with_email(person.email)) if person.email is not None else ()
    invitations = [one for one in by_email if one.uid is None]
    found = own or next((one for one in invitations if one.active), None)
    if found is None:
        return None
    joined = replace(
        found,
        id=member_id(person.uid),
        uid=person.uid,
        email=person.email or found.email,
        joined_at=clock.now(),
    )
    tx.put(MEMBERS, joined)
    for invitation in invitations:
        tx.delete(MEMBERS, invitation.id)
    return joined


def _invitations(records: AccountStore, email: str) -> list[Member]:
    found = records.find(MEMBERS, _with_email(email)).items
    return [one for one in found if one.uid is None and one.active]


def _with_email(email: str) -> Query:
    return Query(where=(("email", "==", email),), limit=10)
