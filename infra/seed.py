"""The example accounts of a local stack, `acme` and `globex`."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from shared.domain.accounts import Permission, Plan
from shared.domain.errors import ConflictError
from shared.ports import AccountStore, Clock, Query, Store
from shared.records import API_KEYS, DEPARTMENTS
from shared.tenancy import accounts
from shared.tenancy.authenticate import hash_secret, parse_key

_MEMBER = (Permission.KB_READ, Permission.KB_WRITE, Permission.RUN_CREATE)
# Name and departments by account. Each department has a key of its name that reaches no further; `admin`
# reaches everything.
_EXAMPLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "acme": ("Acme", ("engineering", "marketing")),
    "globex": ("Globex", ("operations",)),
}


class Example(TypedDict):
    """As the stack's ready file shows it: ids of departments and bearer tokens, by name."""

    id: str
    departments: dict[str, str]
    keys: dict[str, str]


def seed_examples(store: Store, clock: Clock, keys_file: Path | None = None) -> dict[str, Example]:
    """Makes what is missing of the example accounts and returns them all.

    Keys are kept only as hashes, so they are known again at the next start only from `keys_file`, which is
    read first and written last, for its owner alone. Keys that it does not hold are made new.
    """
    known = _read(keys_file)
    examples = {
        account_id: _seed(store, clock, account_id, known.get(account_id, {})) for account_id in _EXAMPLES
    }
    if keys_file is not None:
        _write(keys_file, {name: example["keys"] for name, example in examples.items()})
    return examples


def _seed(store: Store, clock: Clock, account_id: str, known: Mapping[str, str]) -> Example:
    title, names = _EXAMPLES[account_id]
    records = store.of(account_id)
    with suppress(ConflictError):  # it is there from an earlier start
        accounts.create_account(store, clock, title, Plan.PRO, account_id=account_id)
    departments = {one.name: one.id for one in records.every(DEPARTMENTS, Query())}
    for name in names:
        if name not in departments:
            departments[name] = accounts.create_department(records, clock, name).id
    keys = {}
    for name, permissions, limited_to in (
        ("admin", tuple(Permission), None),
        *((name, _MEMBER, [departments[name]]) for name in names),
    ):
        token = known.get(name)
        if token is None or not _holds(records, token):
            token = accounts.create_key(
                records, clock, name=name, permissions=permissions, department_ids=limited_to
            ).token
        keys[name] = token
    return Example(id=account_id, departments={name: departments[name] for name in names}, keys=keys)


def _holds(records: AccountStore, token: str) -> bool:
    """Whether the token is of a key that is there and not revoked."""
    parts = parse_key(token)
    key = records.get(API_KEYS, parts.key_id) if parts is not None else None
    if parts is None or key is None or key.revoked_at is not None:
        return False
    return hmac.compare_digest(key.secret_hash, hash_secret(parts.secret))


def _read(keys_file: Path | None) -> dict[str, dict[str, str]]:
    if keys_file is None or not keys_file.exists():
        return {}
    known: dict[str, dict[str, str]] = json.loads(keys_file.read_text())
    return known


def _write(keys_file: Path, keys: Mapping[str, Mapping[str, str]]) -> None:
    keys_file.touch(mode=0o600)
    keys_file.write_text(json.dumps(keys, indent=2))
