"""Golden files: what people or models see, kept beside the tests for a reviewer to read."""

from __future__ import annotations

import os
from pathlib import Path

from shared.domain.models import Prompt

FOLDER = Path(__file__).parent / "golden"


def same_as_golden(name: str, text: str) -> None:
    """Compares with the file; ALMANAC_WRITE_GOLDEN=1 writes it anew."""
    path = FOLDER / name
    if os.environ.get("ALMANAC_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def prompt_text(prompt: Prompt) -> str:
    turns = "\n".join(f"[{turn.role.value}] {turn.text}" for turn in prompt.history)
    return f"=== system\n{prompt.system}\n=== history\n{turns}\n=== user\n{prompt.user}\n"
