"""Who calls a private function: OIDC tokens of a service account, checked where the platform does not.

On Cloud Run a private function is called only by who may invoke it, and the platform checks that before the
call arrives (and takes the token's signature away). Where nothing stands in front, the function checks for
itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from shared.domain.errors import PermissionDeniedError, TransientError, UnauthenticatedError

_ISSUERS = frozenset({"https://accounts.google.com", "accounts.google.com"})
_KEPT_SECONDS = 3600.0
_SKEW_SECONDS = 10
_HINT = "Only the queue's and the scheduler's service account may call this."


class ServiceAccountTokens:
    """`certs_url` is where the signers' public keys are (PEM by key id)."""

    def __init__(self, certs_url: str, *, email: str, audience: str) -> None:
        self._certs_url = certs_url
        self._email = email
        self._audience = audience.rstrip("/")
        self._lock = threading.Lock()
        self._certs: Mapping[str, str] = {}
        self._read_at = 0.0

    def check(self, authorization: str | None) -> None:
        """Raises `UnauthenticatedError` without a valid token for us, and `PermissionDeniedError` for one of
        another account."""
        from google.auth import exceptions, jwt

        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise UnauthenticatedError("The call carries no token.", hint=_HINT)
        try:
            claims = jwt.decode(  # type: ignore[no-untyped-call]  # google-auth has no types
                token, self._keys(), audience=self._audience, clock_skew_in_seconds=_SKEW_SECONDS
            )
        except (ValueError, exceptions.GoogleAuthError) as error:
            raise UnauthenticatedError("The call's token is not valid.", hint=_HINT) from error
        if claims.get("iss") not in _ISSUERS or claims.get("email_verified") is not True:
            raise UnauthenticatedError("The call's token is not one of a service account.", hint=_HINT)
        if claims.get("email") != self._email:
            raise PermissionDeniedError("The call's token is another account's.", hint=_HINT)

    def _keys(self) -> Mapping[str, str]:
        with self._lock:
            if not self._certs or time.monotonic() - self._read_at > _KEPT_SECONDS:
                self._certs = self._fetched()
                self._read_at = time.monotonic()
            return self._certs

    def _fetched(self) -> Mapping[str, str]:
        import requests

        try:
            answer = requests.get(self._certs_url, timeout=10)
            answer.raise_for_status()
            keys: Mapping[str, str] = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise TransientError(f"The keys of tokens could not be read: {type(error).__name__}") from error
        return keys
