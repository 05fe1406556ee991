"""Work that stands still is found and taken up again, or ends as failed."""

from __future__ import annotations

import pytest
import requests

from shared.domain.accounts import Account, Caller, Plan
from shared.domain.errors import ModelUnavailableError
from shared.domain.knowledge import Document, DocumentStatus
from shared.ingest.claim import Lease
from shared.ingest.flow import Outcome, advance
from shared.ingest.sweep import GRACE, sweep
from shared.library.deletes import delete_document
from shared.library.documents import DocumentFilter, list_documents
from shared.library.purge import purge
from shared.library.uploads import FileInfo, create_upload
from shared.records import ACCOUNT
from shared.refresh.addresses import AddressInfo, create_from_address
from tests.flows.library import caller, ingest, make_base, read, ref_of, upload
from tests.flows.workbench import Workbench

TEXT = "# Wells\n\nWell seven is dry."


@pytest.fixture
def who(bench: Workbench, account_id: str) -> Caller:
    account = Account(account_id, "Acme", Plan.PRO, bench.clock.now())
    bench.store.of(account_id).create(ACCOUNT, account)
    return caller(account_id)


def die(bench: Workbench, who: Caller, document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker claims the document and is killed."""

    def killed(self: Lease, *_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Lease, "checkpoint", killed)
        with pytest.raises(SystemExit):
            advance(bench, ref_of(who, document))


def long_silence(bench: Workbench) -> None:
    bench.clock.pass_seconds(bench.settings.lease_seconds + GRACE.total_seconds() + 1)


def revived(bench: Workbench) -> int:
    sweep(bench)
    return len(bench.queue.take("/advance"))


def test_work_of_the_dead_is_taken_up_again_once(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = upload(bench, who, make_base(bench, who), TEXT)
    die(bench, who, document, monkeypatch)
    assert revived(bench) == 0
    long_silence(bench)
    assert revived(bench) == 1
    assert revived(bench) == 0
    assert advance(bench, ref_of(who, document)) is Outcome.PUBLISHED
    document = read(bench, who, document)
    assert (document.status, document.attempts) == (DocumentStatus.READY, 2)
    long_silence(bench)
    assert revived(bench) == 0


def test_who_dies_every_time_is_given_up(
    bench: Workbench, who: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = upload(bench, who, make_base(bench, who), TEXT)
    for _ in range(bench.settings.max_attempts):
        die(bench, who, document, monkeypatch)
        long_silence(bench)
        assert revived(bench) == 1
    assert advance(bench, ref_of(who, document)) is Outcome.NOTHING
    document = read(bench, who, document)
    assert document.status is DocumentStatus.FAILED
    assert document.error is not None
    assert f"{bench.settings.max_attempts} attempts" in document.error.message
    long_silence(bench)
    assert revived(bench) == 0
    wanted = DocumentFilter(status=DocumentStatus.FAILED)
    store = bench.store.of(who.account_id)
    failed = list_documents(store, who, wanted, limit=10, cursor=None)
    assert [one.id for one in failed.items] == [document.id]


def test_what_only_waits_is_left_alone(bench: Workbench, who: Caller) -> None:
    document = upload(bench, who, make_base(bench, who), TEXT)
    bench.summarizer.faults = [ModelUnavailableError("overloaded", retry_after=600)]
    assert advance(bench, ref_of(who, document)) is Outcome.RETRY
    assert len(bench.queue.take("/advance")) == 1
    bench.clock.pass_seconds(600)
    assert revived(bench) == 0


def test_a_lost_event_is_made_up_for(bench: Workbench, who: Caller) -> None:
    document = upload(bench, who, make_base(bench, who), TEXT)
    long_silence(bench)
    assert revived(bench) == 1
    assert advance(bench, ref_of(who, document)) is Outcome.PUBLISHED


def test_an_object_that_was_never_stored_ends_as_failed(bench: Workbench, who: Caller) -> None:
    document = upload(bench, who, make_base(bench, who), TEXT)
    bench.uploads.delete_prefix(document.object_name)
    long_silence(bench)
    assert revived(bench) == 1
    assert advance(bench, ref_of(who, document)) is Outcome.FAILED
    assert read(bench, who, document).status is DocumentStatus.FAILED


def _await_upload(bench: Workbench, who: Caller) -> tuple[Document, str, dict[str, str]]:
    file = FileInfo("a.md", "text/markdown", len(TEXT))
    document, target = create_upload(bench, who, make_base(bench, who).id, file)
    return document, target.url, dict(target.headers)


def test_a_file_that_is_not_sent_in_time_shows_so_and_may_still_come(bench: Workbench, who: Caller) -> None:
    document, url, headers = _await_upload(bench, who)
    bench.clock.pass_seconds(3600)
    assert sweep(bench) == "0 revived, 0 expired"
    long_silence(bench)
    assert sweep(bench) == "0 revived, 1 expired"
    assert sweep(bench) == "0 revived, 0 expired"
    document = read(bench, who, document)
    assert (document.status, document.error and document.error.code) == (DocumentStatus.FAILED, "empty_file")
    assert requests.put(url, data=TEXT.encode(), headers=headers, timeout=10).ok
    assert ingest(bench, who, document).status is DocumentStatus.READY


def test_a_file_whose_event_got_lost_is_processed(bench: Workbench, who: Caller) -> None:
    document, url, headers = _await_upload(bench, who)
    assert requests.put(url, data=TEXT.encode(), headers=headers, timeout=10).ok
    bench.clock.pass_seconds(3600)
    long_silence(bench)
    assert revived(bench) == 1
    assert advance(bench, ref_of(who, document)) is Outcome.PUBLISHED


def test_an_address_that_waits_for_its_first_read_is_not_ours(bench: Workbench, who: Caller) -> None:
    create_from_address(bench, who, make_base(bench, who).id, AddressInfo("https://example.org/"))
    long_silence(bench)
    assert sweep(bench) == "0 revived, 0 expired"


def test_a_delete_that_stands_still_goes_on(bench: Workbench, who: Caller) -> None:
    document = ingest(bench, who, upload(bench, who, make_base(bench, who), TEXT))
    receipt = delete_document(bench, who, document.id)
    bench.queue.take("/purge")
    assert sweep(bench) == "0 revived, 0 expired"
    long_silence(bench)
    assert sweep(bench) == "1 revived, 0 expired"
    assert len(bench.queue.take("/purge")) == 1
    assert purge(bench, who.account_id, receipt.id) == "done"
    assert sweep(bench) == "0 revived, 0 expired"
