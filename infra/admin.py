"""Administration of accounts, for who runs the service.

    python -m infra.admin create-account "Acme Inc" --plan pro
    python -m infra.admin create-department ACCOUNT Engineering
    python -m infra.admin create-key ACCOUNT "CI" --permission kb:read --permission kb:write
    python -m infra.admin add-member ACCOUNT --email ada@example.com --role admin
    python -m infra.admin list [ACCOUNT]

Works on the database that the environment names, as the functions do. A new key is printed once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from infra.seed import seed_examples
from shared.domain.accounts import Permission, Plan, Role
from shared.domain.errors import AlmanacError, NotFoundError
from shared.domain.ids import is_id
from shared.ports import AccountStore, Clock, Query, Store
from shared.records import ACCOUNT, API_KEYS, DEPARTMENTS, MEMBERS
from shared.tenancy import accounts
from shared.tenancy.members import NewMember, add_member
from shared.wiring import container

__all__ = ["main", "run", "seed_examples"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    deps = container()
    try:
        for line in run(deps.store, deps.clock, options):
            print(line)
    except AlmanacError as error:
        print(f"{error.code}: {error.message} {error.hint}", file=sys.stderr)
        return 1
    return 0


def run(store: Store, clock: Clock, options: argparse.Namespace) -> list[str]:
    """Carries one command out; the lines to print."""
    if options.command == "create-account":
        made = accounts.create_account(store, clock, options.name, options.plan, account_id=options.id)
        return [f"account {made.id}"]
    if options.command == "create-department":
        department = accounts.create_department(_account(store, options.account), clock, options.name)
        return [f"department {department.id}"]
    if options.command == "create-key":
        return _create_key(_account(store, options.account), clock, options)
    if options.command == "add-member":
        return _add_member(_account(store, options.account), clock, options)
    if options.account is not None:
        return _describe(_account(store, options.account))
    return [line for name in store.account_ids() for line in _describe(_account(store, name))]


def _create_key(records: AccountStore, clock: Clock, options: argparse.Namespace) -> list[str]:
    departments = [_department(records, name) for name in options.department] or None
    made = accounts.create_key(
        records,
        clock,
        name=options.name,
        permissions=options.permission or tuple(Permission),
        department_ids=departments,
    )
    return [f"key {made.key.id}", made.token, "Keep it: it is not shown again."]


def _add_member(records: AccountStore, clock: Clock, options: argparse.Namespace) -> list[str]:
    departments = tuple(_department(records, name) for name in options.department) or None
    new = NewMember(options.role, departments, uid=options.uid, email=options.email)
    made = add_member(records, clock, new)
    how = "with its first call" if made.uid is not None else "with the first call by its verified owner"
    return [f"member {made.id}", f"{options.email or options.uid} joins {how}."]


def _account(store: Store, account_id: str) -> AccountStore:
    records = store.of(account_id) if is_id(account_id) else None
    if records is None or records.get(ACCOUNT, account_id) is None:
        raise NotFoundError(f"There is no account {account_id}.", hint="`list` shows them.")
    return records


def _department(records: AccountStore, name: str) -> str:
    """The id of a department given by id or by name."""
    for department in records.every(DEPARTMENTS, Query()):
        if name in (department.id, department.name):
            return department.id
    raise NotFoundError(f"There is no department {name}.", hint="`list ACCOUNT` shows them.")


def _describe(records: AccountStore) -> list[str]:
    account = records.get(ACCOUNT, records.account_id)
    if account is None:
        return []
    lines = [f"account {account.id}  {account.plan.value}  {account.name}"]
    departments = records.every(DEPARTMENTS, Query(order_by="name"))
    lines += [f"  department {department.id}  {department.name}" for department in departments]
    for key in records.every(API_KEYS, Query(order_by="created_at")):
        where = _reach(key.department_ids)
        state = "" if key.revoked_at is None else "  revoked"
        lines.append(f"  key {key.id}  {key.name}  {' '.join(key.permissions)}  {where}{state}")
    for member in records.every(MEMBERS, Query(order_by="created_at")):
        who = " ".join(filter(None, (member.email, member.uid)))
        where = _reach(member.department_ids)
        lines.append(f"  member {member.id}  {who}  {member.role}  {where}  {member.status}")
    return lines


def _reach(department_ids: tuple[str, ...] | None) -> str:
    return "all departments" if department_ids is None else " ".join(department_ids) or "none"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.admin", description="Administer accounts.")
    commands = parser.add_subparsers(dest="command", required=True)

    account = commands.add_parser("create-account", help="make an account")
    account.add_argument("name")
    account.add_argument("--plan", type=Plan, choices=list(Plan), default=Plan.PRO)
    account.add_argument("--id", type=_id, help="made up when left out")

    department = commands.add_parser("create-department", help="add a department to an account")
    department.add_argument("account")
    department.add_argument("name")

    key = commands.add_parser("create-key", help="make an API key and print it once")
    key.add_argument("account")
    key.add_argument("name")
    key.add_argument("--permission", type=Permission, choices=list(Permission), action="append", default=[])
    key.add_argument("--department", action="append", default=[], help="id or name; all when left out")

    member = commands.add_parser("add-member", help="invite a person, such as the first administrator")
    member.add_argument("account")
    who = member.add_mutually_exclusive_group(required=True)
    who.add_argument("--email", help="joins once it signs in with this address, verified")
    who.add_argument("--uid", help="its uid in Firebase Authentication")
    member.add_argument("--role", type=Role, choices=list(Role), default=Role.ADMIN)
    member.add_argument("--department", action="append", default=[], help="id or name; all when left out")

    listing = commands.add_parser("list", help="show accounts with their departments, keys and members")
    listing.add_argument("account", nargs="?")
    return parser


def _id(value: str) -> str:
    if not is_id(value):
        raise argparse.ArgumentTypeError("letters, digits, - and _, at most 64")
    return value


if __name__ == "__main__":
    sys.exit(main())
