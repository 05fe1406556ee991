"""What an agent would be sent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shared.domain.accounts import Permission
from shared.http.chat.agents import LimitedView
from shared.http.chat.chat import Text
from shared.http.chat.retrieve import count_found
from shared.http.chat.views import UnresolvedView
from shared.http.models import Id, Params, View
from shared.http.routes import AnyRoute, Call, Route

if TYPE_CHECKING:
    from shared.answer.preview import Preview
    from shared.http.chat.deps import ChatDeps


class PreviewParams(Params):
    message: Text | None = Field(default=None, description="With it, the search for it and all that is sent.")
    space_id: Id | None = None


class PartView(View):
    """A part of the prompt: what it says, which ids it came from, and why it is in.

    The texts of one place, in order and with a blank line between, are that part of the call to the byte.
    """

    kind: str
    place: Literal["system", "history", "user"]
    title: str
    text: str
    sources: tuple[str, ...]
    tokens: int
    reason: str


class OmittedView(View):
    kind: str
    title: str
    sources: tuple[str, ...]
    tokens: int
    reason: str


class PreviewView(View):
    sections: tuple[PartView, ...]
    omitted: tuple[OmittedView, ...]
    tokens: int = Field(description="Of all that is sent; of an agent of the platform's, of what is shown.")
    unresolved: tuple[UnresolvedView, ...]
    limited: tuple[LimitedView, ...]


def preview_system_prompt(deps: ChatDeps, call: Call[None, PreviewParams]) -> PreviewView:
    from shared.answer.preview import preview
    from shared.retrieve.flow import retrieve

    found = preview(
        deps,
        call.caller,
        call.path["agent_id"],
        message=call.query.message,
        space_id=call.query.space_id,
        retrieve=partial(retrieve, deps),
    )
    count_found(deps, call.caller.account_id, found.retrieval)
    return _view(found)


def _view(found: Preview) -> PreviewView:
    from shared.context.sections import PLACES

    return PreviewView(
        sections=tuple(
            PartView(
                kind=one.kind.value,
                place=PLACES[one.kind].value,
                title=one.title,
                text=one.text,
                sources=one.sources,
                tokens=one.tokens,
                reason=one.reason,
            )
            for one in found.sections
        ),
        omitted=tuple(
            OmittedView(
                kind=one.kind.value,
                title=one.title,
                sources=one.sources,
                tokens=one.tokens,
                reason=one.reason,
            )
            for one in found.omitted
        ),
        tokens=found.tokens,
        unresolved=tuple(map(UnresolvedView.of, found.unresolved)),
        limited=tuple(map(LimitedView.of, found.limited)),
    )


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/v1/agents/{agent_id}/preview-system-prompt",
        preview_system_prompt,
        "What an agent would be sent, part by part, and what was left out",
        Permission.AGENT_EDIT,
        query=PreviewParams,
        response=PreviewView,
    ),
)
