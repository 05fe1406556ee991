"""Agents and spaces over HTTP: their settings, what breaks a selection, and what the platform offers."""

from __future__ import annotations

from shared.domain.accounts import Permission
from tests.flows.api_stack import Api, created, problem
from tests.flows.desk import Desk


def test_an_agent_is_made_changed_and_deleted(desk: Desk) -> None:
    made = desk.agent(name="  Sales  ", instructions="Be brief.", agent_ds=["price-list"])
    assert made["name"] == "Sales"
    assert (made["agent_ds"], made["agent_tenant_ds"]) == (["price-list"], None)
    path = f"/v1/agents/{made['id']}"
    assert created(desk.api("GET", path)) == made
    changed = created(desk.api("PATCH", path, {"agent_ds": [], "model": "claude-haiku-5-5"}))
    assert (changed["agent_ds"], changed["model"], changed["instructions"]) == (
        [],
        "claude-haiku-5-5",
        "Be brief.",
    )
    assert created(desk.api("PATCH", path, {"agent_ds": None}))["agent_ds"] is None
    assert [one["id"] for one in created(desk.api("GET", "/v1/agents"))["items"]] == [made["id"]]
    assert desk.api("DELETE", path).status_code == 204
    assert problem(desk.api("GET", path)) == (404, "not_found")
    assert problem(desk.api("PATCH", path, {"name": "x"})) == (404, "not_found")


def test_a_rename_a_deactivation_and_a_delete_show_on_the_agent(desk: Desk) -> None:
    prices, terms = desk.chat.base("Price List"), desk.chat.base("Terms 2026")
    agent = desk.agent(agent_ds=["price-list", "terms-2026"], knowledge_base_ids=[terms["id"]])
    assert agent["unresolved"] == []
    desk.rebase(prices, name="Prices")
    desk.rebase(terms, active=False)
    attached = ("knowledge_base_ids", terms["id"], "inactive")
    assert desk.unresolved(agent) == [
        ("agent_ds", "price-list", "renamed"),
        ("agent_ds", "terms-2026", "inactive"),
        attached,
    ]
    told = created(desk.api("GET", "/v1/agents"))["items"][0]["unresolved"][0]["detail"]
    assert "'Prices'" in told
    # Saving something else keeps what is known of the old name; saving the names takes them as they are now.
    created(desk.api("PATCH", f"/v1/agents/{agent['id']}", {"name": "Other"}))
    assert desk.unresolved(agent)[0] == ("agent_ds", "price-list", "renamed")
    created(desk.api("PATCH", f"/v1/agents/{agent['id']}", {"agent_ds": ["prices"]}))
    assert desk.unresolved(agent) == [attached]
    created(desk.chat.tenant.admin("DELETE", f"/v1/knowledge-bases/{prices['id']}"))
    assert desk.unresolved(agent) == [("agent_ds", "prices", "unknown"), attached]


def test_a_department_alone_sees_what_is_its_own(desk: Desk) -> None:
    engineering = desk.chat.tenant.departments["engineering"]
    secret = desk.chat.base("Secret Plans", department_ids=[engineering])
    agent = desk.agent(agent_ds=["secret-plans"])
    assert agent["unresolved"] == []
    assert agent["limited"] == [
        {"knowledge_base_id": secret["id"], "name": "Secret Plans", "department_ids": [engineering]}
    ]
    path = f"/v1/agents/{agent['id']}"
    inside = created(desk.chat.of(desk.chat.tenant.engineering)("GET", path))
    assert (inside["unresolved"], inside["limited"]) == ([], [])
    outside = desk.chat.of(desk.chat.tenant.marketing)("GET", path)
    assert [one["reason"] for one in created(outside)["unresolved"]] == ["unknown"]
    assert secret["id"] not in outside.text
    assert engineering not in outside.text


def test_what_an_agent_may_not_be(desk: Desk) -> None:
    member = desk.chat.of(desk.chat.tenant.engineering)
    assert problem(member("POST", "/v1/agents", {"name": "x"})) == (403, "permission_denied")
    for body in (
        {},
        {"name": ""},
        {"name": "x", "surprise": 1},
        {"name": "x", "agent_ds": "handbook"},
        {"name": "x", "is_system": True},
        {"name": "x", "published": True},
        {"name": "x", "instructions": "x" * 20_001},
        {"name": "x", "model": "no such model"},
    ):
        assert problem(desk.api("POST", "/v1/agents", body)) == (400, "invalid_request"), body
    agent = desk.agent()
    refused = desk.api("PATCH", f"/v1/agents/{agent['id']}", {"is_system": True})
    assert problem(refused) == (400, "invalid_request")


def test_the_platform_publishes_an_agent_to_every_account(desk: Desk, platform: Api) -> None:
    handbook = desk.chat.base("Handbook")
    body = {"name": "Guide", "instructions": "The platform's secret sauce.", "agent_ds": ["handbook", "faq"]}
    draft = created(platform("POST", "/v1/agents", {**body, "name": "Draft"}))
    guide = created(platform("POST", "/v1/agents", {**body, "published": True, "is_system": True}))
    own = desk.agent(name="Zoe")
    listed = desk.api("GET", "/v1/agents")
    assert [one["id"] for one in created(listed)["items"]] == [own["id"], guide["id"]]
    assert "sauce" not in listed.text
    path = f"/v1/agents/{guide['id']}"
    seen = created(desk.api("GET", path))
    assert (seen["instructions"], seen["from_platform"], seen["is_system"]) == (None, True, True)
    # Its names mean the account's own knowledge bases.
    assert [(one["name"], one["reason"]) for one in seen["unresolved"]] == [("faq", "unknown")]
    adopted = created(desk.api("PATCH", path, {"agent_tenant_ds": [handbook["id"]]}))
    assert (adopted["agent_tenant_ds"], adopted["unresolved"]) == ([handbook["id"]], [])
    for changes in ({"instructions": "mine"}, {"name": "mine"}, {"published": False}):
        assert problem(desk.api("PATCH", path, changes)) == (400, "invalid_request")
    assert problem(desk.api("DELETE", path)) == (403, "permission_denied")
    # Nothing of it has changed at the platform, nor in another account.
    assert created(platform("GET", path))["agent_tenant_ds"] is None
    stranger = desk.chat.of(desk.chat.stack.tenant().admin)
    assert created(stranger("GET", path))["agent_tenant_ds"] is None
    assert problem(desk.api("GET", f"/v1/agents/{draft['id']}")) == (404, "not_found")
    created(platform("PATCH", path, {"published": False}))
    assert problem(desk.api("GET", path)) == (404, "not_found")


def test_pages_of_agents_go_on_into_the_platforms(desk: Desk, platform: Api) -> None:
    for number in range(3):
        created(platform("POST", "/v1/agents", {"name": f"P{number}", "published": True}))
        created(platform("POST", "/v1/agents", {"name": f"D{number}"}))
        desk.agent(name=f"A{number}")
    for limit in (1, 2, 3, 4, 6, 50):
        names, cursor = [], ""
        while cursor is not None:
            page = created(desk.api("GET", f"/v1/agents?limit={limit}{cursor and '&cursor=' + cursor}"))
            names += [one["name"] for one in page["items"]]
            cursor = page["next_cursor"]
        assert names == ["A0", "A1", "A2", "P0", "P1", "P2"], limit
    assert len(created(platform("GET", "/v1/agents"))["items"]) == 6


def test_spaces(desk: Desk) -> None:
    engineering = desk.chat.tenant.departments["engineering"]
    base = desk.chat.base()
    made = created(
        desk.api("POST", "/v1/spaces", {"name": "Lab", "knowledge_base_ids": [base["id"], base["id"]]})
    )
    assert made["knowledge_base_ids"] == [base["id"]]
    path = f"/v1/spaces/{made['id']}"
    marketing = desk.chat.of(desk.chat.tenant.marketing)
    assert created(marketing("GET", path)) == made
    changed = created(desk.api("PATCH", path, {"name": "Lab 2", "department_ids": [engineering]}))
    assert (changed["name"], changed["department_ids"]) == ("Lab 2", [engineering])
    assert problem(marketing("GET", path)) == (404, "not_found")
    assert created(marketing("GET", "/v1/spaces"))["items"] == []
    member = desk.chat.of(desk.chat.tenant.engineering)
    assert [one["id"] for one in created(member("GET", "/v1/spaces"))["items"]] == [made["id"]]
    assert problem(member("PATCH", path, {"name": "x"})) == (403, "permission_denied")
    assert problem(desk.api("POST", "/v1/spaces", {"name": "x", "department_ids": ["dep_none"]})) == (
        400,
        "invalid_request",
    )
    limited = desk.chat.of(desk.chat.stack.api(desk.chat.tenant.records, tuple(Permission), [engineering]))
    elsewhere = [desk.chat.tenant.departments["marketing"]]
    assert problem(limited("PATCH", path, {"department_ids": elsewhere})) == (400, "invalid_request")
    assert desk.api("DELETE", path).status_code == 204
    assert problem(desk.api("GET", path)) == (404, "not_found")
