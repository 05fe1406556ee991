"""Numbers as a spreadsheet shows them: number format codes of ECMA-376, part 1, 18.8.30-31.

Dates and times come in ISO form whatever their pattern, for a reader cannot tell 03/04 from 04/03. What a
format asks for beyond decimals, grouping, percent, exponent, currency and words is left out.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

BUILTIN_FORMATS = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "yyyy-mm-dd", 16: "yyyy-mm-dd", 17: "yyyy-mm",
    18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 41: "#,##0", 42: "#,##0", 43: "#,##0.00",
    44: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys(range(27, 37), "yyyy-mm-dd"),
    **dict.fromkeys(range(50, 59), "yyyy-mm-dd"),
}  # fmt: skip

_TOKENS = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<bracket>[^\]]*)\]|_.|\*.|(?P<plain>.)',
    re.DOTALL,
)
_DIGITS = "0#?"
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EPOCH_1900 = datetime(1899, 12, 30)  # noqa: DTZ001 - spreadsheets know no time zones
_EPOCH_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_LEAP_BUG = 60  # serials below count a 29 February 1900 that never was
_MOST_DAYS = 2_958_466  # the end of the year 9999


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One section of a code. `date` and `time` say which parts of a moment it shows, `elapsed` that hours go
    beyond 24."""

    prefix: str = ""
    suffix: str = ""
    general: bool = False
    grouped: bool = False
    whole_zeros: int = 1
    decimals: int = 0
    optional_decimals: int = 0
    exponent: bool = False
    percent: int = 0
    thousands: int = 0
    date: str = ""
    time: str = ""
    elapsed: bool = False
    digits: bool = False


def shown_number(stored: str, code: str, *, epoch_1904: bool) -> str:
    """A stored number under a format code; as it is stored where it is no number."""
    try:
        value = float(stored)
    except ValueError:
        return stored
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - the test for NaN
        return stored
    section, magnitude = _section(code, value)
    if section.date or section.time:
        return _moment(value, section, epoch_1904=epoch_1904) or _general(value)
    if section.general or not section.digits:
        # A section of words only replaces the number by them.
        words = f"{section.prefix}{section.suffix}".strip()
        return (
            words if words and not section.general else f"{section.prefix}{_general(value)}{section.suffix}"
        )
    return f"{section.prefix}{_digits(magnitude, section)}{section.suffix}".strip()


def shown_date(stored: str) -> str:
    """An ISO date or time as it is stored, without a midnight that nobody wrote and without a zone."""
    text = stored.strip().removesuffix("Z").replace("T", " ")
    text = re.sub(r"\.0+$", "", text)
    if _ISO_DATE.match(text):
        return text.removesuffix(" 00:00:00")
    return text


def _section(code: str, value: float) -> tuple[NumberFormat, float]:
    """The section for a value's sign, and the number to show in it: negative only where no section of its own
    shows the sign."""
    sections = _parsed(code)
    if value < 0 and len(sections) > 1:
        return sections[1], -value
    if value == 0 and len(sections) > 2:
        return sections[2], value
    return sections[0], value


@functools.lru_cache(maxsize=512)
def _parsed(code: str) -> tuple[NumberFormat, ...]:
    return tuple(_parse(section) for section in _sections(code or "General"))


def _sections(code: str) -> list[str]:
    parts = [""]
    quoted = False
    for character in code:
        quoted ^= character == '"'
        if character == ";" and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts[:4]


def _parse(section: str) -> NumberFormat:
    plain: list[tuple[str, bool]] = []  # characters, and whether they are literal
    elapsed = False
    for token in _TOKENS.finditer(section):
        literal = token["quoted"] or token["escaped"] or token["currency"]
        if literal:
            plain.extend((character, True) for character in literal)
        elif token["bracket"] is not None:
            if _ELAPSED.fullmatch(token["bracket"]):
                elapsed = True
                plain.extend((character, False) for character in token["bracket"])
        elif token["plain"]:
            plain.append((token["plain"], False))
    codes = "".join(character for character, literal in plain if not literal)
    if "general" in codes.lower() or codes.strip() in {"", "@"}:
        return _worded(plain, general="general" in codes.lower() or "@" in codes)
    if not any(character in _DIGITS for character in codes) and re.search(r"[ymdhs]", codes, re.IGNORECASE):
        return _dated(codes.lower(), elapsed=elapsed)
    return _numbered(plain, codes)


def _worded(plain: list[tuple[str, bool]], *, general: bool) -> NumberFormat:
    return NumberFormat(prefix="".join(character for character, literal in plain if literal), general=general)


def _dated(codes: str, *, elapsed: bool) -> NumberFormat:
    """Which parts are shown. An `m` beside hours or seconds means minutes."""
    codes = codes.replace("am/pm", "").replace("a/p", "")
    has_time = "h" in codes or "s" in codes or elapsed
    months = re.sub(r"(?<=h)\W*m+|m+(?=\W*s)", "", re.sub(r"[^a-z:]", "", codes))
    date = "".join(part for part in "ymd" if part in months)
    seconds = "s" if "s" in codes else ""
    return NumberFormat(date=date, time=f"hm{seconds}" if has_time else "", elapsed=elapsed)


def _numbered(plain: list[tuple[str, bool]], codes: str) -> NumberFormat:
    places = [i for i, (character, literal) in enumerate(plain) if not literal and character in _DIGITS]
    if not places:
        return _worded(plain, general=False)
    first, last = places[0], places[-1]
    body = "".join(character for character, literal in plain[first : last + 1] if not literal)
    mantissa, _, _ = body.upper().partition("E")
    whole, _, fraction = mantissa.partition(".")
    trailing = "".join(character for character, literal in plain[last + 1 :] if not literal)
    fractional = "/" in body
    return NumberFormat(
        prefix=_words(plain[:first]),
        suffix=_words(plain[last + 1 :]),
        general=fractional,
        grouped="," in whole,
        whole_zeros=whole.count("0"),
        decimals=fraction.count("0"),
        optional_decimals=fraction.count("#") + fraction.count("?"),
        exponent="E" in body.upper(),
        percent=codes.count("%"),
        thousands=len(trailing) - len(trailing.lstrip(",")),
        digits=not fractional,
    )


def _words(plain: list[tuple[str, bool]]) -> str:
    return "".join(character for character, literal in plain if literal or character in " $€£¥%()-+:/")


def _digits(value: float, section: NumberFormat) -> str:
    value = value * 100**section.percent / 1000**section.thousands
    if section.exponent:
        return f"{value:.{section.decimals}E}"
    places = min(section.decimals + section.optional_decimals, 15)
    text = f"{value:,.{places}f}" if section.grouped else f"{value:.{places}f}"
    for _ in range(section.optional_decimals):
        text = text.removesuffix("0")
    text = text.removesuffix(".")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, point, rest = digits.partition(".")
    if not section.grouped:
        whole = whole.zfill(section.whole_zeros)
    if not any(character in "123456789" for character in digits):
        sign = ""
    return f"{sign}{whole}{point}{rest}"


def _general(value: float) -> str:
    """All digits that the number has; an exponent only where it is the shorter by far."""
    if value.is_integer() and abs(value) < 1e17:
        return str(int(value))
    text = f"{value:.15g}"
    if "e" in text and 1e-9 < abs(value) < 1e21:
        text = f"{value:.15f}".rstrip("0").rstrip(".")
    return text.replace("e", "E")


def _moment(value: float, section: NumberFormat, *, epoch_1904: bool) -> str | None:
    if section.elapsed:
        return _duration(value, section)
    if not 0 <= value < _MOST_DAYS:
        return None
    days = value + 1 if not epoch_1904 and value < _LEAP_BUG and section.date else value
    base = _EPOCH_1904 if epoch_1904 else _EPOCH_1900
    moment = base + timedelta(seconds=round(days * 86_400))
    shown = []
    if section.date:
        pattern = {"y": "%Y", "ym": "%Y-%m", "m": "%m", "d": "%d", "md": "%m-%d"}.get(
            section.date, "%Y-%m-%d"
        )
        shown.append(moment.strftime(pattern))
    if section.time:
        shown.append(moment.strftime("%H:%M:%S" if "s" in section.time else "%H:%M"))
    return " ".join(shown)


def _duration(value: float, section: NumberFormat) -> str:
    seconds = round(abs(value) * 86_400)
    sign = "-" if value < 0 else ""
    text = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if "s" in section.time else text
