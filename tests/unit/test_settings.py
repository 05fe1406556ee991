"""What a deployment may not be told."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared.domain.accounts import Permission, Role
from shared.domain.errors import MisconfiguredError
from shared.settings import Settings, refuse_emulators
from shared.tenancy.roles import permissions_of

ROOT = Path(__file__).resolve().parent.parent.parent
EMULATORS = (
    "FIRESTORE_EMULATOR_HOST",
    "STORAGE_EMULATOR_HOST",
    "FIREBASE_STORAGE_EMULATOR_HOST",
    "FIREBASE_AUTH_EMULATOR_HOST",
    "CLOUD_TASKS_EMULATOR_HOST",
    "PUBSUB_EMULATOR_HOST",
    "FIREBASE_EMULATOR_HUB",
)


@pytest.mark.parametrize("name", EMULATORS)
@pytest.mark.parametrize("value", ["127.0.0.1:9099", ""])
def test_emulators_are_for_what_is_not_deployed(name: str, value: str) -> None:
    with pytest.raises(MisconfiguredError) as caught:
        Settings.from_env({"K_SERVICE": "chat", name: value})
    assert name in caught.value.message
    assert "chat" in caught.value.message
    refuse_emulators({name: value})
    refuse_emulators({"K_SERVICE": "chat"})
    assert Settings.from_env({"K_SERVICE": "chat"}).deployed


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("functions/*/main.py")))
def test_no_deployed_function_starts_with_an_emulator(name: str) -> None:
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", f"import functions.{name}.main"],
        cwd=ROOT,
        env={**kept, "K_SERVICE": name, "FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9099"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"shared.domain.errors.MisconfiguredError: The deployed function {name} is told to use emulators by "
        "FIREBASE_AUTH_EMULATOR_HOST."
    )


def test_roles_hold_one_another() -> None:
    held = [permissions_of(role) for role in (Role.VIEWER, Role.MEMBER, Role.EDITOR, Role.ADMIN)]
    assert all(less < more for less, more in itertools.pairwise(held))
    assert held[-1] == frozenset(Permission)
    administration = {Permission.ACCOUNT_ADMIN, Permission.ACT_AS}
    assert not any(administration & held_by_others for held_by_others in held[:-1])
