"""`POST /v1/messages` (whole and streamed) and `/v1/messages/count_tokens` of Anthropic."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulators.models.http import Refused, authorised, serve
from emulators.models.prompt_cache import PromptCache
from emulators.models.schemas import example_of
from emulators.models.script import Fault, Script
from emulators.models.wording import reply
from shared.adapters.tokens import count_tokens

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GONE = ("temperature", "top_p", "top_k")  # since version 2026-10-21
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_PIECE = re.compile(r"\s*\S{1,12}")


def routes(script: Script) -> list[Route]:
    cache = script.cache

    async def messages(request: Request) -> Response:
        return _denied(request) or await serve(request, script, _texts, answer, _error)

    def answer(body: Mapping[str, Any], fault: Fault | None) -> dict[str, Any] | list[bytes]:
        return _message(body, fault, cache)

    async def tokens(request: Request) -> Response:
        return _denied(request) or await serve(request, script, _texts, _count, _error)

    return [
        Route("/v1/messages", messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", tokens, methods=["POST"]),
    ]


def _denied(request: Request) -> Response | None:
    if not authorised(request):
        return JSONResponse(_error(401, "x-api-key header is required"), 401)
    if not request.headers.get("anthropic-version"):
        return JSONResponse(_error(400, "anthropic-version: header is required"), 400)
    return None


def _error(status: int, message: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": _TYPES.get(status, "api_error"), "message": message},
        "request_id": f"req_{secrets.token_hex(8)}",
    }


def _texts(body: Mapping[str, Any]) -> list[str]:
    """The system text, then each message's; refuses what the API refuses."""
    messages = body.get("messages")
    if not isinstance(body.get("model"), str) or not isinstance(messages, list) or not messages:
        raise Refused(400, "model: and messages: are required")
    for name in _GONE:
        if name in body:
            raise Refused(400, f"{name}: Extra inputs are not permitted")
    if messages[0].get("role") != "user" or messages[-1].get("role") != "user":
        raise Refused(400, "messages: the first and the last must be of role user")
    texts = [_text(body.get("system", "")), *(_text(message.get("content")) for message in messages)]
    if not all(text.strip() for text in texts[1:]):
        raise Refused(400, "messages: text content blocks must be non-empty")
    return texts


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(_is_block(block) for block in content):
        raise Refused(400, "content: this stub takes a string, text blocks or images as base64")
    return "".join(str(block["text"]) for block in content if block["type"] == "text")


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") not in {"text", "image"}:
        return False
    if block["type"] == "text":
        return True
    source = block.get("source") or {}
    return source.get("type") == "base64" and source.get("media_type") in _IMAGES and bool(source.get("data"))


def _count(body: Mapping[str, Any], _: Fault | None) -> dict[str, Any]:
    return {"input_tokens": sum(map(count_tokens, _texts(body)))}


def _message(
    body: Mapping[str, Any], fault: Fault | None, cache: PromptCache
) -> dict[str, Any] | list[bytes]:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        raise Refused(400, "max_tokens: Field required")
    texts = _texts(body)
    said = fault.text if fault is not None and fault.text is not None else _answer(body, texts)
    text, stop = _said(said, limit, fault)
    content = _thinking(body) + ([{"type": "text", "text": text}] if text else [])
    prompt = cache.use(body)
    message = {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": prompt.fresh,
            "cache_creation_input_tokens": prompt.written,
            "cache_read_input_tokens": prompt.read,
            "output_tokens": max(1, count_tokens(text)),
        },
    }
    return _events(message) if body.get("stream") else message


def _answer(body: Mapping[str, Any], texts: list[str]) -> str:
    """Words; where a schema is given, JSON of its shape."""
    wanted = (body.get("output_config") or {}).get("format")
    if wanted is None:
        return reply(texts[0], texts[-1], texts[1:-1])
    return json.dumps(example_of(wanted["schema"]), ensure_ascii=False)


def _said(text: str, limit: int, fault: Fault | None) -> tuple[str, str]:
    forced = fault.stop_reason if fault is not None else None
    if forced == "refusal":
        return "", forced
    if forced == "max_tokens":
        return text[: len(text) // 2], forced
    if count_tokens(text) > limit:
        return text[: max(1, len(text) * limit // count_tokens(text))], "max_tokens"
    return text, "end_turn"


def _thinking(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """Models of this line think unless told how little effort to make, and their text is then not the first
    block."""
    if (body.get("output_config") or {}).get("effort") == "low":
        return []
    return [{"type": "thinking", "thinking": "", "signature": "c3R1Yg=="}]


def _events(message: dict[str, Any]) -> list[bytes]:
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": opening}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "signature": ""}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += ({"type": "content_block_delta", "index": index, "delta": d} for d in _deltas(block))
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": usage})
    events.append({"type": "message_stop"})
    return [
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    ]


def _deltas(block: dict[str, str]) -> list[dict[str, str]]:
    if block["type"] == "thinking":
        return [{"type": "signature_delta", "signature": block["signature"]}]
    return [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]


def _pieces(text: str) -> list[str]:
    """Cuts of a text that join to it again."""
    pieces = _PIECE.findall(text)
    rest = text[sum(map(len, pieces)) :]
    return [*pieces, rest] if rest else pieces
