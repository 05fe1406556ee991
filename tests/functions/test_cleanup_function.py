"""The cleanup function as the functions framework runs it, on the embedded stores."""

from __future__ import annotations

import uuid
from pathlib import Path

import functions_framework
import pytest

from shared.wiring import container

SOURCE = Path(__file__).parents[2] / "functions" / "cleanup" / "main.py"


@pytest.mark.parametrize("name", ["accounts/acme/documents/doc_none/1/source", "something/else"])
def test_an_event_about_nothing_of_ours_is_acknowledged(
    firestore_host: str, storage_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", firestore_host)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage_url)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", f"test-{uuid.uuid4().hex[:12]}")
    container.cache_clear()
    app = functions_framework.create_app("main", str(SOURCE), "cloudevent")
    headers = {
        "ce-id": "1",
        "ce-specversion": "1.0",
        "ce-type": "google.cloud.storage.object.v1.deleted",
        "ce-source": "//storage.googleapis.com/projects/_/buckets/almanac-uploads",
        "ce-subject": f"objects/{name}",
    }
    body = {"bucket": "almanac-uploads", "name": name, "generation": "7", "size": "3"}
    answer = app.test_client().post("/", json=body, headers=headers)
    container.cache_clear()
    assert answer.status_code == 200
