"""The record store on Firestore: parsing, paging, atomic changes under contention."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.firestore.store import FirestoreStore
from shared.domain.accounts import Member, Role
from shared.domain.errors import ConflictError, InvalidRequestError
from shared.ports import Kind, Query, Transaction
from shared.records import MEMBERS


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    text: str
    at: datetime
    tags: tuple[str, ...] = ()
    count: int = 0
    payload: bytes = b""


NOTES = Kind("notes", Note)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def note(n: int, **changes: object) -> Note:
    return replace(Note(f"n{n:03d}", f"text {n}", START + timedelta(minutes=n)), **changes)  # type: ignore[arg-type]


def test_a_record_comes_back_as_it_was_put(store: FirestoreStore) -> None:
    records = store.of("acme")
    written = note(1, tags=("a", "ü"), count=3, payload=b"\x00\xff")
    records.create(NOTES, written)
    assert records.get(NOTES, "n001") == written
    assert records.get(NOTES, "n002") is None
    with pytest.raises(ConflictError):
        records.create(NOTES, written)


def test_accounts_do_not_see_one_another(store: FirestoreStore) -> None:
    store.of("acme").create(NOTES, note(1))
    assert store.of("globex").get(NOTES, "n001") is None
    assert store.of("globex").find(NOTES, Query()).items == ()


def test_where_a_person_has_a_record(store: FirestoreStore) -> None:
    def member(name: str, uid: str | None) -> Member:
        return Member(name, uid, None, Role.VIEWER, None, START)

    for account in ("acme", "globex", "initech"):
        store.of(account).put_many(MEMBERS, [member("m1", "ada"), member("m2", "bob"), member("m3", None)])
    store.of("umbrella").put_many(MEMBERS, [member("m1", "bob")])
    # A collection of this name below a record is another kind.
    below = Kind("teams", Note).below(Kind("x", Note), "t1")
    store.of("umbrella").put_many(MEMBERS.below(below, "n1"), [member("m9", "ada")])
    assert set(store.accounts_with(MEMBERS, "uid", "ada", limit=10)) == {"acme", "globex", "initech"}
    assert len(store.accounts_with(MEMBERS, "uid", "ada", limit=2)) == 2
    assert store.accounts_with(MEMBERS, "uid", "eve", limit=10) == ()


def test_pages_follow_one_another_without_gap_or_repeat(store: FirestoreStore) -> None:
    records = store.of("acme")
    records.put_many(NOTES, [note(n, at=START + timedelta(minutes=n // 3)) for n in range(25)])
    for order in ("at", "-at", None):
        seen: list[str] = []
        cursor = None
        while True:
            page = records.find(NOTES, Query(order_by=order, limit=4, cursor=cursor))
            seen += [record.id for record in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        expected = sorted(f"n{n:03d}" for n in range(25))
        assert seen == (expected[::-1] if order == "-at" else expected)


@pytest.mark.parametrize(
    "content",
    [
        *("nonsense", "[]", "{}", '["x"]', '["x", 5]', '["x", ""]', '["x", "a/b"]', '["x", ".."]'),
        *('[[1], "n001"]', '[{"time": 5}, "n001"]', '["\\ud800", "n001"]', f'[{2**63}, "n001"]'),
        pytest.param("[" * 30_000, id="deep"),
    ],
)
def test_a_foreign_cursor_is_refused(store: FirestoreStore, content: str) -> None:
    for cursor in (content, base64.urlsafe_b64encode(content.encode()).decode()):
        with pytest.raises(InvalidRequestError):
            store.of("acme").find(NOTES, Query(order_by="text", cursor=cursor))


def test_contending_transactions_all_count(store: FirestoreStore) -> None:
    records = store.of("acme")
    records.create(NOTES, note(1))

    def add(transaction: Transaction) -> None:
        found = transaction.get(NOTES, "n001")
        assert found is not None
        transaction.put(NOTES, replace(found, count=found.count + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: records.transact(add), range(40)))
    final = records.get(NOTES, "n001")
    assert final is not None
    assert final.count == 40


def test_a_transaction_that_fails_leaves_nothing(store: FirestoreStore) -> None:
    records = store.of("acme")

    def body(transaction: Transaction) -> None:
        transaction.put(NOTES, note(1))
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        records.transact(body)
    assert records.get(NOTES, "n001") is None


def test_many_large_records_are_split_over_commits(store: FirestoreStore) -> None:
    records = store.of("acme")
    many = [note(n, payload=bytes(500_000)) for n in range(45)]
    large = Kind("segments", Note)  # whose payload is exempt from indexing
    records.put_many(large, many)
    assert records.get_many(large, [n.id for n in many]) == {n.id: n for n in many}
    records.delete_many(large, [n.id for n in many])
    assert list(records.every(large, Query())) == []
