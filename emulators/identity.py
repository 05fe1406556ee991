"""OIDC tokens of service accounts, as Google signs them for Cloud Tasks and Cloud Scheduler, and the keys
that prove them."""

from __future__ import annotations

import threading
import time
from functools import cached_property

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from emulators.serving import AsgiServer

ISSUER = "https://accounts.google.com"
_LIFETIME = 3600
_KEY_ID = "embedded"


class TokenIssuer:
    """Its key is made on first use and thrown away at the end: a token is made for each call anew.

    Tokens carry the real time, whatever the emulators' clock says: who checks them has no other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server = AsgiServer(Starlette(routes=[Route("/certs", self._certs)]))

    @property
    def certs_url(self) -> str:
        """Where the public keys are: a JSON object of PEM texts by key id, like Google's v1 address."""
        return f"{self._server.url}/certs"

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def token(self, email: str, audience: str) -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": email,
            "azp": email,
            "email": email,
            "email_verified": True,
            "aud": audience,
            "iat": now,
            "exp": now + _LIFETIME,
        }
        with self._lock:
            signer = self._signer
        encoded: bytes = jwt.encode(signer, claims)
        return encoded.decode()

    @cached_property
    def _key(self) -> rsa.RSAPrivateKey:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @cached_property
    def _signer(self) -> crypt.RSASigner:
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return crypt.RSASigner.from_string(pem, _KEY_ID)

    async def _certs(self, _: Request) -> JSONResponse:
        with self._lock:
            public = self._key.public_key()
        pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return JSONResponse({_KEY_ID: pem.decode()})
