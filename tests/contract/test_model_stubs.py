"""The stubs, spoken to by the real SDKs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import anthropic
import httpx2
import numpy as np
import openai
import pytest

from emulators.models.script import Fault
from emulators.models.server import ModelStubs

MODEL = "text-embedding-3-small"
REFERENCES = """<reference_documents>
<document id="p_leave" title="Leave">Every employee has 25 days of leave a year.
Unused days end in March.</document>
<document id="p_cars" title="Cars">
Company cars are washed weekly &amp; refuelled by the fleet team.</document>
<document id="p_zh" title="假期">员工每年有十五天年假。病假另算。</document>
</reference_documents>

"""


@pytest.fixture(scope="module")
def running() -> Iterator[ModelStubs]:
    with ModelStubs() as stubs:
        yield stubs


@pytest.fixture
def stubs(running: ModelStubs) -> ModelStubs:
    running.openai.reset()
    running.anthropic.reset()
    return running


@pytest.fixture
def embeddings(stubs: ModelStubs) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="sk-x", base_url=stubs.openai_url, max_retries=0) as client:
        yield client


@pytest.fixture
def claude(stubs: ModelStubs) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="sk-x", base_url=stubs.anthropic_url, max_retries=0) as client:
        yield client


def ask(client: anthropic.Anthropic, text: str, **more: object) -> anthropic.types.Message:
    return client.messages.create(  # type: ignore[call-overload,no-any-return]
        model="claude-sonnet-5-5", max_tokens=500, messages=[{"role": "user", "content": text}], **more
    )


def said(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def cosines(client: openai.OpenAI, *texts: str) -> np.ndarray:
    answer = client.embeddings.create(model=MODEL, input=list(texts))
    vectors = np.array([item.embedding for item in answer.data])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    return vectors @ vectors.T


# --- OpenAI ----------------------------------------------------------------------------------------


def test_texts_that_share_words_are_near_in_any_script(embeddings: openai.OpenAI) -> None:
    near = cosines(
        embeddings,
        "How many days of annual leave do employees have?",
        "Employees have 25 days of annual leave.",
        "The fleet team washes company cars weekly.",
        "员工有多少天年假",
        "员工每年有十五天年假",
        "公司汽车每周清洗",
    )
    assert near[0, 1] > 0.5
    assert near[3, 4] > 0.4
    assert max(near[0, 2], near[3, 5], near[0, 3]) < 0.2


def test_the_same_text_has_the_same_vector_in_both_encodings(embeddings: openai.OpenAI) -> None:
    packed = embeddings.embeddings.create(model=MODEL, input="Straße").data[0].embedding
    numbers = embeddings.embeddings.create(model=MODEL, input="Straße", encoding_format="float")
    assert numbers.data[0].embedding == pytest.approx(packed, abs=1e-7)
    assert len(packed) == 1536


def test_dimensions_and_usage_are_those_asked_for(embeddings: openai.OpenAI) -> None:
    answer = embeddings.embeddings.create(model=MODEL, input=["hello world", "hello"], dimensions=256)
    assert [len(item.embedding) for item in answer.data] == [256, 256]
    assert answer.usage.prompt_tokens == 3


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"input": ""}, id="an empty string"),
        pytest.param({"input": []}, id="no input"),
        pytest.param({"input": ["a"] * 2049}, id="too many inputs"),
        pytest.param({"input": "年" * 9000}, id="too many tokens in one"),
        pytest.param({"input": ["word " * 8000] * 40}, id="too many tokens in all"),
        pytest.param({"input": "a", "dimensions": 1537}, id="too many dimensions"),
    ],
)
def test_limits_of_the_embedding_api_hold(embeddings: openai.OpenAI, given: dict[str, object]) -> None:
    with pytest.raises(openai.BadRequestError):
        embeddings.embeddings.create(**({"model": MODEL} | given))  # type: ignore[call-overload]


def test_an_unknown_embedding_model_is_not_found(embeddings: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        embeddings.embeddings.create(model="text-embedding-4", input="a")


# --- Anthropic -------------------------------------------------------------------------------------


def test_answers_quote_the_document_that_covers_the_question(claude: anthropic.Anthropic) -> None:
    message = ask(claude, REFERENCES + "How many days of leave does an employee have?")
    assert said(message) == "Every employee has 25 days of leave a year. [[p_leave]]"
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 50


def test_answers_come_in_the_script_of_the_document_and_unescaped(claude: anthropic.Anthropic) -> None:
    assert said(ask(claude, REFERENCES + "员工每年有多少天年假？")) == "员工每年有十五天年假。 [[p_zh]]"
    washed = said(ask(claude, REFERENCES + "Who has company cars refuelled?"))
    assert washed == "Company cars are washed weekly & refuelled by the fleet team. [[p_cars]]"


def test_a_marked_question_is_told_from_the_notes_around_it(claude: anthropic.Anthropic) -> None:
    note = "<note>Company cars are washed weekly.</note>\n\n"
    question = "<question>\nHow many days of leave does an employee have?\n</question>"
    assert said(ask(claude, REFERENCES + note + question)).endswith("[[p_leave]]")
    assert said(ask(claude, note + question)) == "The reference documents do not cover this question."


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What does the canteen charge?", "do not cover"), ("食堂几点开门？", "没有涉及")],
)
def test_what_no_document_covers_is_said_to_be_uncovered(
    claude: anthropic.Anthropic, question: str, answer: str
) -> None:
    text = said(ask(claude, REFERENCES + question))
    assert answer in text
    assert "[[" not in text


def test_summaries_are_the_opening_sentences(claude: anthropic.Anthropic) -> None:
    section = "<section>\n" + "First &lt;b&gt;. " + "Next one follows here. " * 100 + "\n</section>\n\n"
    short = said(ask(claude, section + "Summarize the section in one to three sentences."))
    assert short == "First <b>."
    long = said(ask(claude, section + "Summarize the section in 200 to 400 words."))
    assert long.startswith("First <b>. Next one")
    assert 200 <= len(long.split()) <= 400


def test_a_stream_spells_the_same_answer(claude: anthropic.Anthropic) -> None:
    question = REFERENCES + "How many days of leave does an employee have?"
    with claude.messages.stream(
        model="claude-sonnet-5-5", max_tokens=500, messages=[{"role": "user", "content": question}]
    ) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(pieces) > 3
    assert "".join(pieces) == said(final) == said(ask(claude, question))
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens > 5


def test_tokens_are_counted(claude: anthropic.Anthropic) -> None:
    counted = claude.messages.count_tokens(
        model="claude-sonnet-5-5", system="one two", messages=[{"role": "user", "content": "three"}]
    )
    assert counted.input_tokens == 3


def test_an_answer_longer_than_max_tokens_is_cut(claude: anthropic.Anthropic) -> None:
    message = claude.messages.create(
        model="m", max_tokens=5, messages=[{"role": "user", "content": "word " * 100}]
    )
    assert message.stop_reason == "max_tokens"
    assert len(said(message)) < 60


def test_both_ways_to_send_a_key_are_taken_and_none_is_refused(stubs: ModelStubs) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    version = {"anthropic-version": "2026-10-21"}
    with httpx2.Client(trust_env=False) as client:
        url = f"{stubs.anthropic_url}/v1/messages"
        codes = [
            client.post(url, json=body, headers=version | key).status_code
            for key in ({"x-api-key": "k"}, {"authorization": "Bearer k"}, {})
        ]
        assert codes == [200, 200, 401]
        warm = client.post(url, json=body | {"temperature": 0}, headers=version | {"x-api-key": "k"})
        assert (warm.status_code, warm.json()["error"]["type"]) == (400, "invalid_request_error")
        assert client.post(f"{stubs.openai_url}/embeddings", json={}).status_code == 401


# --- faults and the log ----------------------------------------------------------------------------


def test_faults_come_in_their_order_then_all_is_well(stubs: ModelStubs, embeddings: openai.OpenAI) -> None:
    stubs.openai.then(Fault.rate_limited(retry_after=7), Fault.rate_limited(), None, Fault.server_error())
    with pytest.raises(openai.RateLimitError) as limited:
        embeddings.embeddings.create(model=MODEL, input="a")
    assert limited.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.RateLimitError) as unnamed:
        embeddings.embeddings.create(model=MODEL, input="a")
    assert "retry-after" not in unnamed.value.response.headers
    embeddings.embeddings.create(model=MODEL, input="b")
    with pytest.raises(openai.InternalServerError):
        embeddings.embeddings.create(model=MODEL, input="c")
    embeddings.embeddings.create(model=MODEL, input=["d", "e"])
    assert stubs.openai.inputs() == ["a", "a", "b", "c", "d", "e"]
    faults = [call.fault for call in stubs.openai.calls]
    assert faults == ["rate_limited", "rate_limited", None, "server_error", None]


def test_a_rule_can_choose_its_calls(stubs: ModelStubs, embeddings: openai.OpenAI) -> None:
    stubs.openai.always(Fault.server_error(), when=lambda call: "poison" in call.texts)
    embeddings.embeddings.create(model=MODEL, input="clean")
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            embeddings.embeddings.create(model=MODEL, input=["clean", "poison"])


def test_bodies_can_be_cut_malformed_or_slow(stubs: ModelStubs, embeddings: openai.OpenAI) -> None:
    stubs.openai.then(Fault.cut(after=20), Fault.malformed_json(), Fault.slow(2.0))
    with pytest.raises(openai.APIConnectionError):
        embeddings.embeddings.create(model=MODEL, input="a")
    with pytest.raises(ValueError, match=r"Expecting value|JSON"):
        embeddings.embeddings.create(model=MODEL, input="a")
    with pytest.raises(openai.APITimeoutError):
        embeddings.embeddings.create(model=MODEL, input="a", timeout=0.2)


def test_a_stream_can_break_off(stubs: ModelStubs, claude: anthropic.Anthropic) -> None:
    stubs.anthropic.then(Fault.cut(after=8))
    heard = []

    def listen() -> None:
        with claude.messages.stream(
            model="m", max_tokens=500, messages=[{"role": "user", "content": "word " * 50}]
        ) as stream:
            heard.extend(stream.text_stream)

    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        listen()
    assert 1 <= len(heard) < 20


def test_models_can_be_overloaded_refuse_and_run_out_of_room(
    stubs: ModelStubs, claude: anthropic.Anthropic
) -> None:
    stubs.anthropic.then(Fault.overloaded(), Fault.refusal(), Fault.max_tokens())
    with pytest.raises(anthropic.InternalServerError) as overloaded:
        ask(claude, "Tell me something long about everything")
    assert overloaded.value.status_code == 529
    refused = ask(claude, "Tell me something long about everything")
    assert (refused.stop_reason, said(refused)) == ("refusal", "")
    cut = ask(claude, "Tell me something long about everything")
    assert (cut.stop_reason, said(cut)) == ("max_tokens", "You said: Tell me someth")


def test_runs_as_a_process_with_its_log_over_http() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "emulators.models"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        shown = dict(process.stdout.readline().strip().split("=", 1) for _ in range(4))
        base = shown["ANTHROPIC_BASE_URL"].removesuffix("/anthropic")
        with (
            httpx2.Client(base_url=base, trust_env=False) as control,
            openai.OpenAI(api_key="k", base_url=shown["OPENAI_BASE_URL"], max_retries=0) as client,
        ):
            fault = {"name": "rate_limited", "status": 429, "retry_after": "3"}
            control.post("/control/faults", json={"provider": "openai", "faults": [fault]})
            with pytest.raises(openai.RateLimitError):
                client.embeddings.create(model=MODEL, input="a")
            client.embeddings.create(model=MODEL, input="b")
            log = control.get("/control/calls").json()
        assert [call["texts"] for call in log["openai"]["calls"]] == [["a"], ["b"]]
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
        assert time.monotonic() - started < 5
