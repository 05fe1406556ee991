"""What a message is answered from: the selection, the scope, the search, and the prompt made of all of it.

Chat, streaming and previews come through here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from shared.agents.agents import Found
from shared.agents.selection import Selection, read_known, select
from shared.answer.files import FilePart, FilesDeps, read_files
from shared.context.flow import ComposeRequest, Composition, compose
from shared.context.material import Material
from shared.context.sections import SectionKind
from shared.domain.accounts import Caller
from shared.domain.agents import Space
from shared.domain.conversation import Thread
from shared.domain.errors import AlmanacError
from shared.domain.models import Turn
from shared.domain.retrieval import Retrieval, RetrievalStatus
from shared.library.inline import InlineTexts, is_inline
from shared.ports import AccountStore
from shared.retrieve.flow import RetrieveRequest
from shared.retrieve.policy import PolicyName
from shared.retrieve.scope import Asked, Attachment, Scope, resolve_scope

log = logging.getLogger(__name__)

Retriever = Callable[[Caller, RetrieveRequest], Retrieval]


class AssembleDeps(FilesDeps, Protocol):
    """What assembling needs of the container."""

    @property
    def inline_texts(self) -> InlineTexts: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a message is answered: by which agent, in which space and thread."""

    agent: Found | None = None
    space: Space | None = None
    thread: Thread | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """`message` None asks nothing: then only what stands before every message is assembled. `query` is what
    is searched for it. `references` are documents that alone are searched for this message."""

    message: str | None
    query: str = ""
    asked: Asked = field(default_factory=Asked)
    references: tuple[str, ...] = ()
    files: tuple[FilePart, ...] = ()
    history: tuple[Turn, ...] = ()
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Assembled:
    retrieval: Retrieval
    composition: Composition
    selection: Selection


def assemble(
    deps: AssembleDeps, caller: Caller, setting: Setting, ask: Ask, retrieve: Retriever
) -> Assembled:
    """Raises `NotFoundError` for a document that the caller may not see, and `AttachmentTooLargeError`."""
    store = deps.store.of(caller.account_id)
    selection = _selection(store, caller, setting.agent)
    asked = asked_in(setting, selection, ask)
    scope = resolve_scope(store, caller, asked)
    files = read_files(deps, caller, ask.files)
    policy = PolicyName.RUN if setting.agent is None else PolicyName.MESSAGE
    request = RetrieveRequest(ask.query, asked, policy, scope=scope)
    retrieval = _retrieved(caller, request, ask, selection, retrieve)
    composition = compose(
        ComposeRequest(
            ask.message,
            retrieval if ask.message is not None else None,
            ask.history,
            (*_instructions(setting.agent), *_knowledge(deps.inline_texts, store, scope)),
            files,
            narrowed=asked.narrowed,
            searched=ask.query,
            earlier=ask.earlier,
        ),
        deps.count_tokens,
    )
    return Assembled(retrieval, composition, selection)


def asked_in(setting: Setting, selection: Selection, ask: Ask) -> Asked:
    """What is in scope. An agent that has no knowledge keeps out all that comes by itself; what the caller
    names for this message stays."""
    named = replace(
        ask.asked,
        document_ids=tuple(dict.fromkeys((*ask.asked.document_ids, *ask.references))),
        narrowed=bool(ask.references),
    )
    if selection.nothing:
        return replace(named, knowledge_base_ids=(), auto_context=False, narrowed=True)
    attached = [Attachment(base.id, "selected by the agent") for base in selection.bases]
    if setting.space is not None:
        attached += [Attachment(name, "attached to the space") for name in setting.space.knowledge_base_ids]
    thread = setting.thread
    if thread is None:
        return replace(named, attached=tuple(attached))
    attached += [Attachment(name, "attached to the thread") for name in thread.knowledge_base_ids]
    narrow_to = () if ask.references else thread.thread_ref
    return replace(
        named, attached=tuple(attached), narrowed=named.narrowed or bool(narrow_to), narrow_to=narrow_to
    )


def _selection(store: AccountStore, caller: Caller, agent: Found | None) -> Selection:
    return Selection() if agent is None else select(agent.agent, read_known(store, [agent.agent]), caller)


def _instructions(agent: Found | None) -> Iterator[Material]:
    if agent is not None:
        one = agent.agent
        yield Material(SectionKind.INSTRUCTIONS, one.name, one.instructions, (one.id,), "the agent's own")


def _knowledge(texts: InlineTexts, store: AccountStore, scope: Scope) -> Iterator[Material]:
    """What is in scope, whatever the search is narrowed to: records whole, documents by name."""
    for entry in scope.whole:
        base = scope.knowledge_bases[entry.knowledge_base_id]
        kind = SectionKind.INLINE if is_inline(base) else SectionKind.POINTERS
        text = texts.read(store, base) if is_inline(base) else base.description
        yield Material(kind, base.name, text, (base.id,), entry.reason)


def _retrieved(
    caller: Caller, request: RetrieveRequest, ask: Ask, selection: Selection, retrieve: Retriever
) -> Retrieval:
    """A search that fails on our side does not end the conversation; a caller's mistake is told."""
    if ask.message is None:
        return Retrieval(RetrievalStatus.SKIPPED, request.query)
    if selection.nothing and not request.asked.document_ids:
        return Retrieval(RetrievalStatus.SKIPPED, request.query, detail="the agent is to have no knowledge")
    try:
        return retrieve(caller, request)
    except AlmanacError as error:
        if error.status < 500:
            raise
        log.warning("retrieval failed", exc_info=True, extra={"code": error.code})
        return Retrieval(RetrievalStatus.FAILED, request.query, detail=f"{error.code}: {error.message}")
