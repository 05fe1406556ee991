"""Which questions ask for what was."""

from __future__ import annotations

import pytest

from shared.retrieve.past import asks_for_past


@pytest.mark.parametrize(
    "question",
    [
        "What was the travel allowance before?",
        "What was the notice period before the rules were changed?",
        "How many days did we previously get?",
        "What did the old notice say about parking?",
        "Show me the previous version of the handbook",
        "Search the archive for the 2019 pump manual",
        "What do the archived documents say about leave?",
        "What did the deposit use to cost? It used to be lower",
        "之前的规定是什么？",
        "年假以前是多少天？",
        "旧版手册里怎么写的？",
        "在归档里找一下 2019 年的通知",
        "修订前的条款是什么？",
    ],
)
def test_asks_for_the_past(question: str) -> None:
    assert asks_for_past(question)


@pytest.mark.parametrize(
    "question",
    [
        "What should I check before I submit?",
        "Which form do I need before the first of March?",
        "What was decided about parking?",
        "How old must an applicant be?",
        "How do I archive a document?",
        "Can I archive documents that nobody reads?",
        "Do I have to ask before booking a flight?",
        "Where is the new version of the form?",
        "What happened in the outage last year?",
        "提交之前需要检查什么？",
        "出发以前要填哪张表？",
        "老员工有多少天年假？",
        "原因是什么？",
        "原件要交给谁？",
    ],
)
def test_does_not_ask_for_the_past(question: str) -> None:
    assert not asks_for_past(question)
