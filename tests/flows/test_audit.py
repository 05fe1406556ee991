"""The audit that ends the chaos run sees each kind of damage that it is there for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.accounts import Caller
from shared.domain.knowledge import ContentClaim, DocumentStatus
from shared.domain.text import Outline
from shared.index.manifest import MANIFESTS, dump, load
from shared.index.segment import SEGMENTS
from shared.ports import AccountStore, Kind, Query
from shared.records import CHUNKS, CONTENTS, DOCUMENTS, KNOWLEDGE_BASES, OUTLINES
from tests.e2e.chaos.audit import faults
from tests.flows.library import caller, ingest, make_base, upload
from tests.flows.workbench import Workbench


@pytest.fixture
def who(account_id: str) -> Caller:
    return caller(account_id)


def first(store: AccountStore, kind: Kind) -> object:
    return next(iter(store.every(kind, Query())))


def drop(kind: Kind) -> Callable[[AccountStore], None]:
    return lambda store: store.delete_many(kind, [first(store, kind).id])


def change(kind: Kind, **changes: object) -> Callable[[AccountStore], None]:
    return lambda store: store.put_many(kind, [replace(first(store, kind), **changes)])


def list_twice(store: AccountStore) -> None:
    """The passages of one segment in a second one."""
    segment, record = first(store, SEGMENTS), first(store, MANIFESTS)
    store.put_many(SEGMENTS, [replace(segment, id="seg_again")])
    manifest = load(record)
    refs = (*manifest.segments, replace(segment.ref, id="seg_again"))
    store.put_many(MANIFESTS, [dump(record.id, replace(manifest, segments=refs))])


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (change(DOCUMENTS, status=DocumentStatus.EMBEDDING), "embedding, attempt 1"),
        (change(DOCUMENTS, duplicate_of="doc_x"), "ready, with"),
        (drop(CHUNKS), "is missing"),
        (change(CHUNKS, id="chk_x"), "chunk chk_x: belongs to nothing"),
        (drop(OUTLINES), "outline of"),
        (lambda store: store.create(OUTLINES, Outline("o", "doc_x", 1, ())), "outline of doc_x"),
        (drop(CONTENTS), "claim of"),
        (lambda store: store.create(CONTENTS, ContentClaim("c", "doc_x", "0" * 64, (1,))), "claim of doc_x"),
        (drop(SEGMENTS), "is missing"),
        (change(SEGMENTS, id="seg_x"), "segment seg_x: belongs to nothing"),
        (change(KNOWLEDGE_BASES, index_version=99), "version 99"),
        (list_twice, "2 times"),
    ],
)
def test_damage_is_told(
    bench: Workbench, who: Caller, damage: Callable[[AccountStore], None], told: str
) -> None:
    base = make_base(bench, who)
    for number in range(2):
        ingest(
            bench, who, upload(bench, who, base, f"# Lamp {number}\n\nLamp {number} is red.", f"{number}.md")
        )
    store = bench.store.of(who.account_id)
    assert faults(store) == []
    damage(store)
    assert any(told in fault for fault in faults(store)), faults(store)
