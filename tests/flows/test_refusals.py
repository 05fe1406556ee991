"""A file that cannot become a document: its own code on the record, and nothing else left of it."""

from __future__ import annotations

from io import BytesIO

import pypdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from shared.domain.accounts import Caller
from shared.domain.knowledge import Document, DocumentStatus
from shared.index.manifest import MANIFESTS
from shared.index.segment import SEGMENTS
from shared.library.cleanup import object_deleted
from shared.library.objects import prefix
from shared.library.uploads import FileInfo, create_from_bytes, replace_content
from shared.ports import Query
from shared.records import CHUNKS, DOCUMENTS, OUTLINES, PAID
from tests.flows.library import caller, ingest, make_base, read, upload
from tests.flows.workbench import Workbench


def program() -> bytes:
    return b"MZ\x90\x00\x03" + bytes(3_000)


def pdf(text: str = "", password: str = "") -> bytes:
    page = BytesIO()
    canvas = Canvas(page)
    canvas.drawString(72, 700, text)
    canvas.showPage()
    canvas.save()
    if not password:
        return page.getvalue()
    locked = BytesIO()
    writer = pypdf.PdfWriter(clone_from=BytesIO(page.getvalue()))
    writer.encrypt(password, algorithm="AES-256")
    writer.write(locked)
    return locked.getvalue()


FILES = [
    ("renamed.pdf", program(), "unsupported_type"),
    ("locked.pdf", pdf("secret", "open sesame"), "encrypted"),
    ("cut.pdf", pdf("words")[:200], "corrupt"),
    ("blank.txt", b" \n\t\n ", "no_text"),
    ("large.txt", b"word " * 250_000, "text_too_large"),
]


@pytest.fixture
def who(account_id: str) -> Caller:
    return caller(account_id)


def left_behind(bench: Workbench, who: Caller, document: Document) -> dict[str, int]:
    store = bench.store.of(who.account_id)
    kinds = (CHUNKS, OUTLINES, SEGMENTS, MANIFESTS, PAID)
    counts = {kind.collection: store.count(kind, Query()) for kind in kinds}
    start = prefix(who.account_id, document.id)
    counts["objects"] = bench.uploads.delete_prefix(start) + bench.derived.delete_prefix(start)
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize(("name", "data", "code"), FILES, ids=[name for name, _, _ in FILES])
def test_a_refused_file_leaves_nothing_but_its_record(
    bench: Workbench, who: Caller, name: str, data: bytes, code: str
) -> None:
    base = make_base(bench, who)
    made = create_from_bytes(bench, who, base.id, FileInfo(name, "application/pdf", len(data)), data)
    document = ingest(bench, who, made)
    assert document.status is DocumentStatus.FAILED
    assert document.error is not None
    assert document.error.code == code
    assert document.error.message
    assert document.error.hint
    assert left_behind(bench, who, document) == {}
    assert bench.store.of(who.account_id).count(DOCUMENTS, Query()) == 1


def test_the_event_that_a_refused_file_was_dropped_does_not_delete_its_document(
    bench: Workbench, who: Caller
) -> None:
    good = ingest(bench, who, upload(bench, who, make_base(bench, who), "# Lamps\n\nLamps are in hall two."))
    data = program()
    bad = replace_content(bench, who, good.id, FileInfo("x.exe", "", len(data)), data)
    failed = ingest(bench, who, bad)
    assert object_deleted(bench, bad.object_name) == "nothing"
    after = read(bench, who, good)
    assert after == failed
    assert after.status is DocumentStatus.FAILED
    assert after.live
    assert after.published == good.published
