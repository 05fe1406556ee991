"""The stub's prompt cache, by the provider's rules."""

from __future__ import annotations

from typing import Any

from emulators.models.prompt_cache import Cached, PromptCache

WORDS = "word " * 200  # 201 tokens or so


def request(*texts: str, marked: int, model: str = "m") -> dict[str, Any]:
    """A system text and the turns behind it; the block at `marked` is marked."""
    made: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    made[marked]["cache_control"] = {"type": "ephemeral"}
    roles = ["user", "assistant"] * len(texts)
    turns = [{"role": role, "content": [block]} for role, block in zip(roles, made[1:], strict=False)]
    return {"model": model, "system": made[:1], "messages": turns}


def test_a_prefix_is_taken_in_then_read() -> None:
    cache = PromptCache(minimum=100)
    first = cache.use(request(WORDS, "one", marked=0))
    assert (first.read, first.fresh) == (0, 1)
    assert first.written >= 200
    assert cache.use(request(WORDS, "another", marked=0)) == Cached(first.written, 0, 1)


def test_a_conversation_reads_what_it_had_and_takes_in_the_rest() -> None:
    cache = PromptCache(minimum=100)
    cache.use(request(WORDS, "q", "a", "q", marked=2))
    longer = cache.use(request(WORDS, "q", "a", "q two", "a two", "q", marked=4))
    assert longer.read >= 200
    assert 0 < longer.written < 10


def test_one_byte_or_another_model_is_another_prefix() -> None:
    cache = PromptCache(minimum=100)
    cache.use(request(WORDS, "q", marked=0))
    assert cache.use(request(WORDS + ".", "q", marked=0)).read == 0
    assert cache.use(request(WORDS, "q", marked=0, model="n")).read == 0


def test_short_prompts_are_not_kept() -> None:
    cache = PromptCache()
    for _ in range(2):
        found = cache.use(request(WORDS, "q", marked=0))
        assert (found.read, found.written) == (0, 0)
