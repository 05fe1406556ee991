"""From the headers that say who calls to a `Caller`."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from shared.domain.accounts import Account, ApiKey, Caller, Member, Permission
from shared.domain.errors import InvalidRequestError, UnauthenticatedError
from shared.domain.ids import is_id
from shared.ports import Clock, IdTokens, Store
from shared.records import ACCOUNT, API_KEYS
from shared.tenancy.membership import ACCOUNT_HEADER, belonging, no_member
from shared.tenancy.recent import Recent
from shared.tenancy.roles import permissions_of

KEY_PREFIX = "alm_"
# An instance that used a key a moment ago refuses it at most this much later, when another one revoked it.
_KNOWN_FOR = timedelta(seconds=3)
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class KeyParts:
    """An API key as sent. The account part only says where to look; the secret is what proves."""

    account_id: str
    key_id: str
    secret: str

    def __str__(self) -> str:
        return f"{KEY_PREFIX}{self.account_id}.{self.key_id}.{self.secret}"


def new_secret() -> str:
    """256 random bits, URL-safe."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 in hex. A slow hash adds nothing where the secret is 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def parse_key(token: str) -> KeyParts | None:
    """The parts of `alm_{account}.{key}.{secret}`; None for anything else."""
    parts = token.removeprefix(KEY_PREFIX).split(".")
    if not token.startswith(KEY_PREFIX) or len(parts) != 3 or not all(map(is_id, parts)):
        return None
    return KeyParts(*parts)


@dataclass(frozen=True, slots=True)
class _Known:
    account: Account
    key: ApiKey


class Authenticator:
    """Verifies API keys, and ID tokens where `id_tokens` can.

    Keys and accounts are kept for three seconds, so that a burst of calls costs one read. A member's record
    is read for every call: one that was deactivated or narrowed is so from its next call on.
    """

    def __init__(self, store: Store, clock: Clock, id_tokens: IdTokens | None = None) -> None:
        self._store = store
        self._clock = clock
        self._id_tokens = id_tokens
        self._keys: Recent[tuple[str, str], _Known] = Recent(clock, _KNOWN_FOR)
        self._accounts: Recent[str, Account] = Recent(clock, _KNOWN_FOR)

    def __call__(self, authorization: str | None, account_id: str | None = None) -> Caller:
        """The caller behind the header `Authorization`; `account_id` is what `X-Account-Id` says.

        Raises `UnauthenticatedError`, with one message for every key that does not hold, so that ids cannot
        be tried out; `PermissionDeniedError` for a person without a place in the account, and
        `InvalidRequestError` when the account has to be named.
        """
        scheme, _, token = (authorization or "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise UnauthenticatedError("The request carries no bearer token.")
        if token.startswith(KEY_PREFIX):
            return self._by_key(token, account_id)
        if self._id_tokens is None:
            raise UnauthenticatedError("The bearer token is not an API key of this service.")
        return self._by_id_token(self._id_tokens, token, account_id)

    def forget_key(self, account_id: str, key_id: str) -> None:
        """For who revokes a key: this instance refuses it from now on."""
        self._keys.forget((account_id, key_id))

    def _by_key(self, token: str, account_id: str | None) -> Caller:
        parts = parse_key(token)
        known = None
        if parts is not None:
            place = (parts.account_id, parts.key_id)
            known = self._keys.get(place, lambda: self._read_key(*place))
        secret = parts.secret if parts is not None else ""
        expected = known.key.secret_hash if known else _NO_HASH
        matches = hmac.compare_digest(hash_secret(secret), expected)
        if known is None or not matches or known.key.revoked_at is not None:
            raise UnauthenticatedError("The API key is not valid, or it was revoked.")
        if account_id not in (None, known.account.id):
            raise InvalidRequestError(
                "The API key is not of the account that the request names.",
                fields=((ACCOUNT_HEADER, "not the key's account"),),
                hint=f"A key has one account: leave {ACCOUNT_HEADER} out.",
            )
        return _key_caller(known)

    def _read_key(self, account_id: str, key_id: str) -> _Known | None:
        key = self._store.of(account_id).get(API_KEYS, key_id)
        account = self._read_account(account_id) if key is not None else None
        return None if key is None or account is None else _Known(account, key)

    def _read_account(self, account_id: str) -> Account | None:
        return self._store.of(account_id).get(ACCOUNT, account_id)

    def _by_id_token(self, id_tokens: IdTokens, token: str, account_id: str | None) -> Caller:
        person = id_tokens.verify(token)
        chosen, member = belonging(self._store, self._clock, person, account_id)
        account = self._accounts.get(chosen, lambda: self._read_account(chosen))
        if account is None:
            raise no_member(chosen)
        return _member_caller(account, member)


def _key_caller(known: _Known) -> Caller:
    return Caller(
        account_id=known.account.id,
        plan=known.account.plan,
        principal=f"key:{known.key.id}",
        permissions=_left(known.account, frozenset(known.key.permissions)),
        department_ids=_reach(known.key.department_ids),
    )


def _member_caller(account: Account, member: Member) -> Caller:
    return Caller(
        account_id=account.id,
        plan=account.plan,
        principal=f"user:{member.id}",
        permissions=_left(account, permissions_of(member.role)),
        department_ids=_reach(member.department_ids),
        role=member.role,
    )


def _left(account: Account, permissions: frozenset[Permission]) -> frozenset[Permission]:
    """Of a closed account administrators read the receipt; nobody does anything else."""
    if not account.deleting:
        return permissions
    if Permission.ACCOUNT_ADMIN not in permissions:
        raise UnauthenticatedError("The account is being deleted.")
    return frozenset({Permission.KB_READ})


def _reach(department_ids: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if department_ids is None else frozenset(department_ids)
