"""Accounts from the command line, and the example accounts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra import admin
from infra.seed import seed_examples
from shared.domain.accounts import Permission
from shared.domain.errors import ConflictError, NotFoundError
from shared.records import API_KEYS
from tests.flows.api_stack import Api, Stack, created, problem
from tests.flows.people import People


def run(stack: Stack, *arguments: str) -> list[str]:
    options = admin._parser().parse_args(arguments)
    return admin.run(stack.deps.store, stack.deps.clock, options)


def test_an_account_from_nothing(stack: Stack) -> None:
    account = run(stack, "create-account", "Initech", "--plan", "enterprise")[0].split()[1]
    run(stack, "create-department", account, "Reports")
    _, token, _ = run(
        stack, "create-key", account, "bot", "--permission", "kb:read", "--department", "Reports"
    )
    _, all_powerful, _ = run(stack, "create-key", account, "admin")
    bot, boss = Api(stack.client, token), Api(stack.client, all_powerful)
    assert created(bot("GET", "/v1/account"))["name"] == "Initech"
    assert [one["name"] for one in created(bot("GET", "/v1/departments"))["items"]] == ["Reports"]
    assert problem(bot("GET", "/v1/api-keys")) == (403, "permission_denied")
    assert len(created(boss("GET", "/v1/api-keys"))["items"]) == 2
    listing = run(stack, "list", account)
    assert listing[0] == f"account {account}  enterprise  Initech"
    assert token not in "\n".join(listing)
    assert run(stack, "list") == listing


def test_what_is_not_there_is_told(stack: Stack) -> None:
    with pytest.raises(NotFoundError):
        run(stack, "create-department", "nobody", "Reports")
    with pytest.raises(NotFoundError):
        run(stack, "list", "../acme")
    account = run(stack, "create-account", "Initech")[0].split()[1]
    with pytest.raises(NotFoundError):
        run(stack, "create-key", account, "bot", "--department", "Reports")


def test_the_first_administrator(people: People) -> None:
    stack = people.stack
    account = run(stack, "create-account", "Initech")[0].split()[1]
    run(stack, "create-department", account, "Reports")
    run(stack, "add-member", account, "--email", "Ada@example.com")
    run(stack, "add-member", account, "--uid", "bob", "--role", "viewer", "--department", "Reports")
    ada = people.sign_in("ada", "ada@example.com")
    listed = {one["id"]: one for one in created(ada("GET", "/v1/members"))["items"]}
    assert (listed["ada"]["role"], listed["ada"]["status"]) == ("admin", "active")
    assert (listed["bob"]["role"], listed["bob"]["status"]) == ("viewer", "invited")
    listing = run(stack, "list", account)
    assert "  member ada  ada@example.com ada  admin  all departments  active" in listing
    with pytest.raises(ConflictError):
        run(stack, "add-member", account, "--uid", "ada")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["create-account", "A", "--plan", "gold"],
        ["create-account", "A", "--id", "a b"],
        ["add-member", "acme"],
        ["add-member", "acme", "--uid", "a", "--email", "a@example.com"],
        ["add-member", "acme", "--uid", "a", "--role", "owner"],
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        admin._parser().parse_args(arguments)
    assert "usage" in capsys.readouterr().err


def test_the_examples_are_made_once_and_their_keys_kept(stack: Stack, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first = seed_examples(stack.deps.store, stack.deps.clock, file)
    assert {name: set(example["keys"]) for name, example in first.items()} == {
        "acme": {"admin", "engineering", "marketing"},
        "globex": {"admin", "operations"},
    }
    assert file.stat().st_mode & 0o077 == 0
    assert seed_examples(stack.deps.store, stack.deps.clock, file) == first
    acme = first["acme"]
    admin_api, marketing = (Api(stack.client, acme["keys"][name]) for name in ("admin", "marketing"))
    assert created(admin_api("GET", "/v1/account"))["plan"] == "pro"
    seen = created(marketing("GET", "/v1/departments"))["items"]
    assert [one["id"] for one in seen] == [acme["departments"]["marketing"]]
    keys = {key.name: key for key in stack.deps.store.of("acme").every(API_KEYS, admin.Query())}
    assert set(keys["admin"].permissions) == set(Permission)
    assert keys["admin"].department_ids is None
    assert set(keys["engineering"].permissions) == {"kb:read", "kb:write", "run:create"}


def test_example_keys_that_are_lost_or_revoked_are_made_again(stack: Stack, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first = seed_examples(stack.deps.store, stack.deps.clock, file)
    boss = Api(stack.client, first["acme"]["keys"]["admin"])
    revoked = first["acme"]["keys"]["marketing"]
    boss("DELETE", f"/v1/api-keys/{revoked.split('.')[1]}")
    kept = json.loads(file.read_text())
    del kept["globex"]["operations"]
    kept["globex"]["admin"] = kept["globex"]["admin"][:-1] + "x"
    file.write_text(json.dumps(kept))
    second = seed_examples(stack.deps.store, stack.deps.clock, file)
    assert second["acme"]["keys"]["admin"] == first["acme"]["keys"]["admin"]
    for account, name in (("acme", "marketing"), ("globex", "operations"), ("globex", "admin")):
        assert second[account]["keys"][name] != first[account]["keys"][name]
        created(Api(stack.client, second[account]["keys"][name])("GET", "/v1/account"))
    assert second["acme"]["departments"] == first["acme"]["departments"]
