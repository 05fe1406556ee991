"""Records of form and page knowledge bases through the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.flows.api_stack import Stack, created, problem
from tests.flows.test_documents import base


def test_entries_of_a_form(stack: Stack) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme, 'Contacts', type='form')}/records"
    made = [
        created(acme.admin("POST", path, {"values": {"姓名": f"Person {n}", "age": n, "ok": True, "x": 0.5}}))
        for n in range(3)
    ]
    assert made[0]["values"] == {"姓名": "Person 0", "age": 0, "ok": True, "x": 0.5}
    assert made[0]["text"] is None
    first = created(acme.admin("GET", f"{path}?limit=2"))
    rest = created(acme.admin("GET", f"{path}?limit=2&cursor={first['next_cursor']}"))
    assert first["items"] + rest["items"] == made
    one = f"/v1/records/{made[1]['id']}"
    assert created(acme.admin("GET", one)) == made[1]
    changed = created(acme.admin("PUT", one, {"values": {"姓名": "New"}}))
    assert changed["values"] == {"姓名": "New"}
    assert changed["updated_at"] > changed["created_at"]
    assert acme.admin("DELETE", one).status_code == 204
    assert problem(acme.admin("GET", one)) == (404, "not_found")


def test_a_page_has_one_text(stack: Stack) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme, 'Voice', type='singlePage')}/records"

    def create(_: int) -> int:
        return acme.admin("POST", path, {"text": "# Tone\n\nWarm."}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, range(4))) == [201, 409, 409, 409]
    (record,) = created(acme.admin("GET", path))["items"]
    assert record["text"] == "# Tone\n\nWarm."
    assert created(acme.admin("PUT", f"/v1/records/{record['id']}", {"text": "Cool."}))["text"] == "Cool."
    assert acme.admin("DELETE", f"/v1/records/{record['id']}").status_code == 204
    created(acme.admin("POST", path, {"text": "Again."}))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("form", {}),
        ("form", {"text": "t"}),
        ("form", {"values": {}}),
        ("form", {"values": {"a": None}}),
        ("form", {"values": {"a": {"b": 1}}}),
        ("form", {"values": {"": 1}}),
        ("form", {"values": {"__x__": 1}}),
        ("form", {"values": {"a": 2**63}}),
        ("form", {"values": {"a": "x" * 10_001}}),
        ("page", {}),
        ("page", {"text": ""}),
        ("page", {"text": "x" * 100_001}),
        ("page", {"values": {"a": 1}}),
        ("page", {"text": "t", "values": {"a": 1}}),
        ("files", {"text": "t"}),
    ],
)
def test_what_does_not_fit_the_type_is_refused(stack: Stack, kind: str, body: object) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme, 'One', type=kind)}/records"
    assert problem(acme.admin("POST", path, body)) == (400, "invalid_request")
    assert created(acme.admin("GET", path))["items"] == []


def test_the_largest_entry_fits(stack: Stack) -> None:
    acme = stack.tenant()
    form = f"/v1/knowledge-bases/{base(acme, 'Form', type='form')}/records"
    values = {f"field {number}": "a b c d " * 20 for number in range(100)}
    made = created(acme.admin("POST", form, {"values": values}))
    assert made["values"] == values
    assert made["tokens"] > 8_000
    page = f"/v1/knowledge-bases/{base(acme, 'Page', type='page')}/records"
    assert created(acme.admin("POST", page, {"text": "word " * 19_000}))["tokens"] > 19_000


def test_records_that_no_request_can_carry_are_refused_with_their_size(stack: Stack) -> None:
    acme = stack.tenant()
    path = f"/v1/knowledge-bases/{base(acme, 'Form', type='form')}/records"
    first = created(acme.admin("POST", path, {"values": {"a": "漢" * 7_000}}))
    refused = acme.admin("POST", path, {"values": {"a": "漢" * 7_000}})
    assert problem(refused) == (413, "text_too_large")
    assert "28,0" in refused.json["detail"]
    assert "20,000" in refused.json["detail"]
    one = f"/v1/records/{first['id']}"
    created(acme.admin("PUT", one, {"values": {"a": "漢" * 4_000}}))
    second = created(acme.admin("POST", path, {"values": {"a": "漢" * 5_000}}))
    assert problem(acme.admin("PUT", one, {"values": {"a": "漢" * 5_500}})) == (413, "text_too_large")
    assert acme.admin("DELETE", f"/v1/records/{second['id']}").status_code == 204
    created(acme.admin("PUT", one, {"values": {"a": "漢" * 5_500}}))


def test_automatic_context_together_has_to_fit(stack: Stack) -> None:
    acme = stack.tenant()

    def page(name: str, *departments: str, **fields: object) -> str:
        made = base(acme, name, *departments, type="page")
        if fields:
            created(acme.admin("PATCH", f"/v1/knowledge-bases/{made}", fields))
        created(acme.admin("POST", f"/v1/knowledge-bases/{made}/records", {"text": "word " * 12_000}))
        return made

    page("One", "engineering", is_auto_context=True)
    page("Two", "marketing", is_auto_context=True)  # nobody's automatic context but their own
    everyone = page("Three", is_auto_context=True, active=False)
    refused = acme.admin("PATCH", f"/v1/knowledge-bases/{everyone}", {"active": True})
    assert problem(refused) == (413, "text_too_large")
    created(
        acme.admin("PATCH", f"/v1/knowledge-bases/{everyone}", {"active": True, "is_auto_context": False})
    )
    fourth = base(acme, "Four", type="page")
    created(acme.admin("PATCH", f"/v1/knowledge-bases/{fourth}", {"is_auto_context": True}))
    refused = acme.admin("POST", f"/v1/knowledge-bases/{fourth}/records", {"text": "word " * 9_000})
    assert problem(refused) == (413, "text_too_large")
