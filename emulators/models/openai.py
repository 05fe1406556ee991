"""`POST /v1/embeddings` of OpenAI, with the limits that its reference names."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulators.models.http import Refused, authorised, serve
from emulators.models.script import Fault, Script
from emulators.models.vectors import embed
from shared.adapters.tokens import count_tokens

_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_MOST_INPUTS = 2048
_MOST_TOKENS = 300_000
_MOST_TOKENS_PER_INPUT = 8192
_TYPES = {401: "invalid_request_error", 429: "rate_limit_exceeded", 500: "server_error"}


def routes(script: Script) -> list[Route]:
    async def embeddings(request: Request) -> Response:
        if not authorised(request):
            return JSONResponse(_error(401, "You didn't provide an API key."), 401)
        return await serve(request, script, _texts, _embeddings, _error)

    return [Route("/v1/embeddings", embeddings, methods=["POST"])]


def _error(status: int, message: str) -> dict[str, Any]:
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _texts(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "This stub takes `input` as a string or a list of strings.")
    return texts


def _embeddings(body: Mapping[str, Any], _: Fault | None) -> dict[str, Any]:
    model = body.get("model")
    if model not in _DIMENSIONS:
        raise Refused(404, f"The model `{model}` does not exist or you do not have access to it.")
    dimensions = _dimensions(body, str(model))
    texts = _texts(body)
    tokens = _checked_tokens(texts)
    as_numbers = body.get("encoding_format", "float") == "float"
    vectors = [embed(text, dimensions).astype("<f4") for text in texts]
    return {
        "object": "list",
        "model": model,
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": vector.tolist() if as_numbers else base64.b64encode(vector.tobytes()).decode(),
            }
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _dimensions(body: Mapping[str, Any], model: str) -> int:
    full = _DIMENSIONS[model]
    wanted = body.get("dimensions", full)
    if "dimensions" in body and model.endswith("002"):
        raise Refused(400, "This model does not support specifying dimensions.")
    if not isinstance(wanted, int) or not 1 <= wanted <= full:
        raise Refused(400, f"Invalid value for 'dimensions': {wanted}, at most {full}.")
    return wanted


def _checked_tokens(texts: list[str]) -> int:
    if not 1 <= len(texts) <= _MOST_INPUTS:
        raise Refused(400, f"'input' has {len(texts)} items, it must have 1 to {_MOST_INPUTS}.")
    counts = [count_tokens(text) for text in texts]
    if not all(texts):
        raise Refused(400, "'input' cannot hold an empty string.")
    if max(counts) > _MOST_TOKENS_PER_INPUT:
        raise Refused(400, f"An input has {max(counts)} tokens; the maximum is {_MOST_TOKENS_PER_INPUT}.")
    if sum(counts) > _MOST_TOKENS:
        raise Refused(400, f"Requested {sum(counts)} tokens; at most {_MOST_TOKENS} per request.")
    return sum(counts)
