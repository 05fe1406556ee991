"""An HTML tree (of lxml) as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.ingest.extract.escape import escape_line
from shared.ingest.extract.grid import pipe_table
from shared.ingest.extract.markup_table import table_rows

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CONTAINER_NAMES = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol "
    "optgroup p pre section summary table tbody td tfoot th thead tr ul"
)
_CONTAINERS = frozenset(_CONTAINER_NAMES.split())

_DROPPED_NAMES = (
    "annotation annotation-xml applet area audio base button canvas col colgroup datalist embed frame "
    "frameset head iframe img input link map meta noembed noframes noscript object option param picture "
    "progress rp rt script select source style svg template textarea title track video"
)
DROPPED = frozenset(_DROPPED_NAMES.split())

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_STRONG = frozenset({"b", "strong"})
_EMPHASIS = frozenset({"i", "em", "cite", "dfn", "var"})
_LISTS = frozenset({"ul", "ol"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush|sourceCode)[-:\s]+([\w+#-]+)")
_LANGUAGES = re.compile(r"[\w+#-]{1,20}\Z")
_ANCHORS = {"#", "¶", "§", "🔗", "⚓"}
_NOTE = re.compile(r"\[[\w ]{1,12}\]\Z")  # a reference to a footnote: its target is the page itself
_LINKS = ("http://", "https://", "mailto:")
_BLANKS = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_TICKS = re.compile(r"`+")


def to_markdown(root: HtmlElement) -> str:
    """The text of a tree: headings, lists, tables, code and quotes as Markdown, links with their targets."""
    return "\n\n".join(_Writer(root).blocks(root))


@dataclass(slots=True)
class _Writer:
    """`_holders` are the elements with a block somewhere below: inline elements among them are taken as mere
    containers, as browsers do."""

    root: HtmlElement
    _holders: set[HtmlElement] = field(default_factory=set, init=False)
    _writers: dict[str, Callable[[HtmlElement], list[str]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._writers = {
            **dict.fromkeys(("ul", "ol", "menu", "dir"), self._list),
            "li": self._one_item,
            "table": self._table,
            "pre": _fenced,
            "blockquote": self._quote,
            "hr": self._rule,
            "dt": self._term,
        }
        for element in self.root.iter(*_CONTAINERS):
            above = element.getparent()
            while above is not None and above not in self._holders:
                self._holders.add(above)
                above = above.getparent()

    def blocks(self, element: HtmlElement) -> list[str]:
        """What is in an element, block by block; loose words make paragraphs."""
        found: list[str] = []
        words: list[str] = [_words(element.text)]
        for child in element:
            if self._is_block(child):
                found.extend(_paragraph(words))
                words = []
                found.extend(self._block(child))
            else:
                words.append(self._inline(child))
            words.append(_words(child.tail))
        found.extend(_paragraph(words))
        return found

    def _is_block(self, element: HtmlElement) -> bool:
        tag = element.tag
        return (
            isinstance(tag, str) and tag not in DROPPED and (tag in _CONTAINERS or element in self._holders)
        )

    def _block(self, element: HtmlElement) -> list[str]:
        tag = element.tag
        if tag in _HEADINGS:
            title = self._line(element)
            return [f"{'#' * _HEADINGS[tag]} {title}"] if title else []
        writer = self._writers.get(tag, self.blocks)
        return writer(element)

    def _one_item(self, element: HtmlElement) -> list[str]:
        return self._items([element], ordered=False, start=1)

    def _quote(self, element: HtmlElement) -> list[str]:
        return _quoted(self.blocks(element))

    def _rule(self, _element: HtmlElement) -> list[str]:
        return ["---"]

    def _term(self, element: HtmlElement) -> list[str]:
        term = self._line(element)
        return [f"**{term}**"] if term else []

    # --- lists ---

    def _list(self, element: HtmlElement) -> list[str]:
        start = element.get("start", "")
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        return self._items(list(element), ordered=element.tag == "ol", start=first)

    def _items(self, elements: Sequence[HtmlElement], *, ordered: bool, start: int) -> list[str]:
        """One block: items without blank lines between them, but for those with paragraphs of their own."""
        items: list[str] = []
        for element in elements:
            if not isinstance(element.tag, str) or element.tag in DROPPED:
                continue
            inner = _bare_list(element)
            content = self.blocks(element) if inner is None else self._list(inner)
            if inner is not None and content:
                # A list directly inside a list belongs to the item before it, or stands for it.
                lines = "\n".join(content)
                items[-1:] = [f"{items[-1]}\n{_indented(lines, '  ')}" if items else lines]
            elif content:
                mark = f"{start + len(items)}. " if ordered else "- "
                items.append(mark + _indented(_item(content), " " * len(mark)).lstrip(" "))
        return ["\n".join(items)] if items else []

    # --- tables ---

    def _table(self, element: HtmlElement) -> list[str]:
        caption = element.find("caption")
        above = _paragraph([self._line(caption)]) if caption is not None else []
        rows = table_rows(element, self._cell)
        if rows is None:
            return [*above, *(block for cell in _layout_cells(element) for block in self.blocks(cell))]
        return [*above, pipe_table(rows)] if rows else above

    def _cell(self, element: HtmlElement) -> str:
        words = self._flat(element)
        if words.strip():
            return words
        # A tick or a cross in a table is often a picture.
        return " ".join(picture.get("alt", "") for picture in element.iter("img"))

    # --- words ---

    def _line(self, element: HtmlElement) -> str:
        """All words of a heading or a caption on one line, without emphasis, links and link signs."""
        return " ".join(self._flat(element).split())

    def _flat(self, element: HtmlElement) -> str:
        """Words of an element whose blocks are parted by blanks only, list items by semicolons."""
        parts = [_words(element.text)]
        for child in element:
            tag = child.tag
            if isinstance(tag, str) and tag not in DROPPED:
                words = " " if tag == "br" else self._flat(child)
                if tag == "a" and words.strip() in _ANCHORS:
                    words = ""
                if tag in _CODE and words.strip() and "`" not in words:
                    words = f"`{words.strip()}`" if child not in self._holders else words
                if tag == "li" and _later_item(child):
                    words = words.rstrip().rstrip(";") + ";"
                parts.append(f" {words} " if tag in _CONTAINERS else words)
            parts.append(_words(child.tail))
        return "".join(parts)

    def _inline(self, element: HtmlElement, marks: frozenset[str] = frozenset()) -> str:
        tag = element.tag
        if not isinstance(tag, str) or tag in DROPPED:
            return ""
        if tag == "br":
            return "\n"
        if tag in _CODE:
            return _code("".join(element.itertext()))
        mark = "**" if tag in _STRONG else "*" if tag in _EMPHASIS else ""
        inner = marks | {mark}
        parts = [_words(element.text)]
        for child in element:
            parts.append(self._inline(child, inner))
            parts.append(_words(child.tail))
        words = "".join(parts)
        if tag == "a":
            return _link(element, words)
        if tag == "q":
            return f"“{words.strip()}”"
        return words if not mark or mark in marks else _marked(words, mark)


def _words(text: str | None) -> str:
    return _BLANKS.sub(" ", text) if text else ""


def _paragraph(words: Sequence[str]) -> list[str]:
    """A paragraph whose lines are those that the author broke."""
    lines = [" ".join(line.split()) for line in "".join(words).split("\n")]
    text = "\n".join(escape_line(line, lists=True) for line in lines if line)
    return [text] if text else []


def _marked(words: str, mark: str) -> str:
    """Emphasis around words, never around the blanks beside them."""
    core = words.strip()
    if not core or "\n" in core:
        return words
    lead = " " if words[0].isspace() else ""
    tail = " " if words[-1].isspace() else ""
    return f"{lead}{mark}{core}{mark}{tail}"


def _link(element: HtmlElement, words: str) -> str:
    target = (element.get("href") or "").strip()
    core = words.strip()
    if not core or not target.startswith(_LINKS) or "\n" in core or _BLANKS.search(target) or "](" in core:
        return words
    if target.removeprefix("mailto:") == core or _NOTE.match(core):
        return words
    lead = " " if words[0].isspace() else ""
    tail = " " if words[-1].isspace() else ""
    target = target.replace("(", "%28").replace(")", "%29")
    return f"{lead}[{core}]({target}){tail}"


def _code(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        return ""
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    pad = " " if len(ticks) > 1 else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fenced(element: HtmlElement) -> list[str]:
    text = "".join(_verbatim(element)).expandtabs(8).strip("\n").rstrip()
    if not text.strip():
        return []
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return [f"{ticks}{_language(element)}\n{text}\n{ticks}"]


def _verbatim(element: HtmlElement) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == "br":
            yield "\n"
        elif isinstance(child.tag, str) and child.tag not in DROPPED:
            yield from _verbatim(child)
        yield child.tail or ""


def _language(element: HtmlElement) -> str:
    near = [element, *element.iter("code"), element.getparent()]
    for candidate in near:
        match = _LANGUAGE.search(candidate.get("class", "")) if candidate is not None else None
        if match and _LANGUAGES.match(match[1]):
            return match[1].lower()
    return ""


def _quoted(blocks: Sequence[str]) -> list[str]:
    if not blocks:
        return []
    return ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))]


def _item(blocks: Sequence[str]) -> str:
    """The blocks of an item: a list follows its words directly, paragraphs keep their distance."""
    text = blocks[0]
    for block in blocks[1:]:
        text += ("\n" if block.startswith(("- ", "1. ")) else "\n\n") + block
    return text


def _bare_list(element: HtmlElement) -> HtmlElement | None:
    """The list that an item is, or that is all it holds."""
    if element.tag in _LISTS:
        return element
    if len(element) == 1 and element[0].tag in _LISTS:
        around = (element.text or "") + (element[0].tail or "")
        return None if around.strip() else element[0]
    return None


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else "" for line in text.split("\n"))


def _later_item(element: HtmlElement) -> bool:
    return any(sibling.tag == "li" for sibling in element.itersiblings())


def _layout_cells(table: HtmlElement) -> Iterator[HtmlElement]:
    """The cells of a table that only arranges its content, in reading order."""
    for row in table.iter("tr"):
        owner = next(row.iterancestors("table"), None)
        if owner is table:
            yield from (cell for cell in row if cell.tag in {"td", "th"})
