"""An HTML tree as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import Tag


def to_markdown(root: Tag) -> str:
    from markdownify import ATX, MarkdownConverter

    return str(MarkdownConverter(heading_style=ATX, bullets="-", strip=["img"]).convert_soup(root))
