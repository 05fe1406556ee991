"""What the Anthropic stub says: sentences of what it was given, chosen by shared words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape

from emulators.models.vectors import terms
from shared.domain.sentences import split_sentences, text_size

_REFERENCES = re.compile(r"<reference_documents\b[^>]*>(.*?)</reference_documents>", re.DOTALL)
_DOCUMENT = re.compile(r"<document\b([^>]*)>(.*?)</document>", re.DOTALL)
_ID = re.compile(r'\bid=(?:"([^"]*)"|\'([^\']*)\')')
_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.DOTALL)
_SECTION = re.compile(r"<section\b[^>]*>\n?(.*?)\n?</section>", re.DOTALL)
_TURN = re.compile(r'<turn by="user">\n?(.*?)\n?</turn>', re.DOTALL)
_EARLIER = re.compile(r"<earlier>\n?(.*?)\n?</earlier>", re.DOTALL)
_FOLLOW_UP = re.compile(r"<follow_up>\n?(.*?)\n?</follow_up>", re.DOTALL)
_HAN = re.compile(r"[\u4e00-\u9fff]")

_SUMMARY_WORDS = 200
_SHORT_ENDING = re.compile(r"in (?:one|one to \w+) sentences?\.\s*\Z")
# A document takes part when it shares this much of the question's words, and this much of what the best has.
_COVERED = 0.34
_NEAR_BEST = 0.7
_TOLD = 0.6
_MOST_QUOTES = 2
_ASKING = frozenset(
    {"does", "from", "have", "many", "much", "that", "this", "what", "when", "where", "which", "with"}
)
_UNCOVERED = "The reference documents do not cover this question."
_UNCOVERED_HAN = "参考资料没有涉及这个问题。"


@dataclass(frozen=True, slots=True)
class _Document:
    id: str
    text: str


def reply(system: str, last_user_text: str, before: Sequence[str] = ()) -> str:
    """What users told, for an `<earlier>` memory; a `<follow_up>` with the question before it; a summary of
    a `<section>`; an answer from `<reference_documents>`, or what was told `before` (or that there are none
    for a `<question>`); or the message said back."""
    memory = _EARLIER.search(last_user_text)
    if memory:
        return _remembered(unescape(memory.group(1)), map(unescape, _TURN.findall(last_user_text)))
    follow_up = _FOLLOW_UP.search(last_user_text)
    if follow_up:
        return _standalone(unescape(follow_up.group(1)), _TURN.findall(last_user_text))
    section = _SECTION.search(last_user_text)
    if section:
        return _summary(unescape(section.group(1)), short=bool(_SHORT_ENDING.search(last_user_text)))
    references = _REFERENCES.search(last_user_text) or _REFERENCES.search(system)
    if references:
        return _answer(_question(last_user_text), _documents(references.group(1)), before)
    asked = _QUESTION.search(last_user_text)
    if asked:
        return _answer(asked.group(1), [], before)
    return f"You said: {last_user_text.strip()}"


def _remembered(earlier: str, asked: Iterable[str]) -> str:
    """What was remembered, and every statement of the turns, a line each."""
    told = [one.text for turn in asked for one in split_sentences(turn) if not one.text.endswith(("?", "？"))]
    return "\n".join([*filter(None, [earlier.strip()]), *told])


def _standalone(question: str, asked: Sequence[str]) -> str:
    """The question, and the one before it where it is not about the same words."""
    before = unescape(asked[-1]) if asked else ""
    own = _content(question)
    return question if not before or own & _content(before) else f"{question} ({before})"


def _summary(text: str, *, short: bool) -> str:
    """The opening sentences: one of them, or as many as make 200 words (字)."""
    chosen: list[str] = []
    size = 0
    for sentence in split_sentences(text):
        chosen.append(sentence.text)
        size += text_size(sentence.text)
        if short or size >= _SUMMARY_WORDS:
            break
    return " ".join(chosen)


def _question(text: str) -> str:
    """The `<question>`; without that element, what stands behind the reference documents or before them."""
    marked = _QUESTION.search(text)
    if marked:
        return marked.group(1)
    outside = _REFERENCES.split(text)[::2]
    return next((part.strip() for part in reversed(outside) if part.strip()), "")


def _documents(block: str) -> list[_Document]:
    found = []
    for attributes, text in _DOCUMENT.findall(block):
        name = _ID.search(attributes)
        if name:
            found.append(_Document(unescape(name.group(1) or name.group(2)), unescape(text).strip()))
    return found


def _answer(question: str, documents: Sequence[_Document], before: Sequence[str]) -> str:
    """From the documents; where they hold too little, a statement of the conversation before."""
    wanted = _content(question)
    ranked = sorted(
        ((_share(wanted, document.text), -place) for place, document in enumerate(documents)), reverse=True
    )
    if not ranked or ranked[0][0] < _COVERED:
        told = [one.text for text in before for one in split_sentences(text) if not one.text.endswith("?")]
        best = max(told, key=lambda sentence: _share(wanted, sentence), default="")
        if _share(wanted, best) >= _TOLD:
            return best
        return _UNCOVERED_HAN if _HAN.search(question) else _UNCOVERED
    used = [documents[-place] for share, place in ranked if share >= _NEAR_BEST * ranked[0][0]]
    return "\n".join(
        f"{_best_sentence(wanted, document.text)} [[{document.id}]]" for document in used[:_MOST_QUOTES]
    )


def _best_sentence(wanted: set[str], text: str) -> str:
    return max((sentence.text for sentence in split_sentences(text)), key=lambda s: _share(wanted, s))


def _content(text: str) -> set[str]:
    """The terms that carry meaning, roughly: no short or asking Latin words, but numbers and pairs of Han."""
    found = terms(text)
    telling = [t for t in found if t not in _ASKING and (len(t) > 3 or not t.isascii() or t.isdigit())]
    return set(map(_stem, telling or found))


def _share(wanted: set[str], text: str) -> float:
    return len(wanted & set(map(_stem, terms(text)))) / len(wanted) if wanted else 0.0


def _stem(term: str) -> str:
    """Without the `s` that tells opens from open and days from day."""
    return term[:-1] if len(term) > 3 and term.endswith("s") else term
