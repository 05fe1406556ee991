"""What follows when a stored object is gone."""

from __future__ import annotations

import logging

from shared.domain.errors import NotFoundError, TooLargeError
from shared.library.deletes import delete_without_source
from shared.library.deps import LibraryDeps
from shared.library.objects import parse_source_name
from shared.ports import Objects

log = logging.getLogger(__name__)


def object_deleted(deps: LibraryDeps, name: str) -> str:
    """Follows the event that an object of the uploads bucket was deleted; says in a word what it did.

    Most such events are echoes of our own deletes, of an older revision, or of one generation of an object
    that has a newer one. Only when the file of a live document is really gone, its document goes too.
    """
    ref = parse_source_name(name)
    if ref is None or is_stored(deps.uploads, name):
        return "nothing"
    receipt = delete_without_source(deps, ref)
    if receipt is None:
        return "nothing"
    log.warning(
        "the source of a document was deleted from storage, so the document is",
        extra={"account_id": ref.account_id, "document_id": ref.document_id, "receipt_id": receipt.id},
    )
    return "deleted"


def is_stored(objects: Objects, name: str) -> bool:
    """Whether there is an object of this name."""
    try:
        objects.read(name, limit=0)
    except NotFoundError:
        return False
    except TooLargeError:
        return True
    return True
