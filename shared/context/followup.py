"""Whether a question needs the ones before it to be understood, told by its words alone.

Careful in one direction: a question that stands alone must not be taken for a follow-up, since it would then
be searched with words that have nothing to do with it. Knows English and Chinese; of other languages only
that a question is very short or begins with an "and".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.domain.sentences import is_unspaced
from shared.index.stopwords import QUESTION_PHRASES, STOP_WORDS


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_]+(?:[-'’_./&][^\W_]+)*")
_STOP = frozenset().union(*STOP_WORDS.values()) | _set(
    "about after again all also any anything because before both during each else ever every get give go got"
    " far happen happens he her hers him his just let like likewise made make many may me might mine more"
    " much must need needs no now often once one ones only other others ours please same say see she"
    " since some something such take tell theirs though too use used versus via want without would yes yet"
)
_AUXILIARIES = _set(
    "am are can could did do does had has have is may might must shall should was were will would"
)
_ASKING = _set("how what when where which who whom whose why") | _AUXILIARIES

# What joins a question to the one before: "and for contractors?", "what about Germany?"
_LEAD = re.compile(
    r"\s*(?:(?:ok(?:ay)?|so|and|but|or|also|then|well|no|yes|und|aber|oder|et|mais|ou|y|pero|e|ma|mas|en|maar"
    r"|и|а|но)\b[\s,]*)+",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\s*(?:(?:what|how)\s+(?:about|if)|(?:the\s+)?same\s+for|likewise\s+for|why\s+not)\b", re.IGNORECASE
)
_POSSESSIVE = _set("its their theirs his her hers")
_PERSONAL = _set("they them he him she") | _POSSESSIVE
_DEMONSTRATIVE = _set("this these those ones")
_TIMES = _set("day days month month's months quarter season week week's year year's years")
_BEFORE_THAT = _set("about after before by do does during for from is of on than was with why")

# A question with no more words that say something leaves out what it is about, unless it names something. Of
# two words ("How do promotions work?") most stand alone: carrying a subject over lost half of them the
# passage that they had found.
FEW = 1
# Words that say something before a pronoun: with more, what it stands for is in the question itself.
_ROOM_BEFORE = 2
_MOST_OF_A_FRAGMENT = 6

_HAN_LEAD = re.compile(
    r"\s*(?:那么|那(?![个個些种種样樣里裡边邊儿兒天年月时時])|还有(?!哪些)|還有(?!哪些)|以及|另外|而且|然后|然後|至于|至於)"
    r"[，,\s]*"
)
_HAN_TAIL = re.compile(r"(?:怎么样|怎麼樣|又如何|呢|吧|啊|呀)*[？?。.!！\s]*\Z")
_HAN_POINTING = re.compile(
    r"它们?|(?<![其吉])他们?|她们?|[这這那][个個些种種样樣]|上述|前者|后者|後者|(?<![应應活])该(?=[\u4e00-\u9fff]{2})"
)
_HAN_ASIDE = re.compile(
    "|".join([*QUESTION_PHRASES, "什么时候", "多久", "多长", "多大", "可以", "能不能", "能否"])
    + "|[的了吗嗎呢是有在要能会會和与與个個我你您他她它们這这那谁誰几幾]"
)
_HAN_DEFINES = re.compile("什么是|是什么|什麼是|是什麼")
FEW_HAN = 2
# How far into a question a Chinese pronoun may stand, and point out of it.
_POINTS_EARLY = 3


def dependence(question: str, few: int = FEW) -> str | None:
    """Why the question needs what was said before, for people to read; None where it can be searched as it
    is. One with at most `few` words that say something counts as too short to stand alone."""
    text = " ".join(question.split())
    return _han(text, FEW_HAN + few - FEW) if is_han(text) else _spaced(text, few)


def core(question: str) -> str:
    """The question without what only joins it to the one before, and without its mark."""
    text = " ".join(question.split())
    if is_han(text):
        lead = _HAN_LEAD.match(text)
        return _HAN_TAIL.sub("", text[lead.end() if lead else 0 :])
    return text[_joint(text) :].strip(" ,:;-?？!.")


def content_words(text: str) -> list[str]:
    """The words that say something, as they are written."""
    return [word for word in _WORD.findall(text) if word.lower() not in _STOP]


def is_han(text: str) -> bool:
    """Whether a question is asked in Chinese, foreign names in it notwithstanding."""
    return 8 * sum(map(is_unspaced, text)) >= sum(map(str.isalpha, text)) > 0


def _joint(text: str) -> int:
    """Where the question begins behind "and", "what about" and the like."""
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    about = _ABOUT.match(text, start)
    return about.end() if about else start


def _spaced(text: str, few: int) -> str | None:
    start = _joint(text)
    words = _WORD.findall(text[start:])
    said = len(content_words(text[start:]))
    if said > _MOST_OF_A_FRAGMENT:
        return None
    pointing = _pointing(words)
    if pointing:
        return f'"{pointing}" stands for something said before'
    if start and not (words and words[0].lower() in _ASKING and not _ABOUT.search(text[:start])):
        return f'"{text[:start].strip(" ,")}" goes on from what was said before'
    if said <= few and not _names(words) and not _defines(words):
        return "it is too short to stand alone"
    return None


def _pointing(words: Sequence[str]) -> str:
    """The first word that stands for something outside of the question. What the question itself has said
    before, or named, is what a pronoun in it stands for."""
    lowered = [word.lower() for word in words]
    said = 0
    for at, word in enumerate(lowered):
        if said <= (0 if word in _POSSESSIVE else _ROOM_BEFORE) and _points(lowered, at):
            return words[at]
        if _is_name(words, at):
            return ""
        said += word not in _STOP
    return ""


def _points(words: Sequence[str], at: int) -> bool:
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if word in _PERSONAL:
        return True
    if word in _DEMONSTRATIVE:
        return after not in _TIMES
    rules = {
        "it": not _announces(words, at),
        "that": not after or not before or before in _BEFORE_THAT,
        "one": not after or after in _AUXILIARIES,
        "there": not after and before not in _AUXILIARIES,
        "same": before == "the" and not after,
        "former": before == "the",
        "latter": before == "the",
        "else": not after,
    }
    return rules.get(word, False)


def _announces(words: Sequence[str], at: int) -> bool:
    """In "is it possible to print?" the word stands for what follows."""
    return (
        at > 0
        and words[at - 1] in {"is", "make", "was", "would"}
        and not {"to", "that", "if", "so"}.isdisjoint(words[at + 1 : at + 6])
    )


def _names(words: Sequence[str]) -> bool:
    return any(_is_name(words, at) for at in range(len(words))) or any(
        any(map(str.isdigit, word)) or (len(word) > 1 and word.isupper()) for word in words
    )


def _is_name(words: Sequence[str], at: int) -> bool:
    return at > 0 and words[at][0].isupper() and words[at] != "I"


def _defines(words: Sequence[str]) -> bool:
    """ "What is a rotation?" asks for what it names."""
    lowered = [word.lower() for word in words]
    return (
        len(lowered) > 2
        and lowered[0] == "what"
        and lowered[1] in {"is", "are"}
        and lowered[2] not in _ASKING
    )


def _han(text: str, few: int) -> str | None:
    lead = _HAN_LEAD.match(text)
    rest = text[lead.end() if lead else 0 :]
    asked = core(text)
    pointing = _HAN_POINTING.search(asked)
    if pointing and pointing.start() <= _POINTS_EARLY:
        return f"“{pointing[0]}”指的是前文"
    said = len(_HAN_ASIDE.sub("", asked))
    if (lead or "呢" in rest[len(asked) :]) and said <= 2 * _MOST_OF_A_FRAGMENT:
        return f"“{lead[0].strip('，, ') if lead else '呢'}”承接前文"
    if said <= few and not re.search(r"[A-Za-z0-9]{2}", asked) and not _HAN_DEFINES.search(text):
        return "太短，离开前文无法理解"
    return None
