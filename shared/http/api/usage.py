"""What the account used: calls, tokens and cost, by day, knowledge base, purpose and model."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from enum import StrEnum

from pydantic import Field, field_validator

from shared.domain.accounts import Caller, Permission
from shared.domain.errors import InvalidRequestError
from shared.domain.spending import Purpose
from shared.domain.usage import DOCUMENTS, RUNS, Counts, Line, added
from shared.http.models import Params, View
from shared.http.routes import AnyRoute, Call, Route
from shared.library.deps import LibraryDeps
from shared.ports import AccountStore
from shared.records import KNOWLEDGE_BASES
from shared.tenancy.usage import read_usage

_USUAL_DAYS = 30
_MOST_DAYS = 366


class By(StrEnum):
    DAY = "day"
    KNOWLEDGE_BASE = "knowledge_base"
    PURPOSE = "purpose"
    MODEL = "model"


class UsageParams(Params):
    """Days are of UTC; both ends are included."""

    from_: date | None = Field(default=None, alias="from", description="First day; 30 days ago by default.")
    to: date | None = Field(default=None, description="Last day; today by default.")
    group_by: str = Field(
        default="day,knowledge_base",
        description="One or more of `day`, `knowledge_base`, `purpose`, `model`, with commas between.",
    )

    @field_validator("group_by")
    @classmethod
    def _known(cls, value: str) -> str:
        groups(value)
        return value


class CountsView(View):
    """`runs` and `documents` have no purpose and no model: where these are told apart, they are null.
    `documents` counts those that became ready after work on them was paid for."""

    runs: int | None
    documents: int | None
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = Field(description="The part of the input that a prompt cache held.")
    cache_write_tokens: int
    cost_microdollars: float = Field(description="Millionths of a US dollar; local models cost nothing.")


class UsageItemView(CountsView):
    """A field that was not asked for in `group_by` is null, and so is the knowledge base of what belongs to
    none."""

    day: date | None
    knowledge_base_id: str | None
    purpose: Purpose | None
    model: str | None


class UsageReportView(View):
    from_: date = Field(serialization_alias="from")
    to: date
    items: tuple[UsageItemView, ...]
    total: CountsView


_Group = tuple[str, str, str, str]


def get_usage(deps: LibraryDeps, call: Call[None, UsageParams]) -> UsageReportView:
    """A caller limited to departments sees what is of knowledge bases that it reaches."""
    first, last = _days(call.query, deps.clock.now().date())
    by = groups(call.query.group_by)
    store = deps.store.of(call.caller.account_id)
    found: defaultdict[_Group, Counts] = defaultdict(dict)
    every: Counts = {}
    visible = _visible(store, call.caller)
    for day, line, counts in read_usage(store, first, last):
        if visible is None or line.knowledge_base_id in visible:
            group = _group(day, line, by)
            found[group] = added(found[group], counts)
            every = added(every, counts)
    items = tuple(_item(group, counts, by) for group, counts in sorted(found.items()))
    kept = tuple(item for item in items if item.calls or item.runs or item.documents)
    return UsageReportView(from_=first, to=last, items=kept, total=CountsView(**_counts(every, split=False)))


def groups(value: str) -> frozenset[By]:
    """Raises `ValueError`, which names what there is."""
    names = [name.strip() for name in value.split(",")]
    unknown = [name for name in names if name not in set(By)]
    if unknown:
        raise ValueError(f"must be of {', '.join(By)}")
    return frozenset(map(By, names))


def _days(query: UsageParams, today: date) -> tuple[date, date]:
    last = query.to or max(today, query.from_ or today)
    first = query.from_ or last - timedelta(days=_USUAL_DAYS - 1)
    if not 0 <= (last - first).days < _MOST_DAYS:
        raise InvalidRequestError(
            f"From {first} to {last} are not 1 to {_MOST_DAYS} days.",
            fields=(("from", f"at most {_MOST_DAYS} days before `to`, and not after it"),),
        )
    return first, last


def _visible(store: AccountStore, caller: Caller) -> frozenset[str] | None:
    """The knowledge bases that the caller reaches; None for all, those that are no more included."""
    if caller.department_ids is None:
        return None
    from shared.ports import Query

    bases = store.every(KNOWLEDGE_BASES, Query())
    return frozenset(base.id for base in bases if caller.reaches(base.department_ids))


def _group(day: str, line: Line, by: frozenset[By]) -> _Group:
    return (
        day if By.DAY in by else "",
        line.knowledge_base_id if By.KNOWLEDGE_BASE in by else "",
        line.purpose or "" if By.PURPOSE in by else "",
        line.model if By.MODEL in by else "",
    )


def _item(group: _Group, counts: Counts, by: frozenset[By]) -> UsageItemView:
    day, base, purpose, model = group
    split = not by.isdisjoint({By.PURPOSE, By.MODEL})
    return UsageItemView(
        day=date.fromisoformat(day) if day else None,
        knowledge_base_id=base or None,
        purpose=Purpose(purpose) if purpose else None,
        model=model or None,
        **_counts(counts, split=split),
    )


def _counts(counts: Counts, *, split: bool) -> dict[str, int | float | None]:
    return {
        "runs": None if split else counts.get(RUNS, 0),
        "documents": None if split else counts.get(DOCUMENTS, 0),
        "calls": counts.get("calls", 0),
        "input_tokens": counts.get("input", 0),
        "output_tokens": counts.get("output", 0),
        "cached_tokens": counts.get("cached", 0),
        "cache_write_tokens": counts.get("written", 0),
        "cost_microdollars": counts.get("cost", 0) / 1000,
    }


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/v1/usage",
        get_usage,
        "What the account used, and what it cost",
        Permission.ACCOUNT_ADMIN,
        query=UsageParams,
        response=UsageReportView,
    ),
)
