"""From what Cloud Storage publishes to what Eventarc delivers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

FINALIZED = "google.cloud.storage.object.v1.finalized"
DELETED = "google.cloud.storage.object.v1.deleted"

_TYPES = {"OBJECT_FINALIZE": FINALIZED, "OBJECT_DELETE": DELETED}
_PRINTABLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """An event about an object. `data` is its resource as JSON, with 64-bit numbers as strings."""

    id: str
    type: str
    bucket: str
    name: str
    generation: int
    time: str
    data: str

    def headers(self) -> dict[str, str]:
        """Binary mode of the CloudEvents HTTP binding; values are percent-encoded as it says."""
        return {
            "ce-specversion": "1.0",
            "ce-id": self.id,
            "ce-type": self.type,
            "ce-source": f"//storage.googleapis.com/projects/_/buckets/{self.bucket}",
            "ce-subject": quote(f"objects/{self.name}", safe=_PRINTABLE),
            "ce-time": self.time,
            "ce-bucket": self.bucket,
            "Content-Type": "application/json",
            "User-Agent": "APIs-Google; (+https://developers.google.com/webmasters/APIs-Google)",
        }

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> ObjectEvent:
        return cls(**json.loads(packed))


def from_message(message_id: str, attributes: Mapping[str, str], data: bytes) -> ObjectEvent | None:
    """The event of a notification message; None for kinds that no trigger here listens to."""
    kind = _TYPES.get(attributes.get("eventType", ""))
    return None if kind is None else from_resource(message_id, kind, json.loads(data))


def from_resource(event_id: str, kind: str, resource: Mapping[str, Any]) -> ObjectEvent:
    """The event of an object's resource in the JSON API."""
    generation = str(resource["generation"])
    data = {
        "metageneration": "1",
        "etag": resource.get("etag") or generation,
        "timeStorageClassUpdated": resource["timeCreated"],
        **{name: value for name, value in resource.items() if name != "acl"},
        "generation": generation,
        "size": str(resource["size"]),
    }
    return ObjectEvent(
        id=event_id,
        type=kind,
        bucket=resource["bucket"],
        name=resource["name"],
        generation=int(generation),
        time=resource["updated"],
        data=json.dumps(data, ensure_ascii=False),
    )
