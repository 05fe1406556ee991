"""Which questions lean on the ones before, and what is carried over to them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answer.standalone import standalone
from shared.answer.threads import Recalled
from shared.context.carry import carried
from shared.context.followup import dependence
from shared.domain.conversation import Rewriting
from shared.domain.errors import ModelUnavailableError
from shared.domain.models import EmbeddingProfile, FollowUp, Rewritten, TokenUse, Turn, TurnRole
from shared.ports import Embeddings
from tests.bench.followup_sets import HANDBOOK, SWITCHES
from tests.bench.followups import found, outcomes
from tests.bench.judged import SETS, load, questions
from tests.reference import need


@pytest.mark.parametrize(
    "question",
    [
        "and for contractors?",
        "What about Germany?",
        "How about in Q3?",
        "Why?",
        "Who approves it?",
        "Which countries?",
        "And when does that start?",
        "Is there a limit on those?",
        "Und für Auftragnehmer?",
        "那么合同工呢？",
        "德国呢？",
        "它怎么申请？",
        "谁批准？",
        "这个流程需要多久？",
    ],
)
def test_a_question_that_leans_on_the_one_before(question: str) -> None:
    assert dependence(question) is not None


@pytest.mark.parametrize(
    "question",
    [
        "How many days of annual leave has every employee?",
        "And how do I reset my Okta password?",
        "Is it possible to print double-sided on the third floor?",
        "When a team member leaves, how does it affect their equity?",
        "Where do I download a form, and who signs it?",
        "How do managers of remote teams get their bonus?",
        "Who is Rosa?",
        "What is sabbatical?",
        "How do promotions work?",
        "Are books reimbursable?",
        "What does ERR-4711 mean?",
        "Which rule of the group that approves trips applies this year?",
        "员工每年有多少天年假？",
        "什么是年假？",
        "VPN 怎么配置？",
        "公司应该如何处理客户的投诉？",
    ],
)
def test_a_question_that_stands_alone(question: str) -> None:
    assert dependence(question) is None


@pytest.mark.parametrize(
    ("question", "before", "query"),
    [
        (
            "and for contractors?",
            "How many days of annual leave do employees have?",
            "for contractors (days annual leave employees)",
        ),
        ("那么合同工呢？", "全职员工每年有多少天年假？", "合同工（全职员工每年有 天年假）"),
        (
            "Who approves it?",
            "I am in Oslo. My manager is away. How do I book a trip?",
            "Who approves it (book trip)",
        ),
    ],
)
def test_the_subject_of_the_question_before_is_carried(question: str, before: str, query: str) -> None:
    assert carried(question, [before]) == query


def test_a_thank_you_is_no_subject() -> None:
    assert carried("Who approves it?", ["How do I book a trip?", "Thanks!"]) == "Who approves it (book trip)"
    assert carried("它由谁批准？", ["怎么预订出差？", "谢谢您！"]) == "它由谁批准（预订出差）"
    assert carried("Why?", ["Hello"]) is None


def test_a_chain_of_follow_ups_keeps_its_subject_and_stays_short() -> None:
    searched: list[str] = []
    for question in [
        "How is a hotel in Zurich booked?",
        *["And who approves it?", "What about breakfast?"] * 6,
    ]:
        searched.append(standalone(None, question, Recalled(searched=tuple(searched))).query)
    assert "hotel" in searched[2]
    assert max(map(len, searched)) < 160
    fresh = "How many days of annual leave has every employee?"
    assert standalone(None, fresh, Recalled(searched=tuple(searched))).query == fresh


class Model:
    """`ports.ConversationModel`: says what it is told to."""

    name = "quick"

    def __init__(self, said: str | ModelUnavailableError) -> None:
        self._said = said
        self.asked: list[FollowUp] = []

    def standalone(self, follow_up: FollowUp) -> Rewritten:
        self.asked.append(follow_up)
        if isinstance(self._said, ModelUnavailableError):
            raise self._said
        return Rewritten(self._said, TokenUse(self.name, 10, 5))


BEFORE = Recalled(
    (Turn(TurnRole.USER, "How many days of leave do employees have?"), Turn(TurnRole.ASSISTANT, "26.")),
    ("How many days of leave do employees have?",),
)


def test_a_model_writes_the_question_and_what_it_cost_is_kept() -> None:
    model = Model("How many days of leave\u200b do contractors have?")
    found_ = standalone(model, "and contractors?", BEFORE)
    assert found_.query == "How many days of leave do contractors have?"
    assert (found_.how, found_.use.output) == (Rewriting.MODEL, 5)
    assert model.asked == [FollowUp("and contractors?", BEFORE.turns)]


def test_a_model_is_not_asked_about_what_plainly_stands_alone() -> None:
    model = Model("nonsense")
    question = "How many days of annual leave has every permanent employee in Norway?"
    assert standalone(model, question, BEFORE).query == question
    assert standalone(model, "And contractors?", Recalled()).query == "And contractors?"
    assert model.asked == []


def test_a_model_may_find_that_a_question_stands_alone() -> None:
    found_ = standalone(Model("Are books reimbursable?"), "Are books reimbursable?", BEFORE)
    assert (found_.query, found_.how) == ("Are books reimbursable?", Rewriting.AS_ASKED)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ModelUnavailableError("down"), "did not answer (model_unavailable)"),
        ("", "gave no usable question"),
        ("long " * 200, "gave no usable question"),
    ],
)
def test_where_the_model_fails_the_words_are_carried_and_it_is_said(
    said: str | ModelUnavailableError, why: str
) -> None:
    found_ = standalone(Model(said), "and contractors?", BEFORE)
    assert found_.query == "contractors (days leave employees)"
    assert found_.how is Rewriting.CARRIED
    assert why in found_.reason


@given(st.text(max_size=300), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_is_searched_as_something(question: str, before: list[str]) -> None:
    found_ = standalone(None, question, Recalled(searched=tuple(before)))
    assert found_.query == question or (before and found_.how is Rewriting.CARRIED)


@pytest.mark.parametrize(
    "text", ["it " * 20_000, "and " * 20_000, "那么" * 20_000, "(" * 40_000, "a" * 40_000]
)
def test_a_hostile_message_takes_no_time(text: str) -> None:
    started = time.process_time()
    standalone(None, text, Recalled(searched=(text,)))
    assert time.process_time() - started < 5


def test_questions_of_the_judged_sets_stand_alone() -> None:
    need(SETS)
    taken = {
        name: sum(dependence(question.text) is not None for question in questions(name))
        for name in ("gitlab-handbook", "stackfaq", "cranfield")
    }
    assert taken == {"gitlab-handbook": 0, "stackfaq": 5, "cranfield": 0}  # of 149, 1249 and 225


class WordsOnly:
    """`ports.Embedder`: every text is like every other, so that words decide, and in a second."""

    batch_size = 64
    profile = EmbeddingProfile("words", 8, 0.0, (("run", 0.3), ("message", 0.2)), 8_192)

    def passages(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(np.full((len(texts), 8), 8**-0.5, dtype=np.float32))

    def query(self, text: str) -> Embeddings:
        return self.passages([text])


def test_follow_ups_on_the_handbook_are_found() -> None:
    """By words alone, which takes seconds; `python -m tests.bench.followups` has the figures with vectors."""
    need(SETS)
    embedder = WordsOnly()
    judged = load("gitlab-handbook", embedder)
    scope = judged.scope()
    follow_ups, switches = (outcomes(judged, scope, embedder, some) for some in (HANDBOOK, SWITCHES))
    before, after = (found([getattr(one, when) for one in follow_ups]) for when in ("before", "after"))
    assert len(follow_ups) == 31
    assert after >= before + 4
    assert after >= 22  # the Chinese ones share no words with the handbook
    for one in switches:
        assert one.after <= one.before or one.after == 0 == one.before


def test_who_tells_at_length_has_left_the_subject() -> None:
    tale = (
        "It rained all day. " * 3
        + "My neighbour talked about roses, fences, apple trees, tea and radio shows."
    )
    assert carried("Who approves it?", ["How do I book a trip?", tale]) == "Who approves it (book trip)"
    assert carried("Who approves it?", ["How do I book a trip?", tale, tale, tale]) is None
