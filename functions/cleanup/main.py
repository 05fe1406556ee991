"""An object was deleted from the uploads bucket: what derives from it goes too.

Delivered at least once, in no order; raises only what another delivery can mend.
"""

from __future__ import annotations

import os

import functions_framework
from cloudevents.http import CloudEvent

from shared.library.cleanup import object_deleted
from shared.logs import configure
from shared.settings import refuse_emulators
from shared.wiring import container

# A revision that was told of an emulator must not even start: the one before keeps serving.
refuse_emulators(os.environ)


@functions_framework.cloud_event
def main(event: CloudEvent) -> None:
    configure()
    object_deleted(container(), str(event.data["name"]))
