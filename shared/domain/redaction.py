"""What goes from an answer when a source of it is deleted."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from shared.domain.conversation import Citation

_NUMBER = re.compile(r"\[(\d{1,3})\]")
_REMOVED = "> […]"


def redacted(text: str, numbers: Collection[int]) -> str:
    """The answer without the quotations that rest on these citations: quoted lines that cite one of them. The
    author's own sentences, and their citation numbers, stay."""
    return "\n".join(_line(line, numbers) for line in text.split("\n"))


def without_quote(citation: Citation) -> Citation:
    """The citation still says what it pointed to; the words are gone."""
    return replace(citation, quote="")


def _line(line: str, numbers: Collection[int]) -> str:
    if not line.startswith(">"):
        return line
    cited = [int(number) for number in _NUMBER.findall(line)]
    if not any(number in numbers for number in cited):
        return line
    return f"{_REMOVED} {''.join(f'[{number}]' for number in dict.fromkeys(cited))}"
