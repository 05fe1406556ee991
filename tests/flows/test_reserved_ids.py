"""Ids that the store keeps for itself, such as `__x__`, are ids of nothing."""

from __future__ import annotations

import pytest

from shared.adapters.firestore.store import FirestoreStore
from shared.domain.ids import is_id
from shared.records import DOCUMENTS
from tests.flows.api_stack import Api, Stack, problem
from tests.flows.test_documents import base, upload

_RESERVED = "__x__"


def test_what_can_be_an_id() -> None:
    assert all(map(is_id, ("a", "_", "_a", "a__", "-a", "a" * 64, "_" + "a" * 63)))
    assert not any(map(is_id, ("", "__", "__a", _RESERVED, "a/b", "a" * 65, "_" + "a" * 64, "a\n")))


def test_no_record_is_looked_up_under_a_name_that_none_can_have(store: FirestoreStore) -> None:
    records = store.of("acme")
    for name in (_RESERVED, "", ".", "..", "a/b", "__a\nb__"):
        assert records.get(DOCUMENTS, name) is None
        assert records.transact(lambda tx, name=name: tx.get(DOCUMENTS, name)) is None


@pytest.mark.parametrize("token", ["alm___x__.key_1.abc", "alm_acme.__x__.abc"])
def test_no_key_has_such_a_part(stack: Stack, token: str) -> None:
    assert problem(Api(stack.client, token)("GET", "/v1/account"))[0] == 401


@pytest.mark.parametrize("what", ["documents", "knowledge-bases", "receipts", "records", "members"])
def test_such_a_path_leads_nowhere(stack: Stack, what: str) -> None:
    assert problem(stack.tenant().admin("GET", f"/v1/{what}/{_RESERVED}"))[0] == 404


def test_such_an_id_in_a_body_or_query_is_refused(stack: Stack) -> None:
    acme = stack.tenant()
    document = upload(acme, base(acme))
    change = acme.admin("PATCH", f"/v1/documents/{document['id']}", {"supersedes": _RESERVED})
    assert problem(change) == (400, "invalid_request")
    assert problem(acme.admin("GET", f"/v1/documents?knowledge_base_id={_RESERVED}"))[0] == 400
    made = {"name": "x", "type": "files", "department_ids": [_RESERVED]}
    assert problem(acme.admin("POST", "/v1/knowledge-bases", made)) == (400, "invalid_request")
