"""Commits: all writes or none, checked, made durable, then visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emulators.firestore import writes
from emulators.firestore.database import Change, Database
from emulators.firestore.document import StoredDocument, encode
from emulators.firestore.errors import RpcError, invalid
from emulators.firestore.journal import Journal
from emulators.firestore.protos import CommitResponse
from emulators.firestore.times import to_timestamp
from emulators.firestore.transactions import Transaction, Transactions

DocumentCheck = Callable[[str, Any], None]
"""(path, message): raises when the document breaks a limit."""


class Committer:
    """Writes to one database."""

    def __init__(
        self, database: Database, transactions: Transactions, journal: Journal, check: DocumentCheck
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._journal = journal
        self._check = check

    def commit(self, items: Sequence[Any], transaction_id: bytes, request_time: int) -> Any:
        """The `CommitResponse`. A commit whose answer was lost is answered again, not repeated."""
        paths = [self._path(item) for item in items]
        with self._database.changed:
            if not transaction_id:
                return self._commit(None, items, paths, request_time)
            if self._transactions.find(transaction_id) is None:
                answered = self._journal.response(transaction_id)
                if answered is not None:
                    return CommitResponse.FromString(answered)
            transaction = self._transactions.usable(transaction_id)
            if transaction.read_only and items:
                raise invalid("A read-only transaction cannot write.")
            try:
                return self._commit(transaction, items, paths, request_time)
            except BaseException:
                self._transactions.end(transaction, "aborted")
                raise

    def _commit(
        self, transaction: Transaction | None, items: Sequence[Any], paths: list[str], request_time: int
    ) -> Any:
        self._transactions.prepare(transaction, set(paths))
        time = self._database.clock.commit()
        response = CommitResponse(commit_time=to_timestamp(time))
        after: dict[str, StoredDocument | None] = {}
        for item, path in zip(items, paths, strict=True):
            self._apply(item, path, after, response.write_results.add(), (time, request_time))
        changes = [change for change in after.items() if change[1] is not self._database.get(change[0])]
        self._keep(transaction, changes, response, time)
        if changes:
            self._database.publish(changes, time)
        if transaction is not None:
            self._transactions.end(transaction, "committed")
        return response

    def _apply(
        self,
        item: Any,
        path: str,
        after: dict[str, StoredDocument | None],
        result: Any,
        times: tuple[int, int],
    ) -> None:
        """One write on top of those before it."""
        time, request_time = times
        current = after[path] if path in after else self._database.get(path)
        effect = writes.apply(self._database.name, path, item, current, request_time)
        result.transform_results.extend(effect.results)
        if effect.message is None:
            after[path] = None
            return
        self._check(path, effect.message)
        body = encode(self._database.name, path, effect.message)
        if current is None or current.body != body:
            current = StoredDocument(path, body, time if current is None else current.created, time)
        after[path] = current
        result.update_time.CopyFrom(to_timestamp(current.updated))

    def _keep(self, transaction: Transaction | None, changes: list[Change], response: Any, time: int) -> None:
        record = None
        if transaction is not None and self._journal.durable:
            record = (transaction.id, response.SerializeToString(), time)
        if changes or record:
            self._journal.commit(self._database.name, changes, record)

    def _path(self, item: Any) -> str:
        name, path = writes.target(item)
        if name != self._database.name:
            raise invalid(f'"{name.document(path)}" is not in {self._database.name}.')
        return path


def status_of(error: RpcError) -> tuple[int, str]:
    """An error as the fields of a `google.rpc.Status`."""
    return error.code.value[0], error.message
