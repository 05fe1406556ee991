"""Page tokens: the last id of the page before, so a page goes on from there whatever was added or deleted."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Sequence

from emulators.firestore.errors import invalid
from emulators.firestore.names import segment_key


def page_token(last: str) -> str:
    return base64.urlsafe_b64encode(last.encode()).decode()


def after(ids: Sequence[str], token: str) -> int:
    """Where the page begins among ids in order."""
    if not token:
        return 0
    try:
        last = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise invalid(f'"{token}" is not a page token of this server.') from error
    return bisect_right(ids, segment_key(last), key=segment_key)
