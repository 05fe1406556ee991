"""The main content of a page: what is left when navigation, banners and link lists are gone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shared.ingest.extract.html_hidden import empty

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_ROLES = {
    "navigation",
    "banner",
    "contentinfo",
    "search",
    "dialog",
    "alertdialog",
    "menu",
    "menubar",
    "toolbar",
}
_ASIDE = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation|box|igate)?|menu|breadcrumbs?|cookies?|consent|gdpr|newsletter|subscribe|subscription|"
    r"sidebar|share|sharing|social|related|recommended|promo|advert(?:isement)?|ads?|banner|popup|modal|overlay|"
    r"skip(?:-?link|-?to-?content|nav)?|pagination|pager|toolbar|footer|masthead|comments?-?(?:list|form|section)|"
    r"editsection|catlinks|printfooter|noprint|jump-?(?:link|to-nav)|site-?(?:header|footer|sub)|toc|login|signup|"
    r"feedback|rating|language-?(?:switcher|selector)|metadata)(?:$|[\s_-])",
    re.IGNORECASE,
)
_GROUPS = ("div", "ul", "ol", "section", "aside", "p", "dl", "table", "form", "footer", "header")
_MOST_OF_IT = 0.4  # a part with more of the page's text is no side matter, whatever it is called
_NEVER = {"html", "body", "td", "th", "tr", "h1", "h2", "h3", "main", "article"}
_LINKED = 0.4  # of an aside inside links: more is navigation, less a remark
_DENSE = 0.6  # of a block's text inside links
_FEWEST_LINKS = 4
_LONGEST_LINK = 60  # characters on average; longer ones are sentences
_LEAST = 0.15  # of the page's text must survive
_ENOUGH = 200  # characters


class _Measures:
    """Of every element below a root: characters of text, those inside links, and how many links."""

    def __init__(self, root: HtmlElement) -> None:
        self._of: dict[HtmlElement, tuple[int, int, int]] = {}
        for element in reversed(list(root.iter())):
            size = _length(element.text)
            linked = links = 0
            for child in element:
                inner, inner_linked, inner_links = self._of.get(child, (0, 0, 0))
                size += inner + _length(child.tail)
                linked += inner_linked
                links += inner_links
            self._of[element] = (size, size, 1) if element.tag == "a" else (size, linked, links)

    def size(self, element: HtmlElement) -> int:
        return self._of.get(element, (0, 0, 0))[0]

    def density(self, element: HtmlElement) -> float:
        size, linked, _ = self._of.get(element, (0, 0, 0))
        return linked / max(size, 1)

    def links(self, element: HtmlElement) -> tuple[int, int]:
        """How many links, and the characters in them."""
        _, linked, links = self._of.get(element, (0, 0, 0))
        return links, linked


def _length(text: str | None) -> int:
    return len(text.strip()) if text else 0


def main_content(tree: HtmlElement) -> HtmlElement | None:
    """The part of the page to read, pruned in place; `None` where that leaves next to nothing."""
    body = tree.find("body")
    body = body if body is not None else tree
    measures = _Measures(body)
    total = measures.size(body)
    marked = _marked_root(body, measures, total)
    root = marked if marked is not None else body
    _prune(root, measures, links=marked is None)
    if marked is not None:
        _add_title(root, body)
    if _Measures(root).size(root) < min(_LEAST * total, _ENOUGH):
        return None
    return root


def _marked_root(body: HtmlElement, measures: _Measures, total: int) -> HtmlElement | None:
    """`main` or the only `article`, when it holds a fair part of the text."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = [element for element in body.iterfind(path) if measures.size(element) > 0.25 * total]
        if len(found) == 1:
            return found[0]
    return None


def _prune(root: HtmlElement, measures: _Measures, *, links: bool) -> None:
    most = _MOST_OF_IT * max(measures.size(root), 1)
    for element in list(root.iterdescendants()):
        if not isinstance(element.tag, str) or element.getparent() is None or measures.size(element) > most:
            continue
        if _is_side_matter(element, measures) or (links and _is_link_list(element, measures)):
            empty(element)


def _is_side_matter(element: HtmlElement, measures: _Measures) -> bool:
    tag = element.tag
    if tag == "nav" or element.get("role") in _ROLES:
        return True
    if tag == "aside":
        return measures.density(element) > _LINKED
    if tag in {"footer", "header"}:
        if next(element.iterancestors("article"), None) is not None:
            return False
        return tag == "footer" or element.find(".//h1") is None
    if tag in _NEVER:
        return False
    names = f"{element.get('class', '')} {element.get('id', '')}"
    return bool(_ASIDE.search(names)) and element.find(".//h1") is None


def _is_link_list(element: HtmlElement, measures: _Measures) -> bool:
    if element.tag not in _GROUPS:
        return False
    links, linked = measures.links(element)
    return links >= _FEWEST_LINKS and measures.density(element) >= _DENSE and linked < _LONGEST_LINK * links


def _add_title(root: HtmlElement, body: HtmlElement) -> None:
    """The page's only `h1` often stands just above the marked content."""
    if root.find(".//h1") is not None:
        return
    titles = list(body.iter("h1"))
    if len(titles) == 1 and titles[0] not in set(root.iterancestors()):
        titles[0].tail = None
        root.insert(0, titles[0])
