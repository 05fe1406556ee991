"""Inline knowledge in an instance's memory: read once a version, never another account's, bounded."""

from __future__ import annotations

from typing import Any

import pytest

from shared.library import inline
from shared.library.inline import InlineTexts
from shared.records import KNOWLEDGE_BASES
from tests.flows.api_stack import Stack, Tenant, created
from tests.flows.test_documents import base


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The knowledge bases whose records were really read."""
    seen: list[str] = []
    read = inline.read_inline

    def noted(store: Any, found: Any) -> str:
        seen.append(found.id)
        return read(store, found)

    monkeypatch.setattr(inline, "read_inline", noted)
    return seen


def page(tenant: Tenant, name: str, text: str) -> tuple[str, str]:
    """The ids of a page and of its record."""
    made = base(tenant, name, type="page")
    path = f"/v1/knowledge-bases/{made}/records"
    return made, created(tenant.admin("POST", path, {"text": text}))["id"]


def text_of(texts: InlineTexts, tenant: Tenant, name: str) -> str:
    found = tenant.records.get(KNOWLEDGE_BASES, name)
    assert found is not None
    return texts.read(tenant.records, found)


def test_records_are_read_once_a_version(stack: Stack, reads: list[str]) -> None:
    acme, texts = stack.tenant(), InlineTexts()
    name, record = page(acme, "Voice", "Warm.")
    assert [text_of(texts, acme, name) for _ in range(3)] == ["Warm."] * 3
    assert reads == [name]
    created(acme.admin("PATCH", f"/v1/knowledge-bases/{name}", {"description": "Tone."}))
    assert text_of(texts, acme, name) == "Warm."
    assert len(reads) == 1
    created(acme.admin("PUT", f"/v1/records/{record}", {"text": "Cool."}))
    assert text_of(texts, acme, name) == "Cool."
    assert acme.admin("DELETE", f"/v1/records/{record}").status_code == 204
    assert text_of(texts, acme, name) == ""
    assert len(reads) == 3


def test_memory_is_bounded(stack: Stack, reads: list[str]) -> None:
    acme, texts = stack.tenant(), InlineTexts(characters=250)
    names = [page(acme, f"Page {number}", str(number) * 100)[0] for number in range(3)]
    for name in (*names, names[2], names[1], names[0]):
        text_of(texts, acme, name)
    assert reads == [*names, names[0]]
    # What is larger than all of it is given all the same.
    large, _ = page(acme, "Large", "x" * 300)
    assert len(text_of(texts, acme, large)) == 300
