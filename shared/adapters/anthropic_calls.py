"""Calls to Anthropic's messages API, with the SDK's errors turned into ours."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from shared.adapters.gateway import Gateway, Patience
from shared.adapters.provider_errors import from_status
from shared.domain.errors import ModelUnavailableError
from shared.domain.models import StopReason, TokenUse

if TYPE_CHECKING:
    from anthropic import Anthropic, Stream
    from anthropic.types import Message, MessageParam, RawMessageStreamEvent, TextBlockParam, Usage

Effort = Literal["low", "medium", "high"]

_ADDRESS = "https://api.anthropic.com"
# An error in the middle of a stream comes under the status 200 of the stream; its type says what it is.
_STREAM_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "invalid_request_error": 400}

_STOP_REASONS = {
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `effort` bounds how much the model thinks before it writes."""

    system: str
    messages: Sequence[MessageParam]
    max_tokens: int
    effort: Effort


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back: the text blocks, joined, and what it cost."""

    text: str
    stop: StopReason
    use: TokenUse


class AnthropicCalls:
    """The calls of one model."""

    def __init__(self, api_key: str, base_url: str, model: str, gateway: Gateway | None) -> None:
        self.model = model
        self._api_key = api_key
        self._base_url = base_url or _ADDRESS
        self._gateway = gateway or Gateway("Anthropic")
        self._made: Anthropic | None = None

    def create(self, ask: Ask, patience: Patience) -> Heard:
        """Raises `ModelUnavailableError`."""

        def once(seconds: float) -> Heard:
            with _our_errors(seconds):
                message = self._client().messages.create(
                    model=self.model,
                    system=[cached(ask.system)],
                    messages=ask.messages,
                    max_tokens=ask.max_tokens,
                    output_config={"effort": ask.effort},
                    timeout=seconds,
                )
            return _heard(message, self.model)

        return self._gateway.call(once, patience)

    def stream(self, ask: Ask, patience: Patience) -> Generator[str | Heard, None, None]:
        """Pieces of text, then all of it. The call is tried again until it begins; once it has, silence of
        `patience.attempt_seconds` or a stream that is cut off raises `ModelUnavailableError`."""

        def once(seconds: float) -> Stream[RawMessageStreamEvent]:
            with _our_errors(seconds):
                return self._client().messages.create(
                    model=self.model,
                    system=[cached(ask.system)],
                    messages=ask.messages,
                    max_tokens=ask.max_tokens,
                    output_config={"effort": ask.effort},
                    timeout=seconds,
                    stream=True,
                )

        listening = _Listening(self.model)
        with self._gateway.call(once, patience) as events, _our_errors(patience.attempt_seconds):
            for event in events:
                text = listening.hear(event)
                if text:
                    yield text
        yield listening.heard()

    def _client(self) -> Anthropic:
        if self._made is None:
            from anthropic import Anthropic

            self._made = Anthropic(api_key=self._api_key, base_url=self._base_url, max_retries=0)
        return self._made


@dataclass(slots=True)
class _Listening:
    """Puts a message together from its events."""

    model: str
    texts: list[str] = field(default_factory=list)
    use: TokenUse = field(default_factory=TokenUse)
    stop: StopReason = StopReason.END
    ended: bool = False

    def hear(self, event: RawMessageStreamEvent) -> str:
        """The text that the event adds; thinking is not for the reader."""
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            self.texts.append(event.delta.text)
            return event.delta.text
        if event.type == "message_start":
            self.use = _use(event.message.usage, self.model)
        elif event.type == "message_delta":
            self.stop = _STOP_REASONS.get(event.delta.stop_reason or "", StopReason.END)
            output = event.usage.output_tokens
            self.use = TokenUse(self.model, self.use.input, output, self.use.cached)
        elif event.type == "message_stop":
            self.ended = True
        return ""

    def heard(self) -> Heard:
        if not self.ended:
            raise ModelUnavailableError(f"{self.model} broke off in the middle of its answer.")
        return Heard("".join(self.texts), self.stop, self.use)


def cached(text: str) -> TextBlockParam:
    """A block up to which the provider may keep the prompt in its cache."""
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


@contextmanager
def _our_errors(seconds: float) -> Iterator[None]:
    import anthropic
    import httpx2

    try:
        yield
    except anthropic.APIStatusError as error:
        status = _STREAM_STATUS.get(error.type or "", 500) if error.status_code < 400 else error.status_code
        raise from_status("Anthropic", status, error.response.headers) from error
    except anthropic.APIConnectionError as error:
        raise ModelUnavailableError(f"Anthropic could not be reached within {seconds:.0f} s.") from error
    except httpx2.TransportError as error:  # in the middle of a stream the SDK passes these on as they are
        raise ModelUnavailableError(
            f"Anthropic's answer broke off, or stopped for {seconds:.0f} s."
        ) from error
    except (anthropic.AnthropicError, ValueError) as error:  # ValueError: a body that is not JSON
        raise ModelUnavailableError("Anthropic's answer could not be read.") from error


def _heard(message: Message, model: str) -> Heard:
    try:
        text = "".join(block.text for block in message.content if block.type == "text").strip()
        stop = _STOP_REASONS.get(message.stop_reason or "", StopReason.END)
        return Heard(text, stop, _use(message.usage, model))
    except (TypeError, AttributeError) as error:
        raise ModelUnavailableError("Anthropic's answer is not a message.") from error


def _use(usage: Usage, model: str) -> TokenUse:
    """`input_tokens` leaves out what went to or came from the prompt cache; ours counts all of it."""
    read = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    return TokenUse(model, usage.input_tokens + read + written, usage.output_tokens, read)
