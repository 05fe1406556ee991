"""A follow-up made searchable without a model: what it leaves out is taken from the question before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.context.followup import content_words, core, is_han
from shared.domain.sentences import split_sentences

# A conversation's subject is a few words; more of a long message would drown the question.
_MOST_CARRIED = 12
_MOST_CARRIED_HAN = 40
# Who asks nothing, and says more than this, tells something.
_MOST_TOLD = 8
_MOST_TOLD_HAN = 30
# How many messages back a subject may lie, past thanks and small talk.
_FARTHEST = 3
_COURTESY = re.compile(
    r"(?:(?:bye|cool|fine|good|great|hello|hey|hi|nice|ok|okay|perfect|sorry|sure|thanks?|wow) ?)+\Z", re.I
)
_HAN_COURTESY = re.compile(
    r"(?:谢谢|多谢|感谢|好的?|嗯|你好|您好|明白了?|知道了|了解)+[您你啦了呀吧！!。.，, ]*\Z"
)
_HAN_ASKING = re.compile(
    r"什么是|是什么|什么时候|为什么|什么|怎么样|怎么|如何|请问|多少|哪些|哪个|吗|呢|[？?。！!，,]"
)


def carried(question: str, before: Sequence[str]) -> str | None:
    """The question with the subject of the one before, as keywords in brackets. `before` are the messages so
    far, oldest first, each as it was searched. None where none of the latest ones has a subject."""
    subjects = (_subject(one) for one in reversed(before[-_FARTHEST:]))
    subject = next(filter(None, subjects), None)
    if subject is None:
        return None
    asked = core(question)
    return f"{asked}（{subject}）" if is_han(asked) else f"{asked} ({subject})"


def _subject(question: str) -> str:
    """What a question is about, in its own words and order; of a long message, what its last question is. Who
    tells at length, and asks nothing, has left the subject."""
    sentences = [sentence.text for sentence in split_sentences(question)]
    asking = [sentence for sentence in sentences if sentence.endswith(("?", "？", ")", "）"))]
    text = asking[-1] if asking else question
    if is_han(text):
        if _HAN_COURTESY.match(text):
            return ""
        if not asking and len(text) > _MOST_TOLD_HAN:
            return ""
        return " ".join(_HAN_ASKING.sub(" ", text).split())[:_MOST_CARRIED_HAN]
    words = list(dict.fromkeys(content_words(text)))
    if not asking and len(words) > _MOST_TOLD:
        return ""
    subject = " ".join(words[:_MOST_CARRIED])
    return "" if _COURTESY.match(subject) else subject
