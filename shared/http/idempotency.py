"""A write with an `Idempotency-Key` happens once; repeats get the first answer.

Insert first, then look who was there: two repeats at the same moment cannot both run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from flask import Response

from shared.domain.accounts import Caller
from shared.domain.errors import ConflictError, InvalidRequestError
from shared.domain.ids import content_id, new_id
from shared.ports import AccountStore, Clock, Kind, Transaction

HEADER = "Idempotency-Key"
_KEPT_FOR = timedelta(hours=24)
_LONGEST_KEPT = 500_000  # bytes; a record holds 1 MiB


@dataclass(frozen=True, slots=True)
class Answered:
    """A key in use. `status` None means that its call still runs, until `running_until`. `body` None with a
    status means that the answer was not kept; `location` then says where what it made can be read.
    `expire_at` is also the database's time to live.

    The ids of what the call makes derive from `origin`. A repeat that goes on where a call died makes the
    same, so that nothing is made twice, and nothing stays half made."""

    id: str
    fingerprint: str
    running_until: datetime
    expire_at: datetime
    status: int | None = None
    content_type: str = ""
    body: str | None = None
    location: str = ""
    origin: str = ""


ANSWERED = Kind("idempotency_keys", Answered)


class StillRunningError(ConflictError):
    default_hint = "Repeat it in a few seconds."
    retry_after = 1.0


def record_id(caller: Caller, route: str, key: str) -> str:
    """Keys of different callers and routes do not meet. Raises `InvalidRequestError` for an unfit key."""
    if not 1 <= len(key) <= 255 or not key.isprintable():
        raise InvalidRequestError(
            "The idempotency key is not usable.", fields=((HEADER, "1 to 255 printable characters"),)
        )
    return content_id("idem", caller.principal, route, key)


def fingerprint(*parts: bytes) -> str:
    """What makes a repeat a repeat: path, query, body and file."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def once(
    store: AccountStore,
    clock: Clock,
    key_id: str,
    request_fingerprint: str,
    run: Callable[[str], Response],
    *,
    running_for: timedelta,
    keep: bool = True,
    again: Callable[[str], Response] | None = None,
) -> Response:
    """Runs the call unless its key did before, and keeps the answer for a day. `run` gets the origin of the
    ids of what it makes. An exception frees the key, and so do `running_for` without an answer: a repeat then
    runs with the same origin. An answer that is not kept is told by `again`, from the place that its
    `Content-Location` named.

    Raises `ConflictError` when the key came with another request, when the first answer was not kept and
    there is no `again`, and as `StillRunningError` while the first call still runs.
    """
    now = clock.now()
    new = Answered(key_id, request_fingerprint, now + running_for, now + _KEPT_FOR, origin=new_id("org"))
    found = store.transact(lambda tx: _claim(tx, new, now))
    if isinstance(found, Earlier):
        return _repeat(found.answered, request_fingerprint, again)
    try:
        response = run(found.origin)
    except BaseException:
        store.put_many(ANSWERED, [replace(found, running_until=now)])
        raise
    store.put_many(ANSWERED, [_answer(found, response, keep=keep)])
    return response


@dataclass(frozen=True, slots=True)
class Earlier:
    """A call with the same key that is in the way."""

    answered: Answered


def _claim(tx: Transaction, new: Answered, now: datetime) -> Answered | Earlier:
    """The key as ours now, or who was there before."""
    earlier = tx.get(ANSWERED, new.id)
    if earlier is not None and not _free(earlier, now):
        return Earlier(earlier)
    if earlier is not None and earlier.expire_at > now and earlier.fingerprint == new.fingerprint:
        new = replace(new, origin=earlier.origin)
    tx.put(ANSWERED, new)
    return new


def _free(earlier: Answered, now: datetime) -> bool:
    return earlier.expire_at <= now or (earlier.status is None and earlier.running_until <= now)


def _answer(mine: Answered, response: Response, *, keep: bool) -> Answered:
    done = replace(
        mine,
        status=response.status_code,
        content_type=response.content_type or "",
        location=response.headers.get("Content-Location", ""),
    )
    if not keep or response.is_streamed:
        return done
    data = response.get_data()
    return replace(done, body=data.decode()) if len(data) <= _LONGEST_KEPT else done


def _repeat(earlier: Answered, request_fingerprint: str, again: Callable[[str], Response] | None) -> Response:
    if earlier.fingerprint != request_fingerprint:
        raise ConflictError(
            "This idempotency key was used with another request.", hint="Use a new key for a new request."
        )
    if earlier.status is None:
        raise StillRunningError("The first request with this idempotency key still runs.")
    if earlier.body is not None:
        response = Response(earlier.body, status=earlier.status, content_type=earlier.content_type)
    elif again is not None:
        response = again(earlier.location)
    else:
        raise ConflictError(
            "This request was done before, and its answer is not kept.",
            hint="Look at what it made; for one more, use a new key.",
        )
    response.headers["Idempotency-Replayed"] = "true"
    return response
