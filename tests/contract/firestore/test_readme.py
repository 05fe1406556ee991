"""The README's tables name tests that exist, and every RPC of the service has a row."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from google.cloud import firestore_v1

from emulators.firestore import service

HERE = Path(__file__).parent
README = Path(service.__file__).parent / "README.md"


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_test_that_the_readme_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", README.read_text())
    assert len(named) > 80
    missing = [
        (file, test)
        for file, test in named
        if not (HERE / file).exists() or (test and test not in names_in(HERE / file))
    ]
    assert missing == []


def test_every_call_that_the_client_can_make_has_a_row_or_is_refused() -> None:
    metadata = json.loads((Path(firestore_v1.__file__).parent / "gapic_metadata.json").read_text())
    calls = metadata["services"]["Firestore"]["clients"]["grpc"]["rpcs"]
    refused = {"ExecutePipeline": "pipelines"}
    text = README.read_text()
    assert [name for name in calls if f"`{name}`" not in text and refused.get(name, "?") not in text] == []
