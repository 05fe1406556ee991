"""Listen: a stream per client, told of every commit that changes what its targets match.

Protocol: google/firestore/v1/firestore.proto, `TargetChange`. A target is answered with ADD, its documents,
CURRENT; each consistent snapshot of the stream ends with NO_CHANGE without target ids, a read time and a
resume token (the read time's microseconds). After a commit a target is asked again and the difference is
sent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc

from emulators.firestore.commits import status_of
from emulators.firestore.database import HISTORY, Database
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import RpcError, invalid
from emulators.firestore.execute import last_change, matching
from emulators.firestore.index_check import IndexCheck
from emulators.firestore.names import parse_database, parse_document
from emulators.firestore.protos import (
    DocumentChange,
    DocumentDelete,
    DocumentRemove,
    ListenResponse,
    TargetChange,
)
from emulators.firestore.query import Query
from emulators.firestore.query_parse import parse_query
from emulators.firestore.store import Store
from emulators.firestore.times import exact, to_timestamp
from emulators.firestore.wire import embed

_TOKEN_BYTES = 8
_DOCUMENT, _DOCUMENT_CHANGE = 1, 3

Known = dict[str, StoredDocument]


@dataclass(slots=True)
class Target:
    """What a client listens to: a query, or documents by path. `known` is what it was last told."""

    id: int
    query: Query | None
    paths: tuple[str, ...]
    once: bool = False
    known: Known = field(default_factory=dict)
    time: int = 0

    def matches(self, database: Database, time: int | None) -> Known:
        if self.query is not None:
            return {document.path: document for document in matching(database, self.query, time)}
        found = ((path, database.get(path, time)) for path in self.paths)
        return {path: document for path, document in found if document is not None}

    def is_stale(self, database: Database) -> bool:
        if self.query is not None:
            return last_change(database, self.query) > self.time
        return database.last_commit > self.time

    def render(self, document: StoredDocument) -> bytes:
        if self.query is None or self.query.select is None:
            return document.wire
        return document.masked(self.query.select)


class Listener:
    def __init__(self, store: Store, indexes: IndexCheck) -> None:
        self._store = store
        self._indexes = indexes

    def listen(self, requests: Iterator[Any], context: Any) -> Iterator[bytes]:
        """Serves one stream until the client ends it."""
        first = next(requests, None)
        if first is None:
            return
        site = self._store.site(parse_database(first.database))
        stream = _Stream(site.database, self._indexes)
        stream.take(first)
        context.add_callback(stream.close)
        reader = threading.Thread(target=stream.read, args=(requests,), name="firestore-listen", daemon=True)
        reader.start()
        while True:
            responses = stream.wait()
            if responses is None:
                return
            yield from responses


class _Stream:
    """The targets of one stream. The database's condition wakes it, as it does all that wait for commits."""

    def __init__(self, database: Database, indexes: IndexCheck) -> None:
        self._database = database
        self._indexes = indexes
        self._requests: deque[Any] = deque()
        self._targets: dict[int, Target] = {}
        self._closed = False

    def take(self, request: Any) -> None:
        with self._database.changed:
            self._requests.append(request)
            self._database.changed.notify_all()

    def close(self) -> None:
        with self._database.changed:
            self._closed = True
            self._database.changed.notify_all()

    def read(self, requests: Iterator[Any]) -> None:
        try:
            for request in requests:
                self.take(request)
        except grpc.RpcError:
            pass  # the client went away, which ends the stream as its own end does
        finally:
            self.close()

    def wait(self) -> list[bytes] | None:
        """What to send next; None when the stream is over."""
        with self._database.changed:
            self._database.changed.wait_for(self._is_due)
            if self._closed:
                return None
            time = self._database.clock.read()
            responses: list[bytes] = []
            while self._requests:
                responses += self._serve(self._requests.popleft(), time)
            for target in self._targets.values():
                if target.is_stale(self._database):
                    responses += self._differences(target, target.matches(self._database, None), time)
            if self._targets:
                responses.append(_target_change(TargetChange.NO_CHANGE, (), time))
            return responses

    def _is_due(self) -> bool:
        stale = any(target.is_stale(self._database) for target in self._targets.values())
        return self._closed or bool(self._requests) or stale

    def _serve(self, request: Any, time: int) -> list[bytes]:
        if request.WhichOneof("target_change") == "remove_target":
            self._targets.pop(request.remove_target, None)
            return [_target_change(TargetChange.REMOVE, (request.remove_target,))]
        message = request.add_target
        try:
            target = self._parse(message)
        except RpcError as error:
            return [_target_change(TargetChange.REMOVE, (message.target_id,), cause=error)]
        responses = [_target_change(TargetChange.ADD, (target.id,))]
        since = self._resumed(message)
        if since is not None:
            target.known = target.matches(self._database, since)
        elif message.WhichOneof("resume_type") is not None:
            responses.append(_target_change(TargetChange.RESET, (target.id,)))
        now = target.matches(self._database, None)
        missing = [path for path in target.paths if path not in now and path not in target.known]
        responses += [self._gone(target, path, time) for path in missing]
        responses += self._differences(target, now, time)
        responses.append(_target_change(TargetChange.CURRENT, (target.id,), time))
        if target.once:
            responses.append(_target_change(TargetChange.REMOVE, (target.id,)))
        else:
            self._targets[target.id] = target
        return responses

    def _parse(self, message: Any) -> Target:
        identity = message.target_id or max(self._targets, default=0) + 1
        if identity in self._targets:
            raise invalid(f"Target {identity} is already listened to.")
        if message.WhichOneof("target_type") == "query":
            name, query = parse_query(message.query.parent, message.query.structured_query)
            if name != self._database.name:
                raise invalid(
                    f"A stream listens to one database, {self._database.name}; the query asks {name}."
                )
            if query.nearest is not None:
                raise invalid("A nearest-neighbour query cannot be listened to.")
            self._indexes.check(query)
            return Target(identity, query, (), message.once)
        parsed = [parse_document(name) for name in message.documents.documents]
        if not parsed or any(name != self._database.name for name, _ in parsed):
            raise invalid(f"A target needs documents of {self._database.name}.")
        return Target(identity, None, tuple(dict.fromkeys(path for _, path in parsed)), message.once)

    def _resumed(self, message: Any) -> int | None:
        """The time that the client already knows; None when it must start anew."""
        kind = message.WhichOneof("resume_type")
        if kind == "resume_token" and len(message.resume_token) == _TOKEN_BYTES:
            time = int.from_bytes(message.resume_token, "big")
        elif kind == "read_time":
            time = exact(message.read_time, "read_time")
        else:
            return None
        oldest = max(self._database.horizon, self._database.clock.wall() - HISTORY)
        return time if oldest <= time <= self._database.clock.read() else None

    def _differences(self, target: Target, now: Known, time: int) -> list[bytes]:
        """What leads from what the client was told to the present; the target then knows it."""
        gone = [self._gone(target, path, time) for path in target.known if path not in now]
        changed = [
            _document_change(target, document)
            for path, document in now.items()
            if target.known.get(path) is not document
        ]
        target.known = now
        target.time = time
        return gone + changed

    def _gone(self, target: Target, path: str, time: int) -> bytes:
        name = self._database.name.document(path)
        stamp = to_timestamp(time)
        if self._database.get(path) is None:
            gone = DocumentDelete(document=name, removed_target_ids=[target.id], read_time=stamp)
            return bytes(ListenResponse(document_delete=gone).SerializeToString())
        removed = DocumentRemove(document=name, removed_target_ids=[target.id], read_time=stamp)
        return bytes(ListenResponse(document_remove=removed).SerializeToString())


def _document_change(target: Target, document: StoredDocument) -> bytes:
    ids = DocumentChange(target_ids=[target.id]).SerializeToString()
    return embed(_DOCUMENT_CHANGE, embed(_DOCUMENT, target.render(document)) + ids)


def _target_change(
    kind: int, ids: tuple[int, ...], time: int | None = None, *, cause: RpcError | None = None
) -> bytes:
    change = TargetChange(target_change_type=kind, target_ids=ids)
    if time is not None:
        change.read_time.CopyFrom(to_timestamp(time))
        change.resume_token = time.to_bytes(_TOKEN_BYTES, "big")
    if cause is not None:
        change.cause.code, change.cause.message = status_of(cause)
    return bytes(ListenResponse(target_change=change).SerializeToString())
