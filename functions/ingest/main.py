"""An object was finalized in the uploads bucket: claims its revision and advances it.

Delivered at least once, in no order. Acknowledged when there is nothing to do or the end state is recorded;
raises only what another delivery can mend.
"""

from __future__ import annotations

import logging
import os

import functions_framework
from cloudevents.http import CloudEvent

from shared.ingest.flow import advance
from shared.library.objects import parse_source_name
from shared.logs import configure, log_context
from shared.settings import refuse_emulators
from shared.wiring import container

# A revision that was told of an emulator must not even start: the one before keeps serving.
refuse_emulators(os.environ)

log = logging.getLogger(__name__)


@functions_framework.cloud_event
def main(event: CloudEvent) -> None:
    configure()
    name = str(event.data["name"])
    ref = parse_source_name(name)
    if ref is None:
        log.warning("object is not a document's source", extra={"object": name})
        return
    with log_context(account_id=ref.account_id, document_id=ref.document_id, event_id=event["id"]):
        advance(container(), ref)
