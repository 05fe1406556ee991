"""The chat function on the embedded stores, answered by the real SDK on a stub, or by a script."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from emulators.models.server import ModelStubs
from shared.adapters.anthropic_models import AnthropicAnswers
from shared.adapters.gateway import Gateway
from shared.domain.models import Prompt, Reply, TokenUse
from shared.http.app import HttpApp
from shared.http.chat.routes import ROUTES
from shared.ports import AnswerModel, ConversationModel
from tests.flows.api_stack import Api, Stack, Tenant, created, stack_on
from tests.flows.workbench import Workbench
from tests.http_client import client_of

HANDBOOK = """# Leave

Every employee has twenty six days of annual leave in a calendar year.

# Pumps

The drainage pump in hall seven is serviced every spring by the plumbing crew.

| Grade | Bonus |
|---|---|
| Senior | 500 euros |
| Lead | 900 euros |
"""
LEAVE_QUESTION = "How many days of annual leave has every employee?"


@dataclass
class ScriptedAnswers:
    """`ports.AnswerModel`: says what it is told to, and keeps the prompts."""

    name: str = "scripted"
    replies: list[str] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    def using(self, model: str) -> ScriptedAnswers:
        return self

    def answer(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        return Reply(self.replies.pop(0), TokenUse(self.name, 10, 5))

    def stream(self, prompt: Prompt) -> Generator[str | Reply, None, None]:
        reply = self.answer(prompt)
        yield from (reply.text[at : at + 3] for at in range(0, len(reply.text), 3))
        yield reply


class Unhurried(Gateway):
    """Waits on a clock that only waiting moves."""

    def __init__(self) -> None:
        self.time = 0.0
        super().__init__("Anthropic", now=lambda: self.time, sleep=self._pass, jitter=lambda: 0.0)

    def _pass(self, seconds: float) -> None:
        self.time += seconds


@dataclass
class ChatBench(Workbench):
    answer_model: AnswerModel = field(default_factory=ScriptedAnswers)
    conversation_model: ConversationModel | None = None


@dataclass(frozen=True)
class Chat:
    bench: ChatBench
    stack: Stack
    tenant: Tenant

    def of(self, api: Api) -> Api:
        """The chat function as the same key sees it."""
        app = HttpApp(
            ROUTES,
            self.bench,
            authenticate=self.bench.authenticator,
            store=self.bench.store,
            clock=self.bench.clock,
        )
        return Api(client_of(app), api.token)

    def base(self, name: str = "Handbook", **fields: object) -> dict[str, Any]:
        body = {"name": name, "type": "files", "is_auto_context": True, **fields}
        return created(self.tenant.admin("POST", "/v1/knowledge-bases", body))

    def upload(self, base: dict[str, Any], text: str, name: str = "handbook.md") -> dict[str, Any]:
        path = f"/v1/knowledge-bases/{base['id']}/documents"
        document = created(self.tenant.admin.upload(path, text.encode(), name))
        self.stack.ingest(self.tenant, document)
        return document


def chat_on(bench: Workbench, stubs: ModelStubs) -> Chat:
    """An account without documents, answered by the real SDK on the provider's stub."""
    stubs.anthropic.reset()
    gateway = Unhurried()
    model = AnthropicAnswers(
        api_key="k", base_url=stubs.anthropic_url, model="claude-sonnet-5-5", gateway=gateway
    )
    whole = ChatBench(bench.store, bench.uploads, bench.derived, answer_model=model)
    stack = stack_on(whole)
    return Chat(whole, stack, stack.tenant())


def passage_id(chat: Chat, query: str = LEAVE_QUESTION) -> str:
    found = created(chat.of(chat.tenant.admin)("POST", "/v1/retrieve", {"query": query}))
    return str(found["passages"][0]["id"])
