"""When the segments of a refused publication may go."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.knowledge import DocumentStatus
from shared.index.publication import is_void, published
from tests.flows.index_library import CLOCK, claimed, new_document, publication_of


def test_segments_that_were_published_before_the_delete_stay_until_its_removal() -> None:
    document = claimed(new_document("doc-a"), 1)
    publication = publication_of(document, [])
    seen = published(document, publication, CLOCK.now())
    assert not is_void(publication, replace(seen, status=DocumentStatus.DELETING))


def test_segments_that_nobody_saw_go_with_the_document() -> None:
    document = claimed(new_document("doc-a"), 1)
    publication = publication_of(document, [])
    assert is_void(publication, replace(document, status=DocumentStatus.DELETING))
    assert is_void(publication, None)
