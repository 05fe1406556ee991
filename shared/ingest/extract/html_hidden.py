"""What a page holds but does not show: hidden by attribute, by style, or by disguise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_PROPERTY = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE = re.compile(r"[.#][\w-]+\Z")
_READER_ONLY = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader(?:-text)?|element-invisible|offscreen)(?:\s|$)"
)
_WHITE = re.compile(r"(?:#fff(?:fff)?(?:ff)?|white|rgba?\(\s*255\s*,\s*255\s*,\s*255\b.*|transparent)$")
_ZERO = re.compile(r"0+(?:\.0+)?(?:px|pt|em|rem|%)?$")
_FAR = re.compile(r"-\d{4,}(?:px|em|rem)?$")
_KEPT = {"html", "body"}

Style = dict[str, str]


def drop_hidden(tree: HtmlElement) -> bool:
    """Removes hidden elements. Returns whether text had been disguised: white on white, of no size, of no
    opacity or far off the page, which no honest page needs."""
    sheets = _sheets(tree)
    disguised = False
    waiting = [tree]
    while waiting:
        for element in waiting.pop():
            if not isinstance(element.tag, str):
                continue
            if element.tag not in _KEPT:
                if _is_disguised(element, _style(element, sheets)):
                    disguised = disguised or bool("".join(element.itertext()).strip())
                    empty(element)
                elif _is_hidden(element, _properties(element.get("style", ""))):
                    empty(element)
            waiting.append(element)
    return disguised


def empty(element: HtmlElement) -> None:
    """Takes everything out of an element but what follows it. Removing it would copy all text beside it."""
    element.clear(keep_tail=True)


def _is_hidden(element: HtmlElement, style: Style) -> bool:
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden", "").lower() == "true"
        or style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or bool(_READER_ONLY.search(element.get("class", "")))
    )


def _is_disguised(element: HtmlElement, style: Style) -> bool:
    if not style and element.tag != "font":
        return False
    if _ZERO.match(style.get("font-size", "")) or _ZERO.match(style.get("opacity", "")):
        return True
    if any(_FAR.match(style.get(name, "")) for name in ("text-indent", "left", "top", "margin-left")):
        return True
    color = style.get("color", element.get("color", "").lower() if element.tag == "font" else "")
    return bool(_WHITE.match(color)) and not _on_ground(element, style)


def _on_ground(element: HtmlElement, style: Style) -> bool:
    """Whether something behind the element may be of another colour than white."""
    if "background" in style or "background-color" in style or "background-image" in style:
        ground = style.get("background-color", style.get("background", ""))
        return not _WHITE.match(ground)
    for above in element.iterancestors():
        own = _properties(above.get("style", ""))
        if above.get("bgcolor") or above.get("class") or "background" in own or "background-color" in own:
            return True
    return bool(element.get("class"))


def _style(element: HtmlElement, sheets: dict[str, Style]) -> Style:
    """The declarations that hit an element, as far as they are written for one class or id."""
    style: Style = {}
    if sheets:
        for name in element.get("class", "").split():
            style |= sheets.get("." + name, {})
        style |= sheets.get("#" + element.get("id", ""), {})
    return style | _properties(element.get("style", ""))


def _properties(text: str) -> Style:
    if not text:
        return {}
    return {
        name.lower(): " ".join(value.lower().replace("!important", "").split())
        for name, value in _PROPERTY.findall(text)
    }


def _sheets(tree: HtmlElement) -> dict[str, Style]:
    found: dict[str, Style] = {}
    for sheet in tree.iter("style"):
        for selectors, body in _RULE.findall((sheet.text or "")[:200_000]):
            for selector in selectors.split(","):
                if _SIMPLE.match(selector.strip()):
                    found.setdefault(selector.strip(), {}).update(_properties(body))
    return found
