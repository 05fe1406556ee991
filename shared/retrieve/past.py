"""Whether a question asks for what was, in English or Chinese: then archived and superseded text is found.

"Before" alone says nothing ("before I submit"); what counts is a word for an earlier state, or an earlier
version of a text.
"""

from __future__ import annotations

import re

_TEXTS = (
    r"(?:versions?|editions?|polic(?:y|ies)|rules?|notices?|handbooks?|documents?|contracts?|forms?|guidelines?"
    r"|procedures?|process(?:es)?|prices?|terms|rates?|limits?|allowances?|wording|text|regulations?|standards?)"
)
_ENGLISH = re.compile(
    rf"""
    \b(?: previously | formerly | archived(?=\s+\w) | (?:the|our|in|from)\s+archives?
      | superseded | back\s+then | in\s+the\s+past
      | (?:old|older|previous|former|earlier|prior|last\s+year'?s) \s+ (?:\w+\s+){{0,2}} {_TEXTS}
      | used\s+to\s+(?:be|say|read|apply|require|cost|allow|have|get|work)
      | (?:what|how|which|who|where)\b [^.?!]* \b(?:was|were|did)\b [^.?!]* \bbefore (?:\s*[?.!]*\s*\Z
        | \s+(?:the|this|that|it)\b [^.?!]* \b(?:chang|update|revis|replac|amend|reform|merge)\w*)
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CHINESE = re.compile(
    r"(?:旧|老|原|以前的?|之前的?|先前的?|过去的?|早期)(?:版本?|制度|规定|政策|通知|办法|流程|标准|条款|合同|文件|手册|价格)"
    r"|归档|存档|已废止|废止前|作废的|修订前|修改前|更新前|变更前|历史版本|往年"
    r"|(?:以前|之前|过去|原来|原先|当时|从前)(?:是|的?规定|怎么|怎样|如何|有没有|多少|叫|为|可以|要求)"
)


def asks_for_past(question: str) -> bool:
    return bool(_ENGLISH.search(question) or _CHINESE.search(question))
