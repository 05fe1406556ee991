"""Which code page bytes are in that are not UTF-8 and say nothing about themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from shared.ingest.extract.language import common_language

_SAMPLE = 64 * 1024
_FEW = 3  # high bytes; so few tell nothing, and the commonest code page is the best guess
_ENOUGH = 0.45  # of an East Asian reading's score

# The commonest characters, which are a third to a half of any running text. A wrong reading of other bytes
# spreads evenly over thousands of characters and hardly meets them.
_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事"
    "成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此"
    "已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果加西月话合回特代内"
    "信表化老给世位次度门任常先海通教原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事"
    "成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日軍者意無力它與長把機十民第公此"
    "已工使情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體政美相見被利什二等產或新己制身果加西月話合回特代內"
    "信表化老給世位次度門任常先海通教原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報"
)
_HANGUL = frozenset(
    "이다는의에을가한를고로지은하기사도서자인리대해시어나스아부정구그일상수전보주과제면라장원동유있관조여선공비성소들니마연"
    "으만것생국신위경분계오회방발와안용되업진세학모실물우미말무람거트러치드반개문간단재간월년했"
)


@dataclass(frozen=True, slots=True)
class _EastAsian:
    """`usual` says whether a lead byte opens the code page's rows of everyday characters, `common` which
    characters are the commonest, `kana` whether syllables belong to the language."""

    name: str
    usual: Callable[[int], bool]
    common: frozenset[str]
    kana: bool = False


_PAGES = (
    _EastAsian("gb18030", lambda lead: 0xB0 <= lead <= 0xD7, _SIMPLIFIED),
    _EastAsian("big5hkscs", lambda lead: 0xA4 <= lead <= 0xC6, _TRADITIONAL),
    _EastAsian("cp949", lambda lead: 0xB0 <= lead <= 0xC8, _HANGUL),
    _EastAsian("cp932", lambda lead: 0x82 <= lead <= 0x98, frozenset(), kana=True),
    _EastAsian("euc_jp", lambda lead: lead in {0xA4, 0xA5} or 0xB0 <= lead <= 0xCF, frozenset(), kana=True),
)


def east_asian(data: bytes) -> str | None:
    """The text in the East Asian code page that gives the commonest characters, if any gives many."""
    best, text = _ENOUGH, None
    for page in _PAGES:
        try:
            candidate = data.decode(page.name)
        except UnicodeDecodeError:
            continue
        score = _score(candidate[:_SAMPLE], page)
        if score > best:
            best, text = score, candidate
    return text


def _score(text: str, page: _EastAsian) -> float:
    """From 0 to 1: half for everyday rows, half for the commonest characters."""
    foreign = [character for character in text if character > "\x7f"]
    wide = [
        character for character in foreign if character >= "\u1100" and not "\uff61" <= character <= "\uff9f"
    ]
    if len(wide) < 0.8 * len(foreign) or not wide:
        return 0.0
    words = [
        character for character in wide if character >= "\u3040" and not "\uff00" <= character <= "\uff65"
    ]
    if not words:
        return 0.0
    usual = sum(1 for character in words if page.usual(character.encode(page.name)[0]))
    if page.kana:
        kana = sum(1 for character in words if "\u3040" <= character <= "\u30ff")
        common = min(len(words), 2 * kana)
    else:
        common = min(len(words), 2 * sum(1 for character in words if character in page.common))
    return 0.5 * usual / len(words) + 0.5 * common / len(words)


_SIGN_INSIDE = re.compile(r"(?<=[^\W\d_])[^\w\s\-'’.,;:!?\"()/&@“”]+(?=[^\W\d_])")
_ASCII_WORDS = re.compile(rb"[A-Za-z\x80-\xff]+")
_WESTERN = ("cp1252", "mac_roman", "cp850")
_FAMILIES = {
    "pl": ("cp1250", "iso8859_2", "cp852"),
    "cs": ("cp1250", "iso8859_2", "cp852"),
    "hu": ("cp1250", "iso8859_2", "cp852"),
    "ro": ("cp1250", "iso8859_16", "iso8859_2"),
    "tr": ("cp1254",),
    "lt": ("cp1257", "iso8859_13"),
    "vi": ("cp1258",),
}


def single_byte(data: bytes) -> str:
    """The text in a code page of one byte a character. Latin text is told by its words without accents, which
    all these code pages share."""
    high = sum(1 for byte in data[:_SAMPLE] if byte > 0x7F)
    if high <= _FEW:
        return data.decode("cp1252", "replace")
    letters = sum(len(word) for word in _ASCII_WORDS.findall(data[:_SAMPLE]))
    if high * 2 < letters:
        plain = data[:_SAMPLE].decode("ascii", "replace")
        language = common_language(plain)
        if language:
            return _best(data, _FAMILIES.get(language, _WESTERN))
    return _measured(data)


def _best(data: bytes, encodings: tuple[str, ...]) -> str:
    """The reading with the fewest signs and capitals inside words; the first of equals."""
    return min((data.decode(encoding, "replace") for encoding in encodings), key=_oddities)


def _oddities(text: str) -> int:
    sample = text[:_SAMPLE]
    capitals = sum(1 for before, after in pairwise(sample) if before.islower() and after.isupper())
    return capitals + len(_SIGN_INSIDE.findall(sample)) + sample.count("\ufffd")


def _measured(data: bytes) -> str:
    """By the letter frequencies of charset-normalizer; cp1252 where they tell nothing."""
    from charset_normalizer import from_bytes

    end = len(data) if len(data) <= _SAMPLE else data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE
    best = from_bytes(data[:end]).best()
    return data.decode(best.encoding if best is not None else "cp1252", "replace")
