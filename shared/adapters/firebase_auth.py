"""ID tokens of Firebase Authentication.

`FIREBASE_AUTH_EMULATOR_HOST` makes the SDK take the emulator's tokens, which nobody signs; a deployed
function does not start with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shared.domain.accounts import Person
from shared.domain.errors import MisconfiguredError, TransientError, UnauthenticatedError
from shared.domain.ids import new_id
from shared.ports import Clock
from shared.tenancy.recent import Recent

if TYPE_CHECKING:
    from firebase_admin import auth

# Asking whether a sign-in was revoked, or its user disabled or deleted, is a call over the network. Within
# this time a token is not asked about again; its signature and times are checked with every call.
_ASKED_FOR = timedelta(seconds=60)
_TIMEOUT_SECONDS = 5
# The clocks of who issues and who checks differ a little.
_SKEW_SECONDS = 10
_SIGN_IN_AGAIN = "Sign in again, and send the new ID token."


class FirebaseIdTokens:
    """`ports.IdTokens` for the users of one project."""

    def __init__(self, project: str, clock: Clock) -> None:
        self._project = project
        self._clock = clock
        self._asked: Recent[str, bool] = Recent(clock, _ASKED_FOR)

    def verify(self, token: str) -> Person:
        if not _looks_like_one(token):
            raise _neither()
        claims = self._verified(token, check_revoked=False)
        self._require_current(claims)
        digest = hashlib.sha256(token.encode()).hexdigest()
        self._asked.get(digest, lambda: bool(self._verified(token, check_revoked=True)))
        return _person(claims)

    @cached_property
    def _client(self) -> auth.Client:
        import firebase_admin
        from firebase_admin import auth
        from google.auth.exceptions import DefaultCredentialsError

        options = {"projectId": self._project, "httpTimeout": _TIMEOUT_SECONDS}
        app = firebase_admin.initialize_app(options=options, name=new_id("almanac"))
        try:
            return auth.Client(app)
        except DefaultCredentialsError as error:
            raise _may_not_read(error) from error

    def _verified(self, token: str, *, check_revoked: bool) -> Mapping[str, Any]:
        client = self._client
        with _translated():
            claims: Mapping[str, Any] = client.verify_id_token(token, check_revoked, _SKEW_SECONDS)
        return claims

    def _require_current(self, claims: Mapping[str, Any]) -> None:
        """What the SDK leaves out: the emulator's tokens are taken after their time, and those of users in a
        tenant of Identity Platform, whose uids are another name space, as if they were the project's own."""
        issued, expires = claims.get("iat"), claims.get("exp")
        if not isinstance(issued, int) or not isinstance(expires, int):
            raise _neither()
        if self._clock.now().timestamp() > expires + _SKEW_SECONDS:
            raise _expired()
        details = claims.get("firebase")
        if isinstance(details, Mapping) and details.get("tenant") is not None:
            raise UnauthenticatedError(
                "The ID token is of a user in a tenant of the project.",
                hint="Sign in as a user of the project itself.",
            )


def _person(claims: Mapping[str, Any]) -> Person:
    email, hint = claims.get("email"), claims.get("account_id")
    proven = isinstance(email, str) and claims.get("email_verified") is True
    return Person(
        uid=claims["uid"],
        email=str(email).lower() if proven else None,
        account_hint=hint if isinstance(hint, str) else None,
    )


def _looks_like_one(token: str) -> bool:
    """Three parts, of which the first two are JSON objects. All else needs neither the SDK nor its client."""
    parts = token.split(".")
    return len(parts) == 3 and token.isascii() and all(map(_is_json_object, parts[:2]))


def _is_json_object(part: str) -> bool:
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))), dict)
    except (ValueError, RecursionError):
        return False


@contextmanager
def _translated() -> Iterator[None]:
    """Turns what the SDK says into our errors. Its words stay out: they may quote the token."""
    from firebase_admin import auth, exceptions
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except auth.ExpiredIdTokenError as error:
        raise _expired() from error
    except (auth.RevokedIdTokenError, auth.UserDisabledError, auth.UserNotFoundError) as error:
        raise UnauthenticatedError(_ENDED[type(error).__name__], hint=_SIGN_IN_AGAIN) from error
    except (auth.InvalidIdTokenError, ValueError) as error:
        raise _neither() from error
    except exceptions.PermissionDeniedError as error:
        raise _may_not_read(error) from error
    except (exceptions.FirebaseError, GoogleAuthError) as error:
        raise TransientError(f"Firebase Authentication did not answer: {type(error).__name__}.") from error


_ENDED: Mapping[str, str] = {
    "RevokedIdTokenError": "The sign-in behind the ID token was revoked.",
    "UserDisabledError": "The user of the ID token is disabled.",
    "UserNotFoundError": "The user of the ID token no longer exists.",
}


def _expired() -> UnauthenticatedError:
    return UnauthenticatedError("The ID token has expired.", hint=_SIGN_IN_AGAIN)


def _neither() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The bearer token is neither an API key nor a valid ID token of this service."
    )


def _may_not_read(error: Exception) -> MisconfiguredError:
    return MisconfiguredError(
        f"The users of Firebase Authentication may not be read: {type(error).__name__}.",
        hint="Give the function's service account the role roles/firebaseauth.viewer.",
    )
