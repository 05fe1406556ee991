"""What the archives need stands in one table; this holds it to the project's own list of dependencies."""

from __future__ import annotations

import re
import tomllib

from infra.pack import REQUIREMENTS, ROOT


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in requirements}  # type: ignore[index]


def test_between_them_the_functions_need_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = names(project["dependencies"]) | names(project["optional-dependencies"]["extract"])
    assert set().union(*REQUIREMENTS.values()) == declared
