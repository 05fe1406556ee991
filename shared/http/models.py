"""Base models of what comes in and what goes out."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from shared.domain.ids import ID_REGEX

T = TypeVar("T")

Id = Annotated[str, Field(pattern=f"^{ID_REGEX}$")]


class Strict(BaseModel):
    """A part of a JSON body: unknown fields are errors, and values keep their JSON type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class ActingAs(Strict):
    """On whose behalf a key with the scope `act_as` calls."""

    user_id: Id
    department_ids: tuple[Id, ...] = ()


class Body(Strict):
    """A JSON body."""

    acting_as: ActingAs | None = None


def unchanged() -> Any:
    """The default of a field in a body of changes, where only `model_fields_set` counts. Being a factory, it
    shows no default in the schema: leaving a field out sets nothing."""
    return None


def changes(body: Body) -> dict[str, Any]:
    """The fields that a body of changes gives, null included."""
    return {name: getattr(body, name) for name in body.model_fields_set - {"acting_as"}}


class Params(BaseModel):
    """Query parameters or the fields of a form: all are text, so values are converted."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoParams(Params):
    """For routes that take none: a misspelt one is an error."""


class PageParams(Params):
    limit: int = Field(default=50, ge=1, le=200, description="How many at most.")
    cursor: str | None = Field(default=None, description="`next_cursor` of the page before.")


class View(BaseModel):
    """Something the API shows. Fields without a value are null, times RFC 3339 in UTC."""

    model_config = ConfigDict(frozen=True)


class Listing(View, Generic[T]):
    items: tuple[T, ...]
    next_cursor: str | None = None


class FieldProblem(View):
    field: str
    message: str


class Problem(View):
    """RFC 9457 problem details. `code` is stable; `hint` says what to do."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str
    request_id: str
    errors: tuple[FieldProblem, ...] | None = None
