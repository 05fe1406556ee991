"""An editor's desk for tests of agents: the chat function as the admin sees it, and what is made often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from shared.domain.accounts import PLATFORM, Plan
from shared.tenancy import accounts
from tests.flows.api_stack import ALL, Api, created
from tests.flows.chat_stack import Chat


@dataclass(frozen=True)
class Desk:
    chat: Chat
    api: Api

    def agent(self, api: Api | None = None, **fields: object) -> dict[str, Any]:
        return created((api or self.api)("POST", "/v1/agents", {"name": "Helper", **fields}))

    def space(self, **fields: object) -> dict[str, Any]:
        return created(self.api("POST", "/v1/spaces", {"name": "Lab", **fields}))

    def page(self, name: str, text: str, **fields: object) -> dict[str, Any]:
        """A page, which comes by itself only where `fields` say so."""
        made = self.chat.base(name, type="page", **{"is_auto_context": False, **fields})
        self.record(made, text=text)
        return made

    def record(self, base: dict[str, Any], **content: object) -> None:
        created(self.chat.tenant.admin("POST", f"/v1/knowledge-bases/{base['id']}/records", content))

    def rebase(self, base: dict[str, Any], **changes: object) -> None:
        created(self.chat.tenant.admin("PATCH", f"/v1/knowledge-bases/{base['id']}", changes))

    def ask(self, message: object, api: Api | None = None, **fields: object) -> dict[str, Any]:
        return created((api or self.api)("POST", "/v1/chat", {"message": message, **fields}))

    def preview(self, agent: dict[str, Any], api: Api | None = None, **params: str) -> dict[str, Any]:
        query = "&".join(f"{name}={value}" for name, value in params.items())
        return created((api or self.api)("GET", f"/v1/agents/{agent['id']}/preview-system-prompt?{query}"))

    def run(self, answer: dict[str, Any], api: Api | None = None) -> dict[str, Any]:
        return created((api or self.api)("GET", f"/v1/runs/{answer['id']}"))

    def unresolved(self, agent: dict[str, Any]) -> list[tuple[str, str, str]]:
        now = created(self.api("GET", f"/v1/agents/{agent['id']}"))
        return [(one["field"], one["name"], one["reason"]) for one in now["unresolved"]]


@pytest.fixture
def desk(chat: Chat) -> Desk:
    return Desk(chat, chat.of(chat.tenant.admin))


@pytest.fixture
def platform(chat: Chat) -> Api:
    """The platform's own key."""
    accounts.create_account(
        chat.bench.store, chat.bench.clock, "Platform", Plan.ENTERPRISE, account_id=PLATFORM
    )
    return chat.of(chat.stack.api(chat.bench.store.of(PLATFORM), ALL, None))
