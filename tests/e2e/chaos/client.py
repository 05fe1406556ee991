"""A client of the API as a careful one is written: it repeats what got no answer, under the same key."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
# Answers that say "not now".
_LATER = {429, 500, 502, 503, 504}
_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
_TIMEOUT = 30
_PATIENCE = 120.0


class GaveUpError(AssertionError):
    """No answer that settles the call came for two minutes."""


@dataclass(frozen=True, slots=True)
class PatientClient:
    url: str
    token: str

    def call(self, method: str, path: str, *, key: str = "", **arguments: Any) -> dict[str, Any]:
        """The JSON of the answer. With `key` a write is done once, however often it is sent."""
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Idempotency-Key": key} if key else {})
        answer = self._until_settled(method, f"{self.url}{path}", headers, arguments)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        found: dict[str, Any] = answer.json()
        return found

    def put(self, target: Mapping[str, Any], data: bytes) -> None:
        """Sends a file to where an upload of the client's own goes."""
        answer = self._until_settled(target["method"], target["url"], target["headers"], {"data": data})
        # Refused because it is there: an earlier attempt arrived whose answer did not.
        assert answer.ok or answer.status_code == 412, f"{target['url']}: {answer.status_code} {answer.text}"

    def _until_settled(
        self, method: str, url: str, headers: Mapping[str, str], arguments: Mapping[str, Any]
    ) -> requests.Response:
        pause, last, end = _PAUSE, "", time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                answer = requests.request(method, url, headers=headers, timeout=_TIMEOUT, **arguments)
            except _BROKEN as error:
                last = type(error).__name__
            else:
                if not _asks_to_wait(answer):
                    return answer
                last = f"{answer.status_code} {answer.text}"
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)
        raise GaveUpError(f"{method} {url}: {last}")


def _asks_to_wait(answer: requests.Response) -> bool:
    return answer.status_code in _LATER or "Retry-After" in answer.headers
