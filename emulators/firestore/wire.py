"""Protobuf by concatenation: documents are kept serialized and put into responses without being parsed.

Serialized messages that follow each other merge into one (protobuf, "Encoding: last one wins"), so a field
may be appended to a message that is already bytes.
"""

from __future__ import annotations

_LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def embed(field: int, message: bytes) -> bytes:
    """A serialized message as the field of a message around it."""
    return varint(field << 3 | _LENGTH_DELIMITED) + varint(len(message)) + message
