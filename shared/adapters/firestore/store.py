"""The records of an account in Firestore. Nothing above this module sees a type of the SDK."""

from __future__ import annotations

import base64
import json
import random
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from shared.adapters.firestore.codec import decode, encode, estimate_size
from shared.domain.errors import ConflictError, InvalidRequestError, TransientError
from shared.domain.ids import is_id
from shared.ports import Kind, Page, Query, Transaction

if TYPE_CHECKING:
    from google.cloud import firestore

T = TypeVar("T")
R = TypeVar("R")

# A commit may hold 10 MiB; what the estimate leaves out must fit in the rest.
_COMMIT_BYTES = 8 * 1024 * 1024
_COMMIT_WRITES = 400
_READ_BATCH = 300
# Each round is five attempts of the SDK; then we wait, longer each time, and start over.
_ROUNDS = 8
# firebase.google.com/docs/firestore/quotas: limits of document ids.
_NO_NAME = re.compile(r"|\.\.?|__.*__|.*/.*", re.DOTALL)
# The SDK's deletes in bulk do not tell which of them failed: it is looked again, and deleted again.
_WIPES = 4


def connect(project: str, database: str) -> firestore.Client:
    """A client; `FIRESTORE_EMULATOR_HOST` sends it to an emulator. One per process: it owns the channel."""
    from google.cloud import firestore

    return firestore.Client(project=project, database=database)


class FirestoreStore:
    """`ports.Store`."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client

    def of(self, account_id: str) -> FirestoreAccountStore:
        return FirestoreAccountStore(self._client, account_id)

    def account_ids(self) -> Iterator[str]:
        for snapshot in self._client.collection("accounts").select([]).stream():
            yield str(snapshot.id)

    def accounts_with(self, kind: Kind[Any], field: str, value: str, *, limit: int) -> tuple[str, ...]:
        from google.cloud.firestore_v1.base_query import FieldFilter

        group = self._client.collection_group(kind.collection)
        query = group.where(filter=FieldFilter(field, "==", value)).select([]).limit(limit)
        with _translated():
            paths = [snapshot.reference.path.split("/") for snapshot in query.stream()]
        # `accounts/{account}/{collection}/{record}`: a collection of the name further down is another kind.
        return tuple(dict.fromkeys(path[1] for path in paths if len(path) == 4))


class _Paths:
    """Where the records of one account are. The only builder of paths."""

    def __init__(self, client: firestore.Client, account_id: str) -> None:
        self.client = client
        self.account = client.collection("accounts").document(account_id)

    def collection(self, kind: Kind[Any]) -> Any:
        """`threads/{id}/messages` is a collection below a record; the plain ones are below the account."""
        *above, name = kind.collection.split("/")
        parent = self.account
        for collection, record_id in zip(above[::2], above[1::2], strict=True):
            parent = parent.collection(collection).document(record_id)
        return parent.collection(name)

    def document(self, kind: Kind[Any], record_id: str) -> Any:
        if not kind.collection:
            return self.account
        return self.collection(kind).document(record_id)

    def query(self, kind: Kind[Any], query: Query) -> tuple[Any, str | None]:
        """The SDK's query, ordered by the field and then by id, and the field's name."""
        from google.cloud.firestore_v1.base_query import FieldFilter

        built = self.collection(kind)
        for where in query.where:
            built = built.where(filter=FieldFilter(*where))
        field, direction = _order(query.order_by)
        if field:
            built = built.order_by(field, direction=direction)
        return built.order_by("__name__", direction=direction), field


def _order(order_by: str | None) -> tuple[str | None, str]:
    if order_by is None:
        return None, "ASCENDING"
    return order_by.removeprefix("-"), "DESCENDING" if order_by.startswith("-") else "ASCENDING"


class FirestoreAccountStore:
    """`ports.AccountStore`."""

    def __init__(self, client: firestore.Client, account_id: str) -> None:
        self.account_id = account_id
        self._client = client
        self._paths = _Paths(client, account_id)

    def get(self, kind: Kind[T], record_id: str) -> T | None:
        return self.get_many(kind, [record_id]).get(record_id)

    def get_many(self, kind: Kind[T], record_ids: Sequence[str]) -> dict[str, T]:
        found: dict[str, T] = {}
        wanted = _nameable(record_ids)
        with _translated():
            for start in range(0, len(wanted), _READ_BATCH):
                batch = [self._paths.document(kind, name) for name in wanted[start : start + _READ_BATCH]]
                found.update(_decoded(kind, self._client.get_all(batch)))
        return found

    def find(self, kind: Kind[T], query: Query) -> Page[T]:
        built, field = self._paths.query(kind, query)
        if query.cursor is not None:
            built = built.start_after(self._after(kind, field, query.cursor))
        with _translated():
            snapshots = list(built.limit(query.limit + 1).stream())
        more = len(snapshots) > query.limit
        snapshots = snapshots[: query.limit]
        cursor = _cursor(snapshots[-1], field) if more else None
        return Page(tuple(decode(kind, s.id, s.to_dict()) for s in snapshots), cursor)

    def every(self, kind: Kind[T], query: Query) -> Iterator[T]:
        built, _ = self._paths.query(kind, query)
        with _translated():
            for snapshot in built.stream():
                yield decode(kind, snapshot.id, snapshot.to_dict())

    def count(self, kind: Kind[Any], query: Query) -> int:
        built, _ = self._paths.query(kind, Query(where=query.where))
        with _translated():
            return int(built.count(alias="n").get()[0][0].value)

    def create(self, kind: Kind[T], record: T) -> None:
        record_id: str = record.id  # type: ignore[attr-defined]  # every kind's type has an id
        with _translated(taken=f"{kind.collection or 'account'} {record_id} exists already"):
            self._paths.document(kind, record_id).create(encode(kind, record))

    def put_many(self, kind: Kind[T], records: Sequence[T]) -> None:
        writes = [
            (self._paths.document(kind, record.id), encode(kind, record))  # type: ignore[attr-defined]
            for record in records
        ]
        with _translated():
            for group in _commits(writes):
                batch = self._client.batch()
                for reference, document in group:
                    batch.set(reference, document)
                batch.commit()

    def add(self, kind: Kind[T], record: T) -> None:
        record_id: str = record.id  # type: ignore[attr-defined]  # every kind's type has an id
        with _translated():
            self._paths.document(kind, record_id).set(_increments(encode(kind, record)), merge=True)

    def delete_many(self, kind: Kind[Any], record_ids: Sequence[str]) -> None:
        with _translated():
            for start in range(0, len(record_ids), _COMMIT_WRITES):
                batch = self._client.batch()
                for name in record_ids[start : start + _COMMIT_WRITES]:
                    batch.delete(self._paths.document(kind, name))
                batch.commit()

    def wipe(self, keep: Collection[Kind[Any]] = ()) -> Mapping[str, int]:
        kept = {kind.collection for kind in keep}
        removed: dict[str, int] = {}
        for _ in range(_WIPES):
            with _translated():
                left = [one for one in self._paths.account.collections() if one.id not in kept]
                for one in left:
                    removed[one.id] = removed.get(one.id, 0) + int(self._client.recursive_delete(one))
            if not left:
                return removed
        raise TransientError(f"Records of account {self.account_id} stay after {_WIPES} deletes.")

    def transact(self, body: Callable[[Transaction], R]) -> R:
        from google.api_core import exceptions
        from google.cloud import firestore

        for attempt in range(_ROUNDS):
            try:
                with _translated():
                    run = firestore.transactional(
                        lambda transaction: body(_FirestoreTransaction(self._paths, transaction))
                    )
                    result: R = run(self._client.transaction())
                    return result
            except exceptions.Aborted:
                pass
            except ValueError as error:  # how the SDK says that its attempts are used up
                if not isinstance(error.__cause__, exceptions.Aborted):
                    raise
            time.sleep(random.uniform(0.5, 1.0) * min(0.02 * 2**attempt, 2.0))  # noqa: S311  # jitter, no secret
        raise TransientError(f"A transaction of account {self.account_id} met too many others.")

    def _after(self, kind: Kind[Any], field: str | None, cursor: str) -> dict[str, Any]:
        value, name = _parse_cursor(cursor)
        place: dict[str, Any] = {"__name__": self._paths.document(kind, name)}
        if field is not None:
            place[field] = value
        return place


class _FirestoreTransaction:
    """`ports.Transaction`."""

    def __init__(self, paths: _Paths, transaction: firestore.Transaction) -> None:
        self._paths = paths
        self._transaction = transaction

    def get(self, kind: Kind[T], record_id: str) -> T | None:
        return self.get_many(kind, [record_id]).get(record_id)

    def get_many(self, kind: Kind[T], record_ids: Sequence[str]) -> dict[str, T]:
        references = [self._paths.document(kind, name) for name in _nameable(record_ids)]
        return _decoded(kind, self._transaction.get_all(references)) if references else {}

    def find(self, kind: Kind[T], query: Query) -> tuple[T, ...]:
        built, _ = self._paths.query(kind, query)
        snapshots = self._transaction.get(built.limit(query.limit))
        return tuple(decode(kind, s.id, s.to_dict() or {}) for s in snapshots)

    def put(self, kind: Kind[T], record: T) -> None:
        record_id: str = record.id  # type: ignore[attr-defined]  # every kind's type has an id
        self._transaction.set(self._paths.document(kind, record_id), encode(kind, record))

    def add(self, kind: Kind[T], record: T) -> None:
        record_id: str = record.id  # type: ignore[attr-defined]  # every kind's type has an id
        document = _increments(encode(kind, record))
        self._transaction.set(self._paths.document(kind, record_id), document, merge=True)

    def delete(self, kind: Kind[Any], record_id: str) -> None:
        self._transaction.delete(self._paths.document(kind, record_id))


def _increments(value: Any) -> Any:
    """Whole numbers as additions, at any depth."""
    from google.cloud.firestore import Increment

    if isinstance(value, dict):
        return {name: _increments(item) for name, item in value.items()}
    return Increment(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _nameable(record_ids: Iterable[str]) -> list[str]:
    """Each once, without what Firestore refuses as a document's name: nothing can be there."""
    return [name for name in dict.fromkeys(record_ids) if not _NO_NAME.fullmatch(name)]


def _decoded(kind: Kind[T], snapshots: Any) -> dict[str, T]:
    return {s.id: decode(kind, s.id, s.to_dict() or {}) for s in snapshots if s.exists}


def _commits(writes: list[tuple[Any, dict[str, Any]]]) -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """Groups of writes that each fit one commit, in order."""
    group: list[tuple[Any, dict[str, Any]]] = []
    size = 0
    for reference, document in writes:
        cost = estimate_size(document)
        if group and (size + cost > _COMMIT_BYTES or len(group) >= _COMMIT_WRITES):
            yield group
            group, size = [], 0
        group.append((reference, document))
        size += cost
    if group:
        yield group


def _cursor(snapshot: Any, field: str | None) -> str:
    value = snapshot.get(field) if field is not None else None
    if isinstance(value, datetime):
        value = {"time": value.isoformat()}
    return base64.urlsafe_b64encode(json.dumps([value, snapshot.id]).encode()).decode()


def _parse_cursor(cursor: str) -> tuple[Any, str]:
    """Anybody can write one, so nothing is taken from it that a query could stumble over."""
    try:
        value, name = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if isinstance(value, dict):
            value = datetime.fromisoformat(value["time"])
        ours = is_id(name) and _comparable(value)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _foreign_cursor() from error
    if not ours:
        raise _foreign_cursor()
    return value, name


def _foreign_cursor() -> InvalidRequestError:
    return InvalidRequestError(
        "The cursor is not one of ours.", fields=(("cursor", "not a cursor of this list"),)
    )


def _comparable(value: object) -> bool:
    """Whether a list can be ordered by it. Raises `ValueError` for text that is not Unicode."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, str | float | datetime)


@contextmanager
def _translated(taken: str = "The record exists already") -> Iterator[None]:
    """Turns what Firestore says into our errors; `Aborted` stays, for `transact` to try again."""
    from google.api_core import exceptions

    try:
        yield
    except exceptions.AlreadyExists as error:
        raise ConflictError(taken) from error
    except exceptions.Aborted:
        raise
    except (
        exceptions.ServiceUnavailable,
        exceptions.DeadlineExceeded,
        exceptions.ResourceExhausted,
        exceptions.InternalServerError,
        exceptions.RetryError,
    ) as error:
        raise TransientError(f"Firestore did not answer: {type(error).__name__}") from error
