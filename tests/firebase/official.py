"""The official Auth emulator, as an app's client library and its owner's console use it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import firebase_admin
import requests
from firebase_admin import auth

PASSWORD = "correct horse"


@dataclass(frozen=True)
class User:
    """A signed-in user, as the client library knows it."""

    uid: str
    email: str
    id_token: str
    refresh_token: str


class Official:
    """`host` is what FIREBASE_AUTH_EMULATOR_HOST says; `admin` the Admin SDK on the same emulator."""

    def __init__(self, host: str, project: str) -> None:
        self._host = host
        self._project = project
        app = firebase_admin.initialize_app(options={"projectId": project}, name=uuid.uuid4().hex)
        self.admin = auth.Client(app)

    def sign_up(self, **more: Any) -> User:
        """A new user with an address and a password; the address is not verified."""
        email = f"{uuid.uuid4().hex[:12]}@example.com"
        body = {"email": email, "password": PASSWORD, "returnSecureToken": True, **more}
        return self._user(self._toolkit("accounts:signUp", body), email)

    def sign_up_unnamed(self) -> User:
        return self._user(self._toolkit("accounts:signUp", {"returnSecureToken": True}), "")

    def sign_in(self, user: User) -> User:
        body = {"email": user.email, "password": PASSWORD, "returnSecureToken": True}
        return self._user(self._toolkit("accounts:signInWithPassword", body), user.email)

    def verify_email(self, user: User) -> User:
        """Asks for the mail, follows its code, and gets a token that says so."""
        asked = {"requestType": "VERIFY_EMAIL", "idToken": user.id_token}
        self._toolkit("accounts:sendOobCode", asked)
        sent = self._json("GET", f"emulator/v1/projects/{self._project}/oobCodes")["oobCodes"]
        code = [one["oobCode"] for one in sent if one["email"] == user.email][-1]
        self._toolkit("accounts:update", {"oobCode": code})
        return self.refresh(user)

    def refresh(self, user: User) -> User:
        body = {"grant_type": "refresh_token", "refresh_token": user.refresh_token}
        got = self._json("POST", "securetoken.googleapis.com/v1/token?key=web", json=body)
        return User(user.uid, user.email, got["id_token"], got["refresh_token"])

    def claim(self, user: User, claims: Mapping[str, Any]) -> User:
        """Custom claims, as an owner's server sets them; they are in the next token."""
        self.admin.set_custom_user_claims(user.uid, dict(claims))
        return self.refresh(user)

    def new_tenant(self) -> str:
        url = f"identitytoolkit.googleapis.com/v2/projects/{self._project}/tenants"
        body = {"displayName": "other-tenant", "allowPasswordSignup": True}
        made = self._json("POST", url, json=body, headers={"Authorization": "Bearer owner"})
        return str(made["name"].rsplit("/", 1)[1])

    def _toolkit(self, call: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._json("POST", f"identitytoolkit.googleapis.com/v1/{call}?key=web", json=body)

    def _json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        answer = requests.request(method, f"http://{self._host}/{path}", timeout=30, **arguments)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    @staticmethod
    def _user(got: Mapping[str, Any], email: str) -> User:
        return User(got["localId"], email, got["idToken"], got["refreshToken"])
