"""Knowledge bases through the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.accounts import Plan
from tests.flows.api_stack import Stack, created, problem

BASES = "/v1/knowledge-bases"


def test_create_read_change_list(stack: Stack) -> None:
    acme = stack.tenant()
    made = created(acme.admin("POST", BASES, {"name": "  Réseau   2 ", "type": "files"}))
    assert made == {
        "id": made["id"],
        "name": "Réseau 2",
        "type": "files",
        "description": "",
        "category": None,
        "department_ids": [],
        "is_auto_context": False,
        "active": True,
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
    }
    assert made["created_at"].endswith("Z")
    changed = created(
        acme.admin("PATCH", f"{BASES}/{made['id']}", {"name": "Netz", "category": "it", "active": False})
    )
    assert (changed["name"], changed["category"], changed["active"]) == ("Netz", "it", False)
    cleared = created(acme.admin("PATCH", f"{BASES}/{made['id']}", {"category": None}))
    assert (cleared["name"], cleared["category"], cleared["active"]) == ("Netz", None, False)
    assert created(acme.admin("GET", f"{BASES}/{made['id']}")) == cleared
    assert created(acme.admin("GET", BASES)) == {"items": [cleared], "next_cursor": None}


def test_every_change_is_a_new_version_for_retrieval(stack: Stack) -> None:
    from shared.records import KNOWLEDGE_BASES

    acme = stack.tenant()
    made = created(acme.admin("POST", BASES, {"name": "Netz", "type": "files"}))
    versions = []
    for change in ({"active": False}, {"department_ids": [acme.departments["engineering"]]}, {"name": "N"}):
        created(acme.admin("PATCH", f"{BASES}/{made['id']}", change))
        found = acme.records.get(KNOWLEDGE_BASES, made["id"])
        assert found is not None
        versions.append(found.index_version)
    assert versions == [1, 2, 3]


def test_names_elsewhere_are_understood(stack: Stack) -> None:
    acme = stack.tenant()
    body = {"ds_name": "Brand", "type": "singlePage", "ds_description": "Voice", "ds_category": "brand"}
    made = created(acme.admin("POST", BASES, body))
    assert (made["name"], made["type"], made["description"], made["category"]) == (
        "Brand", "page", "Voice", "brand",
    )  # fmt: skip
    both = acme.admin("POST", BASES, {"name": "A", "ds_name": "B", "type": "page"})
    assert problem(both) == (400, "invalid_request")


@pytest.mark.parametrize("name", ["客户服务手册", "Ελλάδα 2", "हिन्दी ज्ञान", "العربية", "ﬁne", "ŒUVRE"])
def test_names_of_any_script(stack: Stack, name: str) -> None:
    acme = stack.tenant()
    assert created(acme.admin("POST", BASES, {"name": name, "type": "page"}))["name"] == name


@pytest.mark.parametrize("name", ["", "   ", "a-b", "a_b", "a/b", "a\nb", "a\u200bb", "café☕", "x" * 101])
def test_names_that_are_not_letters_digits_and_spaces(stack: Stack, name: str) -> None:
    acme = stack.tenant()
    refused = acme.admin("POST", BASES, {"name": name, "type": "page"})
    assert problem(refused) == (400, "invalid_request")
    assert refused.json is not None
    assert refused.json["errors"][0]["field"] == "name"


def test_a_name_is_taken_whatever_its_case_and_free_again_after_a_rename(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    first = created(acme.admin("POST", BASES, {"name": "Straße Ω", "type": "page"}))
    again = {"name": "STRAßE ω", "type": "page"}
    assert problem(acme.admin("POST", BASES, again)) == (409, "conflict")
    assert created(globex.admin("POST", BASES, again))["name"] == "STRAßE ω"
    other = created(acme.admin("POST", BASES, {"name": "Other", "type": "page"}))
    rename = {"name": "straße ω"}
    assert problem(acme.admin("PATCH", f"{BASES}/{other['id']}", rename)) == (409, "conflict")
    assert created(acme.admin("PATCH", f"{BASES}/{first['id']}", rename))["name"] == "straße ω"
    created(acme.admin("PATCH", f"{BASES}/{first['id']}", {"name": "Road"}))
    assert created(acme.admin("PATCH", f"{BASES}/{other['id']}", rename))["name"] == "straße ω"


def test_one_of_many_at_once_gets_the_name(stack: Stack) -> None:
    acme = stack.tenant()

    def create(_: int) -> int:
        return acme.admin("POST", BASES, {"name": "Same", "type": "page"}).status_code

    with ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(create, range(6)))
    assert codes == [201, 409, 409, 409, 409, 409]


def test_departments_must_be_the_callers(stack: Stack) -> None:
    acme, globex = stack.tenant(), stack.tenant()
    mine, other = acme.departments["engineering"], acme.departments["marketing"]
    for foreign in (other, globex.departments["engineering"], "dep_nowhere"):
        body = {"name": "Mine", "type": "page", "department_ids": [foreign]}
        assert problem(acme.engineering("POST", BASES, body)) == (400, "invalid_request")
    for foreign in (globex.departments["engineering"], "dep_nowhere"):
        body = {"name": "Mine", "type": "page", "department_ids": [foreign]}
        assert problem(acme.admin("POST", BASES, body)) == (400, "invalid_request")
    made = created(
        acme.engineering("POST", BASES, {"name": "Mine", "type": "page", "department_ids": [mine]})
    )
    shared = created(acme.admin("PATCH", f"{BASES}/{made['id']}", {"department_ids": [mine, other]}))
    assert shared["department_ids"] == [mine, other]
    # Taking another department's access away is not engineering's to do.
    narrowed = acme.engineering("PATCH", f"{BASES}/{made['id']}", {"department_ids": [mine]})
    assert problem(narrowed) == (400, "invalid_request")


def test_a_department_sees_its_own_and_what_is_everybodys(stack: Stack) -> None:
    acme = stack.tenant()
    ids = {}
    for name, limited_to in (("A all", []), ("B eng", ["engineering"]), ("C mkt", ["marketing"])):
        departments = [acme.departments[one] for one in limited_to]
        body = {"name": name, "type": "page", "department_ids": departments}
        ids[name] = created(acme.admin("POST", BASES, body))["id"]
    seen = created(acme.engineering("GET", BASES))["items"]
    assert [one["name"] for one in seen] == ["A all", "B eng"]
    # Pages are filled from what may be seen, however much lies between.
    first = created(acme.marketing("GET", f"{BASES}?limit=1"))
    second = created(acme.marketing("GET", f"{BASES}?limit=1&cursor={first['next_cursor']}"))
    assert [one["name"] for one in first["items"] + second["items"]] == ["A all", "C mkt"]
    assert problem(acme.engineering("GET", f"{BASES}?cursor=odd")) == (400, "invalid_request")


def test_plans_decide_about_retrieval_and_numbers(stack: Stack) -> None:
    free = stack.tenant(Plan.FREE)
    refused = free.admin("POST", BASES, {"name": "Files", "type": "files"})
    assert problem(refused) == (403, "plan_required")
    assert refused.json is not None
    assert "pro" in refused.json["detail"]
    for number in range(5):
        created(free.admin("POST", BASES, {"name": f"Page {number}", "type": "page"}))
    over = free.admin("POST", BASES, {"name": "Page 6", "type": "page"})
    assert problem(over) == (403, "quota_exceeded")
