"""Plain words as Markdown: escaped where they would be taken for structure, and nowhere else."""

from __future__ import annotations

import re

# What makes a line something else than a paragraph: headings, quotes, fences, tables, HTML, indented code.
_MARKS = re.compile(r"^(\s*)(#{1,6}(?=[ \t]|$)|>|```|~~~|\||<(?=[a-zA-Z/!?]))")
_UNDERLINE = re.compile(r"^\s*(?:=+|-+|(?:[-*_]\s*){3,})\s*$")
_BULLET = re.compile(r"^(\s*)([-+*])(?=\s)")
_NUMBER = re.compile(r"^(\s*\d{1,9})([.)])(?=\s)")


def escape_line(line: str, *, lists: bool = False) -> str:
    """A line of words that stays one. `lists` escapes what starts a list item, too; else a line that looks
    like an item is left to be one."""
    line = line.strip() if lists else line.rstrip()
    if _UNDERLINE.match(line):
        return f"\\{line.strip()}"
    line = _MARKS.sub(r"\1\\\2", line)
    if lists:
        line = _NUMBER.sub(r"\1\\\2", _BULLET.sub(r"\1\\\2", line))
    return line
