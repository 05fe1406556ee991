"""Calls to Anthropic's messages API, with the SDK's errors turned into ours."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, Unpack

from shared.adapters.gateway import Gateway, Patience
from shared.adapters.provider_errors import from_status
from shared.adapters.tokens import count_tokens
from shared.domain.catalogue import Catalogue, Model, Provider, Task
from shared.domain.errors import ModelContentError, ModelUnavailableError
from shared.domain.models import StopReason, TokenUse

if TYPE_CHECKING:
    from anthropic import Anthropic, Stream
    from anthropic.types import (
        Message,
        MessageParam,
        OutputConfigParam,
        RawMessageStreamEvent,
        TextBlockParam,
        Usage,
    )

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
    """One request. `effort` bounds how much the model thinks before it writes; with `schema` it answers in
    JSON of that shape."""

    system: str
    messages: Sequence[MessageParam]
    max_tokens: int
    effort: Effort
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back: the text blocks, joined, and what it cost."""

    text: str
    stop: StopReason
    use: TokenUse


class Access(TypedDict, total=False):
    """How a model is reached: what the container gives to every adapter of this provider."""

    api_key: Required[str]
    base_url: str
    gateway: Gateway
    catalogue: Catalogue


class AnthropicCalls:
    """The calls of one model."""

    def __init__(self, model: str, **access: Unpack[Access]) -> None:
        """Raises `MisconfiguredError` for a model that the catalogue does not know."""
        catalogue = access.get("catalogue") or Catalogue()
        self.model = catalogue.find(model, Provider.ANTHROPIC, Task.WRITING)
        self._api_key = access["api_key"]
        self._base_url = access.get("base_url") or _ADDRESS
        self._gateway = access.get("gateway") or Gateway("Anthropic")
        self._made: Anthropic | None = None

    def create(self, ask: Ask, patience: Patience) -> Heard:
        """Raises `ModelUnavailableError`."""

        def once(seconds: float) -> Heard:
            with _our_errors(seconds):
                message = self._client().messages.create(
                    model=self.model.id,
                    system=[cached(ask.system)],
                    messages=ask.messages,
                    max_tokens=self._room(ask),
                    output_config=_output(ask),
                    timeout=seconds,
                )
            return _heard(message, self.model)

        return self._gateway.call(once, patience, model=self.model.id, tokens=self._size(ask))

    def stream(
        self, ask: Ask, patience: Patience, whole_seconds: float
    ) -> Generator[str | TokenUse | Heard, None, None]:
        """Pieces of text, each followed by what the call has cost so far, then all of it.

        The call is tried again until it begins; once it has, silence of `patience.attempt_seconds`, a stream
        that is cut off and one that lasts longer than `whole_seconds` raise `ModelUnavailableError`.
        """

        def once(seconds: float) -> Stream[RawMessageStreamEvent]:
            with _our_errors(seconds):
                return self._client().messages.create(
                    model=self.model.id,
                    system=[cached(ask.system)],
                    messages=ask.messages,
                    max_tokens=self._room(ask),
                    output_config=_output(ask),
                    timeout=seconds,
                    stream=True,
                )

        listening = _Listening(self.model)
        until = self._gateway.now() + whole_seconds
        with (
            self._gateway.holding(once, patience, model=self.model.id, tokens=self._size(ask)) as stream,
            stream as events,
            _our_errors(patience.attempt_seconds),
        ):
            for event in events:
                text = listening.hear(event)
                if text:
                    yield text
                if text or event.type == "message_start":
                    yield listening.use
                if self._gateway.now() > until:
                    raise ModelUnavailableError(
                        f"{self.model.id} was still writing after {whole_seconds:.0f} s."
                    )
        yield listening.heard()

    def _size(self, ask: Ask) -> int:
        """Tokens that are sent, about. Raises `ModelContentError` when the model does not read so many."""
        texts = [ask.system, *(_text(message) for message in ask.messages)]
        tokens = ceil(self.model.token_factor * sum(map(count_tokens, texts)))
        if tokens > self.model.context:
            raise ModelContentError(
                f"The prompt has about {tokens} tokens; {self.model.id} reads {self.model.context}."
            )
        return tokens

    def _room(self, ask: Ask) -> int:
        return min(ask.max_tokens, self.model.max_output)

    def _client(self) -> Anthropic:
        if self._made is None:
            from anthropic import Anthropic

            self._made = Anthropic(api_key=self._api_key, base_url=self._base_url, max_retries=0)
        return self._made


@dataclass(slots=True)
class _Listening:
    """Puts a message together from its events. Until the provider has counted what it wrote, `use` holds our
    own count of it."""

    model: Model
    texts: list[str] = field(default_factory=list)
    use: TokenUse = field(default_factory=TokenUse)
    stop: StopReason = StopReason.END
    ended: bool = False
    usage: Usage | None = None
    written: float = 0.0

    def hear(self, event: RawMessageStreamEvent) -> str:
        """The text that the event adds; thinking is not for the reader."""
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            self.texts.append(event.delta.text)
            self.written += self.model.token_factor * count_tokens(event.delta.text)
            self._count(ceil(self.written))
            return event.delta.text
        if event.type == "message_start":
            self.usage = event.message.usage
            self._count(self.usage.output_tokens)
        elif event.type == "message_delta":
            self.stop = _STOP_REASONS.get(event.delta.stop_reason or "", StopReason.END)
            self._count(event.usage.output_tokens)
        elif event.type == "message_stop":
            self.ended = True
        return ""

    def heard(self) -> Heard:
        if not self.ended:
            raise ModelUnavailableError(f"{self.model.id} broke off in the middle of its answer.")
        return Heard("".join(self.texts), self.stop, self.use)

    def _count(self, output: int) -> None:
        if self.usage is not None:
            self.use = _use(self.usage, self.model, output)


def _output(ask: Ask) -> OutputConfigParam:
    if ask.schema is None:
        return {"effort": ask.effort}
    return {"effort": ask.effort, "format": {"type": "json_schema", "schema": ask.schema}}


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


def _heard(message: Message, model: Model) -> Heard:
    try:
        text = "".join(block.text for block in message.content if block.type == "text").strip()
        stop = _STOP_REASONS.get(message.stop_reason or "", StopReason.END)
        return Heard(text, stop, _use(message.usage, model, message.usage.output_tokens))
    except (TypeError, AttributeError) as error:
        raise ModelUnavailableError("Anthropic's answer is not a message.") from error


def _use(usage: Usage, model: Model, output: int) -> TokenUse:
    """`input_tokens` leaves out what went to or came from the prompt cache."""
    return model.use(
        usage.input_tokens,
        output,
        cache_read=usage.cache_read_input_tokens or 0,
        cache_write=usage.cache_creation_input_tokens or 0,
    )


def _text(message: MessageParam) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
