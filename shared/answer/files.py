"""Files that a message brings whole: written into it, or documents of the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.context.material import AttachedFile, render_file
from shared.context.sections import BUDGETS, SectionKind
from shared.domain.accounts import Caller
from shared.domain.errors import TextTooLargeError
from shared.domain.knowledge import Document
from shared.ingest.extract.serialize import load_extraction
from shared.library.documents import get_document
from shared.library.knowledge_bases import get_knowledge_base
from shared.library.objects import RevisionRef, text_name
from shared.library.readings import require_published
from shared.ports import Objects, Store, TokenCounter
from shared.tenancy.authorize import not_found


class FilesDeps(Protocol):
    @property
    def store(self) -> Store: ...
    @property
    def derived(self) -> Objects: ...
    @property
    def count_tokens(self) -> TokenCounter: ...


class AttachmentTooLargeError(TextTooLargeError):
    title = "The attached file is too large"
    default_hint = "Send a part of it, or name the document as a reference: then it is searched."


@dataclass(frozen=True, slots=True)
class FilePart:
    """A document of the library, or a name and a text."""

    document_id: str | None = None
    name: str = ""
    text: str = ""


def read_files(deps: FilesDeps, caller: Caller, parts: Sequence[FilePart]) -> tuple[AttachedFile, ...]:
    """The files as they go into the prompt. Raises `NotFoundError` for a document that the caller may not
    see or that has no text yet, and `AttachmentTooLargeError` when they are more than a message carries."""
    limit = BUDGETS[SectionKind.FILES] or 0
    files: list[AttachedFile] = []
    total = 0
    for part in parts:
        file = _file(deps, caller, part)
        tokens = deps.count_tokens(render_file(file))
        total += tokens
        if total > limit:
            beside = f", with the files before it {total:,}" if files else ""
            raise AttachmentTooLargeError(
                f"{file.name!r} has {tokens:,} tokens{beside}; a message carries {limit:,} of attached files."
            )
        files.append(file)
    return tuple(files)


def document_text(deps: FilesDeps, caller: Caller, document_id: str) -> tuple[Document, str]:
    """A document with its whole text. Raises `NotFoundError` for one that the caller may not see, that has no
    text yet, or whose knowledge base is not active."""
    store = deps.store.of(caller.account_id)
    document = get_document(store, caller, document_id)
    if not get_knowledge_base(store, caller, document.knowledge_base_id).active:
        raise not_found(f"document {document.id}")
    ref = RevisionRef(caller.account_id, document.id, require_published(document).revision)
    return document, load_extraction(deps.derived.read(text_name(ref))).markdown


def _file(deps: FilesDeps, caller: Caller, part: FilePart) -> AttachedFile:
    if part.document_id is None:
        return AttachedFile(part.name, part.text)
    document, text = document_text(deps, caller, part.document_id)
    return AttachedFile(document.title, text, document.id)
