"""Transactions of one database: what they read, whether it still holds, and whose turn it is after a
conflict.

Production locks pessimistically: a reader that wants to write makes others wait. Here the first attempt is
optimistic: it reads one snapshot, and its commit is ABORTED when a document or a query result that it read
has changed since (a query is asked again, so phantoms count). The client then begins again and names its
first attempt (`retry_transaction`). This time the documents that its attempts touched, and those that it
reads first, are reserved for it, and other commits to them wait; for a moment every transaction that reads
these documents does the same. So contention costs a transaction one wasted attempt, as production's "place in
the line" promises. What decides correctness is the check at commit alone: a reservation whose client went
silent may lapse, and a client that names another's attempt (one `@transactional` function called in many
threads does) does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from emulators.firestore.database import Database
from emulators.firestore.document import StoredDocument
from emulators.firestore.errors import aborted, invalid
from emulators.firestore.execute import last_change, matching
from emulators.firestore.query import Query

MAX_SECONDS = 270.0
MAX_IDLE_SECONDS = 60.0
RESERVATION_IDLE_SECONDS = 1.0
MAX_WAIT_SECONDS = 10.0
CONTENDED_SECONDS = 2.0

_ID_BYTES = 16
_ENDED = frozenset({"committed", "aborted", "rolled back"})

Fingerprint = tuple[tuple[str, int], ...]
"""(path, update time) of each result."""


def fingerprint(documents: Iterable[StoredDocument]) -> Fingerprint:
    return tuple((document.path, document.updated) for document in documents)


@dataclass(eq=False, slots=True)
class Transaction:
    """`snapshot` is fixed by the first read. `state` is open, committing, committed, aborted or rolled back.

    `retrying` says that an attempt before this one failed; `origin` is the first of them where it is still
    known, and its `wanted` collects what all of them touched.
    """

    id: bytes
    read_only: bool
    begun: float
    used: float
    snapshot: int | None = None
    retrying: bool = False
    origin: Transaction | None = None
    state: str = "open"
    documents: set[str] = field(default_factory=set)
    queries: dict[Query, Fingerprint] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    wanted: set[str] = field(default_factory=set)

    def touched(self) -> set[str]:
        found = self.documents | self.written
        for results in self.queries.values():
            found.update(path for path, _ in results)
        return found


class Transactions:
    """Called with the database's lock held; waiting lets go of it.

    `epoch` (8 bytes) tells ids of this server's life from those of an earlier one; `numbers` never repeats.
    """

    def __init__(
        self,
        database: Database,
        epoch: bytes,
        numbers: Iterator[int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._epoch = epoch
        self._numbers = numbers
        self._clock = clock
        self._known: dict[bytes, Transaction] = {}
        self._reserved: dict[str, Transaction] = {}
        self._contended: dict[str, float] = {}

    def begin(self, *, read_only: bool, snapshot: int | None = None, retry_of: bytes = b"") -> Transaction:
        self._expire()
        now = self._clock()
        identity = self._epoch + next(self._numbers).to_bytes(8, "big")
        earlier = self._known.get(retry_of)
        origin = None if earlier is None else earlier.origin or earlier
        transaction = Transaction(identity, read_only, now, now, snapshot, bool(retry_of), origin)
        self._known[identity] = transaction
        return transaction

    def find(self, identity: bytes) -> Transaction | None:
        """The transaction with this id; None for one of an earlier life of the server or that expired."""
        transaction = self._known.get(identity)
        if transaction is not None and self._is_expired(transaction):
            del self._known[identity]
            return None
        return transaction

    def usable(self, identity: bytes) -> Transaction:
        """The open transaction with this id; ABORTED when the server restarted since it began."""
        transaction = self.find(identity)
        if transaction is None:
            if len(identity) == _ID_BYTES and not identity.startswith(self._epoch):
                raise aborted("The transaction was lost: the server restarted. Please retry.")
            raise invalid("The referenced transaction has expired or is no longer valid.")
        if transaction.state != "open":
            raise invalid(f"The referenced transaction is no longer valid: it is {transaction.state}.")
        transaction.used = self._clock()
        return transaction

    # --- reads -----------------------------------------------------------------------------------

    def snapshot(self, transaction: Transaction, paths: Iterable[str] = ()) -> int:
        """The time that the transaction reads at; `paths` is what it is about to read."""
        if transaction.snapshot is None:
            if not transaction.read_only:
                self._take_turn(transaction, set(paths))
            transaction.snapshot = self._database.clock.read()
        if transaction.snapshot < self._database.horizon:
            raise aborted("The snapshot of the transaction is too old. Please retry.")
        return transaction.snapshot

    def note_document(self, transaction: Transaction, path: str) -> None:
        if transaction.read_only:
            return
        transaction.documents.add(path)
        if transaction.retrying and self._holder(path) is None:
            self._reserved[path] = transaction

    def note_query(self, transaction: Transaction, query: Query, results: list[StoredDocument]) -> None:
        if not transaction.read_only:
            transaction.queries[query] = fingerprint(results)

    # --- commit ----------------------------------------------------------------------------------

    def prepare(self, transaction: Transaction | None, paths: set[str]) -> None:
        """Returns when the documents may be written now; ABORTED when the transaction has lost."""
        if transaction is not None:
            transaction.state = "committing"
            transaction.written = paths
            self._check(transaction)
        if not self._wait_until_free(paths, transaction):
            raise aborted("Too much contention on these documents. Please try again.")
        if transaction is not None:
            self._check(transaction)

    def end(self, transaction: Transaction, state: str) -> None:
        """Ends a transaction and lets those that wait for its documents go on."""
        transaction.state = state
        if state == "committed":
            self._known.pop(transaction.id, None)
        elif state == "aborted":
            touched = transaction.touched()
            (transaction.origin or transaction).wanted |= touched
            self._contended.update(dict.fromkeys(touched, self._clock() + CONTENDED_SECONDS))
        mine = [path for path, holder in self._reserved.items() if holder is transaction]
        for path in mine:
            del self._reserved[path]
        if mine:
            self._database.changed.notify_all()

    # --- internals -------------------------------------------------------------------------------

    def _check(self, transaction: Transaction) -> None:
        """ABORTED when something that the transaction read is no longer so."""
        since = transaction.snapshot
        if since is None or transaction.read_only:
            return
        database = self._database
        if since < database.horizon:
            raise aborted("The snapshot of the transaction is too old. Please retry.")
        for path in transaction.documents:
            if database.get(path) is not database.get(path, since):
                raise aborted(f"{database.name.document(path)} has changed since it was read. Please retry.")
        for query, results in transaction.queries.items():
            if (
                last_change(database, query) > since
                and fingerprint(matching(database, query, None)) != results
            ):
                raise aborted("The results of a query in the transaction have changed. Please retry.")

    def _take_turn(self, transaction: Transaction, paths: set[str]) -> None:
        """Waits for those who hold the documents; who failed before, or reads what others just failed on,
        then holds them itself.

        Best effort: when the wait was in vain the transaction goes on, and its commit decides.
        """
        if transaction.origin is not None:
            paths = paths | transaction.origin.wanted
        now = self._clock()
        contended = any(self._contended.get(path, 0.0) > now for path in paths)
        if self._wait_until_free(paths, transaction) and (transaction.retrying or contended):
            self._reserved.update(dict.fromkeys(paths, transaction))
        transaction.used = self._clock()

    def _wait_until_free(self, paths: set[str], transaction: Transaction | None) -> bool:
        deadline = self._clock() + MAX_WAIT_SECONDS
        while any(self._holder(path) not in (None, transaction) for path in paths):
            if self._clock() > deadline:
                return False
            self._database.changed.wait(RESERVATION_IDLE_SECONDS / 4)
        return True

    def _holder(self, path: str) -> Transaction | None:
        holder = self._reserved.get(path)
        if holder is None:
            return None
        silent = holder.state != "committing" and self._clock() - holder.used > RESERVATION_IDLE_SECONDS
        if silent or holder.state in _ENDED:
            del self._reserved[path]
            return None
        return holder

    def _is_expired(self, transaction: Transaction) -> bool:
        now = self._clock()
        old = now - transaction.begun > MAX_SECONDS or now - transaction.used > MAX_IDLE_SECONDS
        return old and transaction.state != "committing"

    def _expire(self) -> None:
        """Forgets the oldest transactions while they are expired; a younger idle one waits its turn."""
        now = self._clock()
        if len(self._contended) > 1_000:
            self._contended = {path: until for path, until in self._contended.items() if until > now}
        while self._known:
            identity = next(iter(self._known))
            if not self._is_expired(self._known[identity]):
                return
            del self._known[identity]
