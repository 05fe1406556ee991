"""Text to terms for lexical search, the same for passages and for questions.

Words of scripts with spaces are normalised (NFKC, lower case), stemmed (Snowball) and stripped of accents.
Scripts without spaces become overlapping bigrams, which needs no dictionary. Identifiers, numbers and codes
are kept whole and split: `ERR-4711` is found by `err-4711`, by `4711` and by `err`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.index.stopwords import QUESTION_PHRASES, STOP_WORDS

if TYPE_CHECKING:
    from Stemmer import Stemmer

# Longer tokens are cut (a SHA-256 in hexadecimal fits): nobody types more, and garbage stays bounded.
MAX_TOKEN = 64

# Distinct words of one question that are looked up; each costs a look into every segment in scope, and
# matches that have to be scored.
MAX_QUERY_TERMS = 512

_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
    "nn": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
# A word is stemmed by its document's language when that is written in the word's script, else by the
# script's commonest language: an English name in a Russian text is an English word.
_SCRIPT_DEFAULTS = {
    "latin": "english",
    "cyrillic": "russian",
    "greek": "greek",
    "arabic": "arabic",
    "armenian": "armenian",
    "devanagari": "hindi",
    "tamil": "tamil",
}
_SCRIPT_OF = {
    "russian": "cyrillic",
    "serbian": "cyrillic",
    "persian": "arabic",
    "nepali": "devanagari",
    "yiddish": "hebrew",
} | {algorithm: script for script, algorithm in _SCRIPT_DEFAULTS.items()}
_SCRIPT_RANGES = (
    (0x0000, 0x024F, "latin"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x058F, "armenian"),
    (0x0590, 0x05FF, "hebrew"),
    (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "devanagari"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
)

# Han with its iteration marks, kana, bopomofo, Hangul; and Thai, Lao, Burmese, Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u3099-\u309a"
    "\u309d-\u30fa\u30fc-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents are no \w in Python's re, and a word must not break at them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0980-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc-\u0acd"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6"
    "\u0d00-\u0d03\u0d3b-\u0d4d"
)
_LETTER = rf"(?:(?![{_UNSPACED}])[\w{_MARKS}])"
_RUN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTER}+(?:[-‐‑_./:@#+&'’,]{_LETTER}+)*(?:(?:\+\+|#)(?!{_LETTER}))?)"
)
_PLAIN = re.compile(rf"[^\W\d_](?:(?!\d)[^\W_]|[{_MARKS}])*\Z")
_PART = re.compile(rf"\d+|(?:(?!\d)[^\W_]|[{_MARKS}])+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_ELISION = re.compile(r"[A-Za-zÀ-ÿ]{1,2}['’](?=[A-Za-zÀ-ÿ]{2})")
_CONTRACTION = re.compile(r"['’](?:s|t|d|m|re|ve|ll)\Z", re.IGNORECASE)
_PHRASES = re.compile("|".join(QUESTION_PHRASES))

_stemmers = threading.local()


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word of a question. `spellings` are its stems under the languages in scope: a passage that has any of
    them has the word. `stop_in` names the stemmers that leave it out as a stop word."""

    spellings: tuple[str, ...]
    stop_in: frozenset[str] = frozenset()

    @property
    def weak(self) -> bool:
        """Whether it is a stop word of a language in scope; where nothing holds it, that says nothing."""
        return bool(self.stop_in)


def terms(text: str, language: str | None = None) -> Counter[str]:
    """The terms of a passage with their counts.

    `language` is an ISO 639-1 code; without one, or for words in another script than the language's, the
    script decides (English for Latin letters). The length of a passage is the sum of the counts.
    """
    return Counter(_terms(text, stemmer_of(language)))


def query_terms(text: str, languages: Iterable[str | None] = ()) -> tuple[QueryTerm, ...]:
    """The distinct terms of a question, in order, each with its spellings under the languages in scope. Of
    more than 512 the first and the last half of that: what is pasted stands between what is asked.

    Documents are stemmed by their own language, so one word of a question may have several stems.
    """
    algorithms = list(dict.fromkeys(stemmer_of(language) for language in (None, *languages)))
    found: dict[tuple[str, ...], QueryTerm] = {}
    for stems in zip(*(_terms(text, algorithm, keep_gaps=True) for algorithm in algorithms), strict=True):
        spellings = tuple(dict.fromkeys(stem for stem in stems if stem))
        if spellings:
            stop_in = frozenset(a for a, stem in zip(algorithms, stems, strict=True) if not stem)
            found.setdefault(spellings, QueryTerm(spellings, stop_in))
    every = tuple(found.values())
    if len(every) <= MAX_QUERY_TERMS:
        return every
    return every[: MAX_QUERY_TERMS // 2] + every[-MAX_QUERY_TERMS // 2 :]


def stemmer_of(language: str | None) -> str:
    """The stemmer, with its list of stop words, for text in a language; English where it is not known."""
    return _ALGORITHMS.get((language or "en").lower().partition("-")[0], "english")


def _terms(text: str, algorithm: str, *, keep_gaps: bool = False) -> Iterator[str]:
    """With `keep_gaps` a stop word yields an empty string: every algorithm then yields equally many."""
    stems = _Stems(algorithm)
    for token, is_word in _tokens(unicodedata.normalize("NFKC", text)):
        term = stems.of(token) if is_word else token
        if term or keep_gaps:
            yield term


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """(token, whether it is a plain word that is to be stemmed)."""
    for run in _RUN.finditer(text):
        if run["unspaced"] is not None:
            for piece in _PHRASES.split(run["unspaced"]):
                yield from _bigrams(piece)
        else:
            yield from _word(run["word"])


def _bigrams(run: str) -> Iterator[tuple[str, bool]]:
    if len(run) == 1:
        yield run, False
    for start in range(len(run) - 1):
        yield run[start : start + 2], False


def _word(run: str) -> Iterator[tuple[str, bool]]:
    run = _ELISION.sub("", _CONTRACTION.sub("", run))
    if _PLAIN.match(run):
        whole = run.lower()[:MAX_TOKEN]
        humps = _HUMP.split(run) if not run.isupper() else [run]
        yield whole, True
        if len(humps) > 1:
            yield from ((hump.lower()[:MAX_TOKEN], True) for hump in humps if len(hump) > 1)
    elif _THOUSANDS.match(run):
        yield run.replace(",", "")[:MAX_TOKEN], False
    else:
        yield from _code(run)


def _code(run: str) -> Iterator[tuple[str, bool]]:
    """The whole of an identifier as it is written, then its parts; its words are stemmed like others."""
    whole = run.lower()[:MAX_TOKEN]
    yield whole, False
    for part in _PART.findall(run):
        if part.isdecimal():
            if part != whole:
                yield part[:MAX_TOKEN], False
        elif len(part) > 1:
            yield from ((hump.lower()[:MAX_TOKEN], True) for hump in _HUMP.split(part) if len(hump) > 1)


class _Stems:
    """Stems of words under one language, remembered for the length of one text."""

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._known: dict[str, str] = {}

    def of(self, word: str) -> str:
        """The stem without accents; empty for a stop word."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._stem(word)
        return known

    def _stem(self, word: str) -> str:
        script = _script(word)
        own = _SCRIPT_OF.get(self._algorithm, "latin") == script
        algorithm = self._algorithm if own else _SCRIPT_DEFAULTS.get(script)
        if algorithm is None:
            return word
        if word in STOP_WORDS.get(algorithm, ()):
            return ""
        if algorithm == "english":
            word = _plain(word)  # its stemmer knows no accents
        stem: str = _stemmer(algorithm).stemWord(word)
        return _plain(stem) if script in ("latin", "greek") else stem


def _script(word: str) -> str:
    first = ord(word[0])
    return next((name for low, high, name in _SCRIPT_RANGES if low <= first <= high), "other")


def _plain(word: str) -> str:
    """Without accents: `résumé` and `resume` are one word to someone in a hurry."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word.replace("ß", "ss"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)) or word


def _stemmer(algorithm: str) -> Stemmer:
    """Snowball's stemmers keep state and are not safe to share between threads."""
    made: dict[str, Stemmer] = _stemmers.__dict__.setdefault("made", {})
    if algorithm not in made:
        from Stemmer import Stemmer  # noqa: PLC0415  # only what indexes or searches pays for it

        made[algorithm] = Stemmer(algorithm)
    return made[algorithm]
