"""What Firebase Authentication is to the product, on a loopback port: certificates, the lookup of users, and
tokens, signed as its production signs them or unsigned as its emulator leaves them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulators.serving import AsgiServer

KEY_ID = "key-1"
Claims = Mapping[str, Any]


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Identity:
    """`users` maps a uid to what the lookup tells of it: `disabled`, and `validSince` in seconds since 1970.
    `status` other than 200 is what every call is answered with."""

    def __init__(self) -> None:
        self.key = new_key()
        self.users: dict[str, dict[str, Any]] = {}
        self.lookups = 0
        self.certificate_fetches = 0
        self.status = 200
        self._certificate = _certificate(self.key)
        self._server = AsgiServer(
            Starlette(
                routes=[
                    Route("/certificates", self._certificates),
                    Route("/token", self._token, methods=["POST"]),
                    Route("/{path:path}/accounts:lookup", self._lookup, methods=["POST"]),
                ]
            )
        )

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def __enter__(self) -> Identity:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def reset(self) -> None:
        self.users.clear()
        self.lookups = self.certificate_fetches = 0
        self.status = 200

    def signed(
        self, claims: Claims, *, key: rsa.RSAPrivateKey | None = None, kid: str = KEY_ID, alg: str = "RS256"
    ) -> str:
        head = _signing_input({"alg": alg, "kid": kid, "typ": "JWT"}, claims)
        signature = (key or self.key).sign(head.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{head}.{_encoded(signature)}"

    def credentials(self, file: Path) -> Path:
        """A service account's key file, whose access tokens come from here."""
        pem = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        content = {
            "type": "service_account",
            "project_id": "demo",
            "private_key_id": KEY_ID,
            "private_key": pem.decode(),
            "client_email": "api@demo.iam.gserviceaccount.com",
            "token_uri": f"{self.url}/token",
        }
        file.write_text(json.dumps(content))
        return file

    async def _certificates(self, _: Request) -> Response:
        self.certificate_fetches += 1
        headers = {"Cache-Control": "public, max-age=3600"}
        return JSONResponse({KEY_ID: self._certificate}, status_code=self.status, headers=headers)

    async def _token(self, _: Request) -> Response:
        return JSONResponse({"access_token": "t", "expires_in": 3600, "token_type": "Bearer"})

    async def _lookup(self, request: Request) -> Response:
        self.lookups += 1
        if self.status != 200:
            error = {"code": self.status, "status": _STATUSES.get(self.status, ""), "message": "no"}
            return JSONResponse({"error": error}, status_code=self.status)
        assert "Authorization" in request.headers
        (uid,) = (await request.json())["localId"]
        user = self.users.get(uid)
        if user is None:
            return JSONResponse({})
        return JSONResponse({"users": [{"localId": uid, **user}]})


_STATUSES = {403: "PERMISSION_DENIED", 501: "UNIMPLEMENTED"}


def claims_of(project: str, uid: str, now: datetime, **more: Any) -> dict[str, Any]:
    """The claims of an ID token made a minute before `now`, for an hour."""
    issued = int(now.timestamp()) - 60
    return {
        "iss": f"https://securetoken.google.com/{project}",
        "aud": project,
        "auth_time": issued,
        "user_id": uid,
        "sub": uid,
        "iat": issued,
        "exp": issued + 3600,
        "firebase": {"identities": {}, "sign_in_provider": "password"},
        **more,
    }


def unsigned(claims: Claims) -> str:
    """As the Auth emulator makes them."""
    return f"{_signing_input({'alg': 'none', 'typ': 'JWT'}, claims)}."


def _signing_input(header: Claims, claims: Claims) -> str:
    return ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _certificate(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "securetoken")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()
