"""What an agent's selection brings: a row a rule, and a row a trap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from shared.agents.selection import Known, key_of, links_of, select
from shared.domain.accounts import Caller, Permission, Plan
from shared.domain.agents import Agent, Link, Why
from shared.domain.knowledge import KnowledgeBase, KnowledgeBaseType
from shared.library.names import clean_name, name_key

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def base(name: str, *departments: str, active: bool = True, deleting: bool = False) -> KnowledgeBase:
    cleaned = clean_name(name)
    return KnowledgeBase(
        id="kb_" + cleaned.replace(" ", "_"),
        name=cleaned,
        name_key=name_key(cleaned),
        type=KnowledgeBaseType.FILES,
        description="",
        category=None,
        department_ids=departments,
        is_auto_context=False,
        active=active,
        index_version=0,
        created_at=NOW,
        updated_at=NOW,
        deleting=deleting,
    )


BASES = (
    base("Price List"),
    base("Handbook"),
    base("Q3 2026 Report"),
    base("客户 名单"),
    base("Ürün Kılavuzu"),
    base("मूल्य सूची"),
    base("قائمة الأسعار"),
    base("Straße"),
    base("Retired", active=False),
    base("Going", deleting=True),
    base("Secret Plans", "engineering"),
    base("Old Secrets", "engineering", active=False),
    base("Prices 2026"),
)
KNOWN = Known({one.name_key: one for one in BASES}, {one.id: one for one in BASES})


def agent(**fields: object) -> Agent:
    return Agent("agt_1", "Helper", "", NOW, NOW, **fields)  # type: ignore[arg-type]


def caller(*departments: str) -> Caller:
    return Caller("acme", Plan.PRO, "key:1", frozenset(Permission), frozenset(departments) or None)


@dataclass(frozen=True)
class Row:
    """`brings` None: nothing at all, and nothing comes by itself either."""

    what: str
    agent: Agent
    brings: tuple[str, ...] | None
    unresolved: tuple[tuple[str, str, Why], ...] = ()
    departments: tuple[str, ...] = ()


DS, TENANT, ATTACHED = "agent_ds", "agent_tenant_ds", "knowledge_base_ids"


def unknown(name: str) -> tuple[str, str, Why]:
    return (DS, name, Why.UNKNOWN)


ROWS = (
    Row("neither is set: the default", agent(), ()),
    Row("a name in kebab-case", agent(agent_ds=("price-list",)), ("Price List",)),
    Row("the order is the agent's", agent(agent_ds=("handbook", "price-list")), ("Handbook", "Price List")),
    Row("capitals do not matter", agent(agent_ds=("PRICE-List",)), ("Price List",)),
    Row("spaces may stand for hyphens", agent(agent_ds=("price list",)), ("Price List",)),
    Row("digits in a name", agent(agent_ds=("q3-2026-report",)), ("Q3 2026 Report",)),
    Row("digits are not approximated", agent(agent_ds=("q3-report",)), (), ((DS, "q3-report", Why.UNKNOWN),)),
    Row("Chinese", agent(agent_ds=("客户-名单",)), ("客户 名单",)),
    Row("Turkish", agent(agent_ds=("ürün-kılavuzu",)), ("Ürün Kılavuzu",)),
    Row("letters taken apart", agent(agent_ds=("u\u0308ru\u0308n-kılavuzu",)), ("Ürün Kılavuzu",)),
    Row("Hindi", agent(agent_ds=("मूल्य-सूची",)), ("मूल्य सूची",)),
    Row("Arabic", agent(agent_ds=("قائمة-الأسعار",)), ("قائمة الأسعار",)),
    Row("lower-cased, not folded", agent(agent_ds=("strasse",)), (), ((DS, "strasse", Why.UNKNOWN),)),
    Row("two hyphens are two spaces", agent(agent_ds=("price--list",)), (), (unknown("price--list"),)),
    Row("two spaces are not one", agent(agent_ds=("price  list",)), (), (unknown("price  list"),)),
    Row("a hyphen at an end", agent(agent_ds=("price-list-",)), (), (unknown("price-list-"),)),
    Row("an underscore is no hyphen", agent(agent_ds=("price_list",)), (), (unknown("price_list"),)),
    Row("an id is no name", agent(agent_ds=("kb_Handbook",)), (), ((DS, "kb_Handbook", Why.UNKNOWN),)),
    Row("a name is no id", agent(agent_tenant_ds=("handbook",)), (), ((TENANT, "handbook", Why.UNKNOWN),)),
    Row(
        "one unknown among known ones",
        agent(agent_ds=("handbook", "nothing-here", "price-list")),
        ("Handbook", "Price List"),
        ((DS, "nothing-here", Why.UNKNOWN),),
    ),
    Row("the same twice", agent(agent_ds=("handbook", "Handbook", "handbook")), ("Handbook",)),
    Row("the workspace's choice", agent(agent_tenant_ds=("kb_Handbook",)), ("Handbook",)),
    Row(
        "the workspace's choice wins outright",
        agent(agent_ds=("price-list", "nothing-here"), agent_tenant_ds=("kb_Handbook",)),
        ("Handbook",),
    ),
    Row(
        "it wins where it resolves to nothing, too",
        agent(agent_ds=("price-list",), agent_tenant_ds=("kb_gone",)),
        (),
        ((TENANT, "kb_gone", Why.UNKNOWN),),
    ),
    Row("what cannot be an id", agent(agent_tenant_ds=("a/b",)), (), ((TENANT, "a/b", Why.UNKNOWN),)),
    Row("an empty definition: no knowledge at all", agent(agent_ds=()), None),
    Row("an empty choice: no knowledge at all", agent(agent_tenant_ds=()), None),
    Row("an empty choice wins over names", agent(agent_ds=("handbook",), agent_tenant_ds=()), None),
    Row(
        "a choice wins over an empty definition",
        agent(agent_ds=(), agent_tenant_ds=("kb_Handbook",)),
        ("Handbook",),
    ),
    Row(
        "nothing at all includes what is attached",
        agent(agent_ds=(), knowledge_base_ids=("kb_Handbook",)),
        None,
    ),
    Row("attached alone", agent(knowledge_base_ids=("kb_Handbook",)), ("Handbook",)),
    Row(
        "attached beside what is selected",
        agent(agent_ds=("price-list",), knowledge_base_ids=("kb_Handbook", "kb_gone")),
        ("Price List", "Handbook"),
        ((ATTACHED, "kb_gone", Why.UNKNOWN),),
    ),
    Row("inactive by name", agent(agent_ds=("retired",)), (), ((DS, "retired", Why.INACTIVE),)),
    Row(
        "inactive by id",
        agent(agent_tenant_ds=("kb_Retired",)),
        (),
        ((TENANT, "kb_Retired", Why.INACTIVE),),
    ),
    Row("being deleted", agent(agent_ds=("going",)), (), ((DS, "going", Why.UNKNOWN),)),
    Row(
        "renamed",
        agent(agent_ds=("prices",), links=(Link("prices", "kb_Prices_2026"),)),
        (),
        ((DS, "prices", Why.RENAMED),),
    ),
    Row(
        "renamed, and another has the name now",
        agent(agent_ds=("handbook",), links=(Link("handbook", "kb_Prices_2026"),)),
        ("Handbook",),
    ),
    Row(
        "renamed is no matter where the workspace has chosen",
        agent(
            agent_ds=("prices",), links=(Link("prices", "kb_Prices_2026"),), agent_tenant_ds=("kb_Handbook",)
        ),
        ("Handbook",),
    ),
    Row(
        "a department's, for one of it",
        agent(agent_ds=("secret-plans",)),
        ("Secret Plans",),
        departments=("engineering",),
    ),
    Row(
        "another department's is as if it were not there",
        agent(agent_ds=("secret-plans",), knowledge_base_ids=("kb_Secret_Plans",)),
        (),
        ((DS, "secret-plans", Why.UNKNOWN), (ATTACHED, "kb_Secret_Plans", Why.UNKNOWN)),
        ("marketing",),
    ),
    Row(
        "so is one of it that is not active, or was renamed",
        agent(agent_ds=("old-secrets", "secrets"), links=(Link("secrets", "kb_Secret_Plans"),)),
        (),
        ((DS, "old-secrets", Why.UNKNOWN), (DS, "secrets", Why.UNKNOWN)),
        ("marketing",),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_selection(row: Row) -> None:
    found = select(row.agent, KNOWN, caller(*row.departments))
    assert found.nothing is (row.brings is None)
    assert tuple(one.name for one in found.bases) == (row.brings or ())
    assert tuple((one.field, one.name, one.reason) for one in found.unresolved) == row.unresolved
    assert all(one.detail for one in found.unresolved)


def test_unresolved_tells_nothing_of_what_the_caller_may_not_see() -> None:
    chosen = agent(agent_ds=("secret-plans", "nothing-here"))
    hidden, absent = select(chosen, KNOWN, caller("marketing")).unresolved
    assert hidden.detail == absent.detail


def test_who_may_be_answered_without_it_is_told() -> None:
    found = select(agent(agent_ds=("secret-plans", "handbook")), KNOWN, caller())
    assert [one.name for one in found.limited] == ["Secret Plans"]


def test_links_are_of_names_that_the_editor_can_see() -> None:
    names = ("handbook", "nothing-here", "secret-plans", "retired")
    linked = links_of(names, KNOWN, caller("marketing"))
    assert [link.name for link in linked] == ["handbook", "retired"]


def test_a_name_is_its_own_key() -> None:
    for one in BASES:
        assert key_of(one.name.replace(" ", "-")) == one.name_key
