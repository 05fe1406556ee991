"""Which paragraph styles are headings or code."""

from __future__ import annotations

import re

from shared.ingest.extract.docx_package import W
from shared.ingest.extract.ooxml import Package

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_CODE = re.compile(
    r"(?:source ?code|code(?: ?block)?|html preformatted|preformatted text|macro text|verbatim)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w-]+\Z")
_DEEPEST = 20  # of styles based on styles
# Styles that stand for what is set on a paragraph itself: its font, its outline level.
CODE = "MonospacedCode"
OUTLINE = "OutlineLevel"


def style_map(package: Package) -> str:
    """mammoth's rules for this document: its own styles by what they are based on, titles, code."""
    rules = [f"p.{OUTLINE}{level} => h{level}:fresh" for level in range(1, 7)]
    rules += [
        "p[style-name='Title'] => h1:fresh",
        "p[style-name='Subtitle'] => p:fresh",
        "r[style-name='Strong'] => strong",
        f"p.{CODE} => pre:separator('\\n')",
    ]
    for name, (kind, level) in _styles(package).items():
        if not _NAME.match(name):
            continue
        if kind == "code":
            rules.append(f"p.{name} => pre:separator('\\n')")
        elif level:
            rules.append(f"p.{name} => h{min(level, 6)}:fresh")
    return "\n".join(rules)


def _styles(package: Package) -> dict[str, tuple[str, int]]:
    """Style id to (`heading` with its level, or `code`), through the styles it is based on."""
    if "word/styles.xml" not in package.names:
        return {}
    own: dict[str, tuple[str, int]] = {}
    based: dict[str, str] = {}
    for style in package.xml("word/styles.xml").iter(f"{W}style"):
        if style.get(f"{W}type") != "paragraph":
            continue
        identity = style.get(f"{W}styleId", "")
        name = _value(style.find(f"{W}name"))
        level = _value(style.find(f"{W}pPr/{W}outlineLvl"))
        parent = _value(style.find(f"{W}basedOn"))
        heading = _HEADING.match(name)
        if heading:
            own[identity] = ("heading", int(heading[1]))
        elif _CODE.match(name):
            own[identity] = ("code", 0)
        elif level.isdecimal() and int(level) < 9:
            own[identity] = ("heading", int(level) + 1)
        elif level.isdecimal() or name.lower().startswith("toc"):
            own[identity] = ("text", 0)
        if parent:
            based[identity] = parent
    return {identity: kind for identity in {*own, *based} if (kind := _inherited(identity, own, based))[0]}


def _inherited(identity: str, own: dict[str, tuple[str, int]], based: dict[str, str]) -> tuple[str, int]:
    for _ in range(_DEEPEST):
        if identity in own:
            return own[identity]
        if identity not in based:
            break
        identity = based[identity]
    return ("", 0)


def _value(node: object) -> str:
    get = getattr(node, "get", None)
    return str(get(f"{W}val", "")) if get is not None else ""
