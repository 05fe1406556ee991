"""What follows when an object of the uploads bucket is deleted."""

from __future__ import annotations

from shared.library.cleanup import object_deleted
from shared.library.objects import RevisionRef, source_name
from shared.records import DOCUMENTS
from tests.flows.api_stack import Stack, created, problem
from tests.flows.test_documents import HANDBOOK, base, read, upload


def test_a_document_whose_file_was_taken_away_goes_too(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    stack.ingest(acme, document)
    stack.run_tasks()
    name = source_name(RevisionRef(acme.account.id, document["id"], 1))
    assert object_deleted(stack.deps, name) == "nothing"  # of an older generation: the object is there
    stack.deps.uploads.delete_prefix(name)
    assert object_deleted(stack.deps, name) == "deleted"
    assert read(acme, document)["status"] == "deleting"
    assert object_deleted(stack.deps, name) == "nothing"
    assert stack.run_tasks() == ["done"]
    assert problem(acme.admin("GET", f"/v1/documents/{document['id']}")) == (404, "not_found")


def test_the_file_of_an_older_revision_is_nothing(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    stack.ingest(acme, document)
    created(acme.admin.upload(f"/v1/documents/{document['id']}/content", HANDBOOK + b"More.", method="PUT"))
    stack.ingest(acme, document, revision=2)
    stack.run_tasks()  # tidies the first revision's object away
    assert (
        object_deleted(stack.deps, source_name(RevisionRef(acme.account.id, document["id"], 1))) == "nothing"
    )
    assert read(acme, document)["status"] == "ready"


def test_other_objects_are_nothing(stack: Stack) -> None:
    acme = stack.tenant()
    for name in (
        "notes.txt",
        f"accounts/{acme.account.id}/documents/doc_1/1/other",
        f"accounts/{acme.account.id}/documents/doc_none/1/source",
    ):
        assert object_deleted(stack.deps, name) == "nothing"
    assert acme.records.get(DOCUMENTS, "doc_none") is None
