"""From the `Authorization` header to a `Caller`."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from shared.domain.accounts import Account, ApiKey, Caller
from shared.domain.errors import UnauthenticatedError
from shared.domain.ids import is_id
from shared.ports import Clock, Store
from shared.records import ACCOUNT, API_KEYS

KEY_PREFIX = "alm_"
# A revoked key is refused at most this much later by an instance that used it a moment ago.
_KNOWN_FOR = timedelta(seconds=3)
_KNOWN_AT_MOST = 1_000
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
    until: datetime


class Authenticator:
    """Verifies API keys. Keeps what it read for three seconds, so that a burst of calls costs one read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._lock = Lock()

    def __call__(self, authorization: str | None) -> Caller:
        """The caller behind the header `Authorization`. Raises `UnauthenticatedError`, with one message for
        every key that does not hold, so that ids cannot be tried out."""
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise UnauthenticatedError("The request carries no bearer token.")
        parts = parse_key(token.strip())
        if parts is None:
            raise UnauthenticatedError("The bearer token is not an API key of this service.")
        known = self._look_up(parts)
        expected = known.key.secret_hash if known else _NO_HASH
        matches = hmac.compare_digest(hash_secret(parts.secret), expected)
        if known is None or not matches or known.key.revoked_at is not None:
            raise UnauthenticatedError("The API key is not valid, or it was revoked.")
        return _caller(known)

    def _look_up(self, parts: KeyParts) -> _Known | None:
        place = (parts.account_id, parts.key_id)
        now = self._clock.now()
        with self._lock:
            known = self._known.get(place)
        if known is not None and known.until > now:
            return known
        store = self._store.of(parts.account_id)
        key = store.get(API_KEYS, parts.key_id)
        account = store.get(ACCOUNT, parts.account_id) if key is not None else None
        if key is None or account is None:
            return None
        known = _Known(account, key, now + _KNOWN_FOR)
        with self._lock:
            self._known[place] = known
            self._known.move_to_end(place)
            while len(self._known) > _KNOWN_AT_MOST:
                self._known.popitem(last=False)
        return known


def _caller(known: _Known) -> Caller:
    departments = known.key.department_ids
    return Caller(
        account_id=known.account.id,
        plan=known.account.plan,
        principal=f"key:{known.key.id}",
        permissions=frozenset(known.key.permissions),
        department_ids=None if departments is None else frozenset(departments),
    )
