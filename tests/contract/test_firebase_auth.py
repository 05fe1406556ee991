"""ID tokens through the real SDK: signed ones against certificates and users served on a loopback port, and
those that the Auth emulator makes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapters.firebase_auth import FirebaseIdTokens
from shared.domain.accounts import Person
from shared.domain.errors import AlmanacError, MisconfiguredError, TransientError, UnauthenticatedError
from tests.flows.workbench import HandClock
from tests.identity import Identity, claims_of, new_key, unsigned

PROJECT = "almanac-prod"


@pytest.fixture(scope="module")
def identity() -> Iterator[Identity]:
    with Identity() as running:
        yield running


@pytest.fixture
def clock() -> HandClock:
    """The time, as the SDK sees it too."""
    return HandClock(datetime.now(UTC))


@pytest.fixture
def production(
    identity: Identity, clock: HandClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> FirebaseIdTokens:
    """The SDK as it runs in production, but for the two addresses that it fetches from."""
    from firebase_admin import _token_gen, _user_mgt

    identity.reset()
    identity.users["ada"] = {"validSince": "0"}
    monkeypatch.delenv("FIREBASE_AUTH_EMULATOR_HOST", raising=False)
    credentials = identity.credentials(tmp_path / "account.json")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
    monkeypatch.setattr(_token_gen, "ID_TOKEN_CERT_URI", f"{identity.url}/certificates")
    monkeypatch.setattr(_user_mgt.UserManager, "ID_TOOLKIT_URL", f"{identity.url}/v1")
    return FirebaseIdTokens(PROJECT, clock)


@pytest.fixture
def emulated(identity: Identity, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> FirebaseIdTokens:
    identity.reset()
    identity.users["ada"] = {"validSince": "0"}
    monkeypatch.setenv("FIREBASE_AUTH_EMULATOR_HOST", identity.host)
    return FirebaseIdTokens(PROJECT, clock)


def claims(clock: HandClock, uid: str = "ada", **more: Any) -> dict[str, Any]:
    return claims_of(PROJECT, uid, clock.time, **more)


def refusal(tokens: FirebaseIdTokens, token: str) -> UnauthenticatedError:
    with pytest.raises(UnauthenticatedError) as caught:
        tokens.verify(token)
    assert token not in caught.value.message
    return caught.value


def test_a_signed_token_tells_who_it_is(
    production: FirebaseIdTokens, identity: Identity, clock: HandClock
) -> None:
    bare = identity.signed(claims(clock))
    assert production.verify(bare) == Person("ada")
    more = claims(clock, email="Ada@Example.com", email_verified=True, account_id="acme", role="admin")
    assert production.verify(identity.signed(more)) == Person("ada", "ada@example.com", "acme")
    assert identity.certificate_fetches == 1  # kept for as long as they say


@pytest.mark.parametrize("more", [{"email_verified": False}, {}, {"email_verified": "true"}])
def test_an_address_counts_only_when_it_is_verified(
    production: FirebaseIdTokens, identity: Identity, clock: HandClock, more: dict[str, Any]
) -> None:
    token = identity.signed(claims(clock, email="ada@example.com", **more))
    assert production.verify(token).email is None


def test_what_is_forged_or_meant_for_others_is_refused(
    production: FirebaseIdTokens, identity: Identity, clock: HandClock
) -> None:
    good = claims(clock)
    issued = good["iat"]
    head, body, signature = identity.signed(good).split(".")
    other_body = identity.signed(claims(clock, sub="eve", user_id="eve")).split(".")[1]
    forged = {
        "signed by another key": identity.signed(good, key=new_key()),
        "naming an unknown key": identity.signed(good, kid="key-2"),
        "naming no key": identity.signed(good, kid=""),
        "not signed": unsigned(good),
        "signature cut off": f"{head}.{body}.",
        "signature of other claims": f"{head}.{other_body}.{signature}",
        "another algorithm in the header": identity.signed(good, alg="HS256"),
        "no algorithm in the header": identity.signed(good, alg="none"),
        "another audience": identity.signed(good | {"aud": "other-project"}),
        "another issuer": identity.signed(good | {"iss": "https://securetoken.google.com/other-project"}),
        "an issuer of another kind": identity.signed(good | {"iss": "https://accounts.google.com"}),
        "issued in the future": identity.signed(good | {"iat": issued + 3600, "exp": issued + 7200}),
        "no subject": identity.signed(good | {"sub": ""}),
        "a subject that is no text": identity.signed(good | {"sub": 7}),
        "no issue time": identity.signed({name: good[name] for name in good if name != "iat"}),
        "no end": identity.signed({name: good[name] for name in good if name != "exp"}),
    }
    for what, token in forged.items():
        assert "neither an API key nor a valid ID token" in refusal(production, token).message, what
    assert identity.lookups == 0
    assert production.verify(identity.signed(good)).uid == "ada"


def test_a_token_ends(production: FirebaseIdTokens, identity: Identity, clock: HandClock) -> None:
    over = claims(clock) | {"exp": int(clock.time.timestamp()) - 30}
    expired = refusal(production, identity.signed(over))
    assert "expired" in expired.message
    assert "Sign in again" in expired.hint


def test_a_user_of_a_tenant_is_another_user(
    production: FirebaseIdTokens, identity: Identity, clock: HandClock
) -> None:
    token = identity.signed(claims(clock, firebase={"tenant": "t1", "sign_in_provider": "password"}))
    assert "tenant" in refusal(production, token).message


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"disabled": True, "validSince": "0"}, "disabled"),
        ({"validSince": "99999999999"}, "revoked"),
        (None, "no longer exists"),
    ],
)
def test_a_sign_in_that_was_taken_back_ends_within_a_minute(
    production: FirebaseIdTokens,
    identity: Identity,
    clock: HandClock,
    user: dict[str, Any] | None,
    told: str,
) -> None:
    token = identity.signed(claims(clock))
    for _ in range(3):
        production.verify(token)
    assert identity.lookups == 1
    identity.users = {} if user is None else {"ada": user}
    clock.pass_seconds(61)
    assert told in refusal(production, token).message
    # And a token that was never seen is asked about at once.
    assert told in refusal(production, identity.signed(claims(clock, name="Ada"))).message


def test_an_outage_is_no_refusal(production: FirebaseIdTokens, identity: Identity, clock: HandClock) -> None:
    token = identity.signed(claims(clock))
    identity.status = 501
    with pytest.raises(TransientError):
        production.verify(token)  # no certificates
    identity.status = 200
    production.verify(token)
    clock.pass_seconds(61)
    identity.status = 501
    with pytest.raises(TransientError):
        production.verify(token)  # no user
    identity.status = 403
    with pytest.raises(MisconfiguredError) as caught:
        production.verify(token)
    assert "roles/firebaseauth.viewer" in caught.value.hint


def test_without_credentials_it_says_so(
    production: FirebaseIdTokens, identity: Identity, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/nonexistent")
    with pytest.raises(MisconfiguredError):
        production.verify(identity.signed(claims(clock)))


def test_the_emulators_tokens_hold_where_it_is_meant(
    emulated: FirebaseIdTokens, identity: Identity, clock: HandClock
) -> None:
    token = unsigned(claims(clock, email="ada@example.com", email_verified=True, account_id="acme"))
    assert emulated.verify(token) == Person("ada", "ada@example.com", "acme")
    refusal(emulated, unsigned(claims(clock) | {"aud": "other-project"}))
    refusal(emulated, unsigned({name: value for name, value in claims(clock).items() if name != "iat"}))
    clock.pass_seconds(3700)
    assert "expired" in refusal(emulated, token).message
    identity.users["ada"]["disabled"] = True
    assert "disabled" in refusal(emulated, unsigned(claims(clock))).message


@pytest.mark.parametrize(
    "token", ["", "x", "a.b", "a.b.c", "é.é.é", "e30.e30.e30", "W10.e30.", "....", "e30.W10.x"]
)
def test_what_is_no_token_is_refused(emulated: FirebaseIdTokens, token: str) -> None:
    with pytest.raises(UnauthenticatedError):
        emulated.verify(token)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
_header = st.dictionaries(st.sampled_from(["alg", "kid", "typ", "x"]), _values | st.just("RS256"), max_size=4)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=_header, changed=st.dictionaries(st.sampled_from(["iss", "aud", "sub", "iat", "exp"]), _values))
def test_no_token_breaks_it(
    production: FirebaseIdTokens, clock: HandClock, header: dict[str, Any], changed: dict[str, Any]
) -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    token = f"{part(header)}.{part(claims(clock) | changed)}.{part('signature')}"
    with pytest.raises(AlmanacError) as caught:
        production.verify(token)
    assert caught.value.status == 401
