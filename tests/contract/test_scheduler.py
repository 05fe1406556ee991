"""Scheduled jobs: when they run, what they carry, and that only they may call."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from google.auth import crypt, jwt

from emulators.delivery.clock import MovableClock
from emulators.identity import TokenIssuer
from emulators.scheduler.server import Job, SchedulerEmulator
from shared.adapters.oidc import ServiceAccountTokens
from shared.domain.errors import PermissionDeniedError, TransientError, UnauthenticatedError
from tests.receiver import Receiver

EMAIL = "tasks@demo.iam.gserviceaccount.com"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "zone", "moment", "expected"),
    [
        ("*/5 * * * *", "UTC", "2026-12-01T10:03:20", "2026-12-01T10:05:00"),
        ("*/5 * * * *", "UTC", "2026-12-01T10:05:00", "2026-12-01T10:10:00"),
        ("0 6 * * 1-5", "UTC", "2026-12-04T07:00:00", "2026-12-07T06:00:00"),
        ("0 6 * * *", "Europe/Berlin", "2026-12-01T05:30:00", "2026-12-02T05:00:00"),
        ("30 2 1 * *", "UTC", "2026-12-01T02:30:00", "2027-01-01T02:30:00"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, zone: str, moment: str, expected: str) -> None:
    job = Job("j", schedule, "http://127.0.0.1/", time_zone=zone)
    assert job.next_after(at(moment)) == at(expected)


def test_a_job_posts_whenever_its_time_comes(
    receiver: Receiver, clock: MovableClock, tokens: TokenIssuer
) -> None:
    job = Job("tick", "0 * * * *", f"{receiver.url}/due", '{"a": 1}', EMAIL, receiver.url)
    scheduler = SchedulerEmulator([job], tokens=tokens, clock=clock)
    scheduler.start()
    for count in range(1, 4):
        due = scheduler.next_times()["tick"]
        clock.advance(due - clock.now() + 1)
        received = receiver.wait_for(lambda received, count=count: len(received) == count)
        assert scheduler.wait_until_idle()
        assert received[-1].path == "/due"
        assert received[-1].body == b'{"a": 1}'
        headers = received[-1].headers
        assert headers["x-cloudscheduler"] == "true"
        assert headers["x-cloudscheduler-jobname"] == "tick"
        assert at(headers["x-cloudscheduler-scheduletime"][:19]) == due
        ServiceAccountTokens(tokens.certs_url, email=EMAIL, audience=receiver.url).check(
            headers["authorization"]
        )
    scheduler.run("tick")
    receiver.wait_for(lambda received: len(received) == 4)
    assert scheduler.wait_until_idle()
    assert [ran.status for ran in scheduler.ran] == [200] * 4
    scheduler.stop()


def test_a_failed_job_is_tried_again_as_often_as_it_says(receiver: Receiver, clock: MovableClock) -> None:
    receiver.statuses = [500, 503, 500, 500]
    job = Job("tick", "0 * * * *", receiver.url, retries=2)
    scheduler = SchedulerEmulator([job], clock=clock, wait_scale=0.001)
    scheduler.start()
    scheduler.run("tick")
    receiver.wait_for(lambda received: len(received) == 3)
    assert scheduler.wait_until_idle()
    assert scheduler.next_times()["tick"] > clock.now()
    assert len(receiver.received) == 3
    scheduler.stop()


def test_a_restart_makes_up_for_one_missed_run(tmp_path: Path, receiver: Receiver) -> None:
    jobs = [Job("kept", "0 * * * *", receiver.url), Job("dropped", "0 * * * *", receiver.url)]
    first = SchedulerEmulator(jobs, data_dir=tmp_path)
    first.start()
    first.stop()
    clock = MovableClock()
    clock.advance(5 * 3600)
    second = SchedulerEmulator(jobs[:1], data_dir=tmp_path, clock=clock)
    second.start()
    receiver.wait_for(lambda received: len(received) == 1)
    assert second.wait_until_idle()
    assert len(receiver.received) == 1
    assert set(second.next_times()) == {"kept"}
    second.stop()


# --- who may call ----------------------------------------------------------------------------------


def test_only_the_named_account_may_call_and_only_us(tokens: TokenIssuer) -> None:
    check = ServiceAccountTokens(tokens.certs_url, email=EMAIL, audience="https://tasks.example.org/").check
    check(f"Bearer {tokens.token(EMAIL, 'https://tasks.example.org')}")
    for header in (
        None,
        "",
        "Bearer",
        "Bearer x.y.z",
        f"Basic {tokens.token(EMAIL, 'https://tasks.example.org')}",
    ):
        with pytest.raises(UnauthenticatedError):
            check(header)
    with pytest.raises(UnauthenticatedError):
        check(f"Bearer {tokens.token(EMAIL, 'https://other.example.org')}")
    with pytest.raises(PermissionDeniedError):
        check(f"Bearer {tokens.token('eve@demo.iam.gserviceaccount.com', 'https://tasks.example.org')}")
    forger = TokenIssuer()
    with pytest.raises(UnauthenticatedError):
        check(f"Bearer {forger.token(EMAIL, 'https://tasks.example.org')}")


@pytest.mark.parametrize(
    "change",
    [
        {"exp": int(time.time()) - 60},
        {"iat": int(time.time()) + 3600, "exp": int(time.time()) + 7200},
        {"iss": "https://evil.example.org"},
        {"email_verified": False},
        {"email": None},
        {"aud": None},
    ],
)
def test_tokens_that_claim_too_much_are_refused(change: dict[str, object], tokens: TokenIssuer) -> None:
    signer: crypt.RSASigner = tokens._signer
    now = int(time.time())
    claims = {"iss": "https://accounts.google.com", "email": EMAIL, "email_verified": True}
    claims |= {"aud": "https://t.example.org", "iat": now, "exp": now + 60}
    check = ServiceAccountTokens(tokens.certs_url, email=EMAIL, audience="https://t.example.org").check
    check(f"Bearer {jwt.encode(signer, claims).decode()}")
    with pytest.raises((UnauthenticatedError, PermissionDeniedError)):
        check(f"Bearer {jwt.encode(signer, claims | change).decode()}")


def test_keys_that_cannot_be_read_are_a_passing_failure() -> None:
    issuer = TokenIssuer()
    issuer.start()
    issuer.stop()
    with pytest.raises(TransientError):
        ServiceAccountTokens(issuer.certs_url, email=EMAIL, audience="https://t.example.org").check(
            "Bearer a.b.c"
        )
