"""Transactions: atomic, isolated, retried by the client, never lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter

from emulators.firestore.database import Database
from emulators.firestore.names import DatabaseName
from emulators.firestore.times import HybridClock
from emulators.firestore.transactions import MAX_IDLE_SECONDS, MAX_SECONDS, Transactions


def begun(db: firestore.Client, **options: Any) -> firestore.Transaction:
    transaction = db.transaction(**options)
    transaction._begin()
    return transaction


def read(ref: firestore.DocumentReference, transaction: firestore.Transaction) -> dict[str, Any] | None:
    return ref.get(transaction=transaction).to_dict()


def test_a_transaction_writes_all_at_once(db: firestore.Client) -> None:
    one, two = db.document("r/1"), db.document("r/2")
    transaction = begun(db)
    transaction.set(one, {"n": 1})
    transaction.set(two, {"n": 2})
    assert not one.get().exists
    transaction._commit()
    assert one.get().update_time == two.get().update_time


def test_a_rollback_leaves_nothing(db: firestore.Client) -> None:
    ref = db.document("r/1")

    @firestore.transactional
    def fail(transaction: firestore.Transaction) -> None:
        transaction.set(ref, {"n": 1})
        raise KeyError("changed my mind")

    with pytest.raises(KeyError):
        fail(db.transaction())
    assert not ref.get().exists


def test_a_document_that_changed_since_it_was_read_aborts(db: firestore.Client) -> None:
    ref, other = db.document("r/1"), db.document("r/2")
    ref.set({"n": 1})
    transaction = begun(db)
    assert read(ref, transaction) == {"n": 1}
    ref.update({"n": 2})
    transaction.set(other, {"n": 1})
    with pytest.raises(exceptions.Aborted):
        transaction._commit()
    assert not other.get().exists


def test_a_document_that_came_into_being_aborts(db: firestore.Client) -> None:
    ref = db.document("r/1")
    transaction = begun(db)
    assert read(ref, transaction) is None
    ref.set({"n": 1})
    transaction.set(ref, {"n": 2})
    with pytest.raises(exceptions.Aborted):
        transaction._commit()
    assert ref.get().to_dict() == {"n": 1}


def test_the_client_tries_again_and_succeeds(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"n": 1})
    attempts = []

    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> None:
        attempts.append(transaction.id)
        number = ref.get(transaction=transaction).get("n")
        if len(attempts) == 1:
            ref.update({"n": 10})
        transaction.update(ref, {"n": number + 1})

    bump(db.transaction())
    assert ref.get().to_dict() == {"n": 11}
    assert len(set(attempts)) == 2


def test_a_phantom_aborts_and_a_bystander_does_not(db: firestore.Client) -> None:
    query = db.collection("r").where(filter=FieldFilter("kind", "==", "seat"))
    for newcomer, aborts in (("other", False), ("seat", True)):
        transaction = begun(db)
        assert list(query.stream(transaction=transaction)) == []
        db.collection("r").document(newcomer).set({"kind": newcomer})
        transaction.set(db.document(f"counts/{newcomer}"), {"seats": 0})
        if aborts:
            with pytest.raises(exceptions.Aborted):
                transaction._commit()
        else:
            transaction._commit()
    assert not db.document("counts/seat").get().exists


def test_a_count_that_changed_aborts(db: firestore.Client) -> None:
    query = db.collection("r").count()
    transaction = begun(db)
    assert next(iter(query.stream(transaction=transaction)))[0].value == 0
    db.document("r/1").set({})
    transaction.set(db.document("counts/r"), {"n": 0})
    with pytest.raises(exceptions.Aborted):
        transaction._commit()


def test_write_skew_is_impossible(db: firestore.Client) -> None:
    """Each reads both and writes one: run one after the other, the second would have decided otherwise."""
    refs = [db.document("doctors/a"), db.document("doctors/b")]
    for ref in refs:
        ref.set({"on_call": True})
    both = [begun(db), begun(db)]
    for transaction in both:
        assert all(s.get("on_call") for s in transaction.get_all(refs))
    both[0].update(refs[0], {"on_call": False})
    both[1].update(refs[1], {"on_call": False})
    both[0]._commit()
    with pytest.raises(exceptions.Aborted):
        both[1]._commit()


def test_reads_of_a_transaction_see_one_moment(db: firestore.Client) -> None:
    one, two = db.document("r/1"), db.document("r/2")
    one.set({"n": 1})
    two.set({"n": 1})
    transaction = begun(db)
    assert read(one, transaction) == {"n": 1}
    two.set({"n": 2})
    assert read(two, transaction) == {"n": 1}
    transaction._rollback()


def test_a_read_only_transaction_sees_one_moment_and_disturbs_nobody(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"n": 1})
    transaction = begun(db, read_only=True)
    assert read(ref, transaction) == {"n": 1}
    ref.set({"n": 2})
    assert read(ref, transaction) == {"n": 1}
    assert [s.get("n") for s in transaction.get(db.collection("r").order_by("n"))] == [1]
    transaction._commit()
    write = types.Write(update={"name": ref._document_path})
    locked = begun(db, read_only=True)
    with pytest.raises(exceptions.InvalidArgument, match="read-only"):
        db._firestore_api.commit(
            request={"database": db._database_string, "transaction": locked.id, "writes": [write]}
        )


def test_a_read_only_transaction_in_the_past(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"n": 1})
    before = ref.get().read_time
    ref.set({"n": 2})
    options = types.TransactionOptions(read_only={"read_time": before})
    identity = db._firestore_api.begin_transaction(
        request={"database": db._database_string, "options": options}
    ).transaction
    request = {"database": db._database_string, "documents": [ref._document_path], "transaction": identity}
    (response,) = db._firestore_api.batch_get_documents(request=request)
    assert response.found.fields["n"].integer_value == 1


def test_a_read_may_begin_the_transaction(db: firestore.Client) -> None:
    ref = db.document("r/1")
    ref.set({"n": 1})
    api, database = db._firestore_api, db._database_string
    new = types.TransactionOptions(read_write={})
    first, second = api.batch_get_documents(
        request={"database": database, "documents": [ref._document_path], "new_transaction": new}
    )
    assert first.transaction
    assert second.found.fields["n"].integer_value == 1
    structured = types.StructuredQuery(from_=[{"collection_id": "r"}])
    begun_by_query, row = api.run_query(
        request={"parent": f"{database}/documents", "structured_query": structured, "new_transaction": new}
    )
    assert begun_by_query.transaction
    assert row.document.name == ref._document_path
    ref.update({"n": 2})
    for identity in (first.transaction, begun_by_query.transaction):
        write = types.Write(update={"name": f"{database}/documents/r/2"})
        with pytest.raises(exceptions.Aborted):
            api.commit(request={"database": database, "transaction": identity, "writes": [write]})


def test_a_finished_or_unknown_transaction_is_refused(db: firestore.Client) -> None:
    transaction = begun(db)
    identity = transaction.id
    transaction._commit()
    database = db._database_string
    for unusable in (identity, b"nonsense"):
        with pytest.raises(exceptions.InvalidArgument, match="no longer valid"):
            db._firestore_api.commit(request={"database": database, "transaction": unusable})
    with pytest.raises(exceptions.InvalidArgument):
        db._firestore_api.rollback(request={"database": database, "transaction": b"nonsense"})


def test_old_and_idle_transactions_expire() -> None:
    now = [0.0]
    database = Database(DatabaseName("p", "d"), HybridClock())
    transactions = Transactions(database, bytes(8), iter(range(100)), lambda: now[0])
    with database.changed:
        idle, busy = transactions.begin(read_only=False), transactions.begin(read_only=False)
        while now[0] < MAX_SECONDS:
            assert transactions.find(busy.id) is busy
            now[0] += MAX_IDLE_SECONDS / 2
            if now[0] < MAX_SECONDS:
                transactions.usable(busy.id)
        assert transactions.find(idle.id) is None
        now[0] += 1
        assert transactions.find(busy.id) is None


def test_32_clients_count_on_one_document(emulator_host: str, project: str) -> None:
    each = 8
    clients = [firestore.Client(project=project) for _ in range(32)]
    clients[0].document("counters/c").set({"n": 0})
    start = threading.Barrier(len(clients))

    def work(client: firestore.Client) -> None:
        ref = client.document("counters/c")

        def bump(transaction: firestore.Transaction) -> None:
            transaction.update(ref, {"n": ref.get(transaction=transaction).get("n") + 1})

        start.wait()
        for _ in range(each):
            firestore.transactional(bump)(client.transaction())

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(work, clients))
    assert clients[0].document("counters/c").get().to_dict() == {"n": len(clients) * each}
    for client in clients:
        client.close()


def test_transfers_keep_the_sum_that_every_reader_sees(db: firestore.Client) -> None:
    accounts = [db.document(f"accounts/{n}") for n in range(4)]
    for account in accounts:
        account.set({"money": 100})
    seen: list[int] = []
    running = threading.Event()

    def move(seed: int) -> None:
        def transfer(transaction: firestore.Transaction, source: int, sink: int) -> None:
            money = {s.id: s.get("money") for s in transaction.get_all([accounts[source], accounts[sink]])}
            transaction.update(accounts[source], {"money": money[str(source)] - 7})
            transaction.update(accounts[sink], {"money": money[str(sink)] + 7})

        for step in range(12):
            source = (seed + step) % 4
            firestore.transactional(transfer)(db.transaction(), source, (source + 1 + seed % 3) % 4)

    def watch() -> None:
        while not running.is_set():
            seen.append(sum(s.get("money") for s in db.collection("accounts").stream()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(move, range(6)))
    running.set()
    watcher.join()
    assert set(seen) == {400}
    assert sum(s.get("money") for s in db.collection("accounts").stream()) == 400
