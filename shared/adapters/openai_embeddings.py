"""Embedding by OpenAI."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from shared.adapters.embedding_text import clean_passages, clean_query
from shared.adapters.gateway import Gateway, Patience
from shared.adapters.provider_errors import from_status
from shared.adapters.tokens import count_tokens
from shared.domain.catalogue import Catalogue, Model, Provider, Task
from shared.domain.errors import ModelUnavailableError
from shared.domain.models import EmbeddingProfile, TokenUse
from shared.ports import Embeddings

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import CreateEmbeddingResponse

    from shared.ports import Vectors

_ADDRESS = "https://api.openai.com/v1"

# Of a question: the vector of a text of many pages is near to nothing.
_QUERY_TOKENS = 2_000

# 256 passages of 1,000 characters stay below 300,000 tokens in any ordinary script, so one batch is one
# request, and a crash repeats at most that one.
_BATCH = 256

QUESTION = Patience(attempts=2, attempt_seconds=5, total_seconds=8)  # somebody waits for the answer
DOCUMENT = Patience(attempts=3, attempt_seconds=40, total_seconds=50)  # below the lease of a document


class OpenAIEmbedder:
    """`text-embedding-3-*` at full length. Vectors travel as base64: to decode numbers out of JSON costs more
    than to score ten thousand passages."""

    batch_size = _BATCH

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = "",
        model: str = "text-embedding-3-small",
        gateway: Gateway | None = None,
        catalogue: Catalogue | None = None,
        question_patience: Patience = QUESTION,
        document_patience: Patience = DOCUMENT,
    ) -> None:
        """Raises `MisconfiguredError` for a model that the catalogue does not know."""
        self._model = (catalogue or Catalogue()).find(model, Provider.OPENAI, Task.EMBEDDING)
        self._api_key = api_key
        self._base_url = base_url or _ADDRESS
        self._gateway = gateway or Gateway("OpenAI")
        self._question_patience = question_patience
        self._document_patience = document_patience
        self._made: OpenAI | None = None
        self.profile = EmbeddingProfile(
            fingerprint=f"openai/{model}/{self._model.dimensions}",
            dimensions=self._model.dimensions,
            # Unrelated text lies somewhat above 0 with this model; too low a floor flattens the spread of
            # the scores a little, too high a one would throw evidence away.
            floor=0.0,
            minimums=(("run", 0.3), ("message", 0.2)),
            max_input_tokens=self._model.context,
        )

    def passages(self, texts: Sequence[str]) -> Embeddings:
        import numpy as np

        rows: list[Vectors] = [np.empty((0, self.profile.dimensions), dtype=np.float32)]
        use = TokenUse()
        for batch in batches(clean_passages(texts), count_tokens, self._model):
            made = self._embed(batch, self._document_patience)
            rows.append(made.vectors)
            use += made.use
        return Embeddings(np.concatenate(rows), use)

    def query(self, text: str) -> Embeddings:
        return self._embed([clean_query(text, _QUERY_TOKENS, count_tokens)], self._question_patience)

    def _embed(self, texts: list[str], patience: Patience) -> Embeddings:
        tokens = sum(map(count_tokens, texts))
        return self._gateway.call(
            lambda seconds: self._request(texts, tokens, seconds),
            patience,
            model=self._model.id,
            tokens=tokens,
        )

    def _request(self, texts: list[str], tokens: int, seconds: float) -> Embeddings:
        import openai

        try:
            answer = self._client().embeddings.create(
                model=self._model.id, input=texts, encoding_format="base64", timeout=seconds
            )
        except openai.APIStatusError as error:
            raise from_status("OpenAI", error.status_code, error.response.headers, error.code) from error
        except openai.APIConnectionError as error:
            raise ModelUnavailableError(f"OpenAI could not be reached within {seconds:.0f} s.") from error
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is not JSON
            raise ModelUnavailableError("OpenAI's answer could not be read.") from error
        counted = answer.usage.prompt_tokens if answer.usage else tokens
        return Embeddings(self._vectors(answer, len(texts)), self._model.use(counted))

    def _vectors(self, answer: CreateEmbeddingResponse, count: int) -> Vectors:
        """Unit rows in the order of the texts; an answer that is not whole is no answer."""
        import numpy as np

        try:
            items = sorted(answer.data, key=lambda item: item.index)
            # Asked for base64 by name, the SDK passes it through under the type of a list.
            packed = [base64.b64decode(cast("str", item.embedding), validate=True) for item in items]
            rows = np.stack([np.frombuffer(data, dtype="<f4") for data in packed]).astype(np.float32)
        except (TypeError, AttributeError, ValueError, binascii.Error) as error:
            raise ModelUnavailableError("OpenAI's answer holds no readable vectors.") from error
        if [item.index for item in items] != list(range(count)) or rows.shape[1] != self.profile.dimensions:
            raise ModelUnavailableError(
                f"OpenAI returned vectors of shape {rows.shape} for {count} texts of "
                f"{self.profile.dimensions} dimensions."
            )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ModelUnavailableError("OpenAI returned a vector without a direction.")
        return cast("Vectors", rows / lengths)

    def _client(self) -> OpenAI:
        if self._made is None:
            from openai import OpenAI

            self._made = OpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0)
        return self._made


def batches(texts: Sequence[str], count: Callable[[str], int], model: Model) -> Iterator[list[str]]:
    """Consecutive texts, as many to a batch as one request of the model may hold."""
    batch: list[str] = []
    tokens = 0
    for text in texts:
        size = count(text)
        if batch and (len(batch) == model.most_inputs or tokens + size > model.most_request_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += size
    if batch:
        yield batch
