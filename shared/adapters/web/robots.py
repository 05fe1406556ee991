"""What a site's robots.txt allows (RFC 9309), remembered for an hour."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.domain.errors import FetchFailedError, TooLargeError, UnsupportedTypeError, UrlForbiddenError
from shared.domain.web_url import WebUrl
from shared.ports import Fetched

if TYPE_CHECKING:
    from protego import Protego

AGENT = "AlmanacBot"
MAX_BYTES = 500 * 1024  # what RFC 9309 asks of parsers
_KEPT_SECONDS = 3600.0
_SITES_KEPT = 500
_LONGEST_DELAY = 30.0
_GONE = range(400, 500)

Read = Callable[[WebUrl], Fetched]


@dataclass(frozen=True, slots=True)
class _Kept:
    rules: Protego | None
    until: float


class Robots:
    """Of all the sites that one process reads."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def allow(self, url: WebUrl, read: Read) -> float:
        """Raises `UrlForbiddenError` where the site wants no robots, and `FetchFailedError` while it cannot
        be asked. `read` fetches a robots.txt. Returns the seconds that it wants between two reads."""
        rules = self._rules(url, read)
        if rules is None:
            return 0.0
        if not rules.can_fetch(str(url), AGENT):
            raise UrlForbiddenError(
                f"The robots.txt of {url.host} does not let {AGENT} read this address.",
                hint=f"Ask the site's owner to allow {AGENT}, or upload the file.",
            )
        return min(float(rules.crawl_delay(AGENT) or 0.0), _LONGEST_DELAY)

    def _rules(self, url: WebUrl, read: Read) -> Protego | None:
        with self._lock:
            kept = self._kept.get(url.origin)
        if kept is None or kept.until < self._now():
            kept = _Kept(_fetched(url, read), self._now() + _KEPT_SECONDS)
            with self._lock:
                self._kept[url.origin] = kept
                self._kept.move_to_end(url.origin)
                while len(self._kept) > _SITES_KEPT:
                    self._kept.popitem(last=False)
        return kept.rules


def _fetched(url: WebUrl, read: Read) -> Protego | None:
    """The rules; None when there are none. A server that fails may have some: nothing is read then."""
    from protego import Protego

    try:
        answer = read(WebUrl(url.scheme, url.host, url.port, "/robots.txt"))
    except (TooLargeError, UnsupportedTypeError):
        return None
    if answer.status == 200:
        return Protego.parse(answer.body.decode("utf-8", "replace"))
    if answer.status in _GONE and answer.status != 429:
        return None
    raise FetchFailedError(f"The robots.txt of {url.host} could not be read: status {answer.status}.")
