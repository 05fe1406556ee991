"""What of a page counts when two reads of it are compared.

Many pages are different at every visit: a stamp of their build, a counter, a token in a link. Extraction
leaves out menus, scripts and hidden fields; what is left of such noise in the text is taken out here, for the
comparison alone.
"""

from __future__ import annotations

import hashlib
import re

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember"
)
_DAYS = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_UNITS = (
    "ms|s|secs?|seconds?|mins?|minutes?|h|hours?|days?|weeks?|ago|now|today|秒|毫秒|分钟前|小时前|天前|刚刚"
)
_JOINTS = (
    "at|on|in|by|from|of|the|to|and|am|pm|utc|gmt|ce?s?t|est|edt|pst|pdt|uhr|um|node|server|host|build|commit"
    "|次|人|年|月|日"
)
# A word of a stamp: a date, a time, a number, a hash, an opaque token, or what stands between them.
_VALUE = re.compile(
    rf"(?:{_MONTHS}|{_DAYS}|{_UNITS}|{_JOINTS}"
    r"|[tz]?\d[\dtz:.,/+-]*(?:ms|s|st|nd|rd|th|z|h|次|人|年|月|日|秒)*"
    r"|v?\d+(?:\.\d+)+(?:[-+.][\w.]+)?|[0-9a-f]{6,}|(?=[\w-]*\d)[\w-]{12,}|(?:node|server|host|web)-?\w+)",
    re.IGNORECASE,
)
_MADE = "updated|modified|generated|rendered|refreshed"
_HANDLED = f"{_MADE}|changed|edited|checked|served|built|cached|retrieved|loaded|synced|visited"
_LABELS = (
    rf"(?:(?:this\s+)?(?:page|site|document|content)\s+(?:was\s+|is\s+)?(?:last\s+)?|last\s+)(?:{_HANDLED})"
    rf"|{_MADE}|last\s+(?:update|change|build|sync|modification|check)"
    r"|build(?:\s+(?:id|no|number|hash|date|time|stamp|version))?|commit|revision|release\s+id|version\s+hash"
    r"|(?:page\s+)?(?:views?|hits|visits)(?:\s+(?:today|so\s+far|count))?"
    r"|(?:you\s+are\s+)?visitors?(?:\s+(?:number|no\.?|today|online|so\s+far|count))?"
    r"|users?\s+online|online\s+now|render\s+time|response\s+time|(?:current|server|local)\s+time|today\s+is"
    r"|zuletzt\s+(?:aktualisiert|geändert|bearbeitet)|letzte\s+(?:aktualisierung|änderung)|stand"
    r"|seitenaufrufe|aufrufe|最后更新(?:时间)?|更新(?:时间|于)|生成(?:时间|于)"
    r"|(?:浏览|阅读|访问|点击)(?:次数|量|数)|当前时间|在线人数|构建(?:号|版本)"
)
_LABELLED = re.compile(rf"(?:{_LABELS})(?=\W|\d|$)", re.IGNORECASE)
# These words are content as well, so only an opaque value makes a stamp of them.
_TOKEN = re.compile(
    r"(?:(?:request|trace|session|correlation|visit(?:or)?)[\s-]*id|session|csrf(?:\s+token)?|token|nonce)"
    r"\s*[:=#]\s*(?=[\w.+/=-]*\d)[\w.+/=-]{6,}",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"[\d.,\s]+(?:k|m)?\s*(?:(?:page\s*)?views?|hits|visits|visitors?|users? online|readers?"
    r"|次(?:浏览|阅读|访问|点击)|人在线)",
    re.IGNORECASE,
)
_LONE_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\d\d?:\d\d:\d\d")
_LONGEST_STAMP = 120
_DECORATION = " \t*_#>|-–—•·~`()[]"
_SPLIT = re.compile(r"[\s:,;|()\[\]\"'“”#=·•–—：，；。]+")

# Parameters of links that name a visit, not a page.
_VISIT = (
    "sid|sess(?:ion)?(?:_?id)?|phpsessid|jsessionid|csrf(?:_?token)?|xsrf|token|nonce|ts|timestamp|cb|cachebust(?:er)?"
    "|rand|rnd|_|utm_\\w+|request_?id|trace_?id|gclid|fbclid"
)
_PARAMETER = re.compile(rf"(?P<lead>[?&;])(?:{_VISIT})=[^&;)\s\"'<>#]*&?", re.IGNORECASE)


def mark(markdown: str) -> str:
    """A hash that stays when only stamps, counters and visit tokens of a page change."""
    return hashlib.sha256(stable_text(markdown).encode()).hexdigest()


def stable_text(markdown: str) -> str:
    """The text, blanks tidied, without lines that are stamps and without visit tokens in links."""
    lines = (" ".join(line.split()) for line in markdown.splitlines())
    kept = [line for line in lines if line and not is_stamp(line)]
    return "\n".join(_PARAMETER.sub(_without, line) for line in kept)


def is_stamp(line: str) -> bool:
    """Whether a line only says when, how often or by what a page was made: `Last updated: 12:03`,
    `1,204 views`. A line with any word beside that is content."""
    text = line.strip(_DECORATION)
    if not text or len(text) > _LONGEST_STAMP:
        return False
    if any(pattern.fullmatch(text) for pattern in (_LONE_TIME, _COUNTED, _TOKEN)):
        return True
    rest, labels = _LABELLED.subn(" ", text)
    values = [word for word in _SPLIT.split(rest) if word.strip(".!-")]
    return labels > 0 and bool(_LABELLED.match(text)) and all(_is_value(word) for word in values)


def _is_value(word: str) -> bool:
    return _VALUE.fullmatch(word.strip(".!-*_")) is not None


def _without(match: re.Match[str]) -> str:
    return match["lead"] if match[0].endswith("&") else ""
