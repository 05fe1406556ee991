"""Knowledge bases, documents and records, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.domain.models import TokenUse

MetadataValue = str | int | float | bool


class KnowledgeBaseType(StrEnum):
    FILES = "files"
    FORM = "form"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """`index_version` grows with every change that retrieval must see; equal versions need no index read.

    `name_key` is the lower-cased name: unique in the account. `inline_tokens` is the sum over its records;
    `inline_version` grows with every change of them.
    """

    id: str
    name: str
    name_key: str
    type: KnowledgeBaseType
    description: str
    category: str | None
    department_ids: tuple[str, ...]
    is_auto_context: bool
    active: bool
    index_version: int
    created_at: datetime
    updated_at: datetime
    deleting: bool = False
    inline_tokens: int = 0
    inline_version: int = 0


class DocumentStatus(StrEnum):
    AWAITING_UPLOAD = "awaiting_upload"
    UPLOADED = "uploaded"
    EXTRACTING = "extracting"
    CHUNKING = "chunking"
    SUMMARIZING = "summarizing"
    EMBEDDING = "embedding"
    READY = "ready"
    PARTIAL = "partial"
    FAILED = "failed"
    DUPLICATE = "duplicate"
    DELETING = "deleting"


class SourceKind(StrEnum):
    UPLOAD = "upload"
    URL = "url"
    WRITE_STEP = "write_step"
    CAPTURE = "capture"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document came from. `content_type` is what the client claimed: a hint, never trusted."""

    kind: SourceKind
    filename: str | None = None
    content_type: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of the current step: chunks while summarizing, passages while embedding."""

    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a file gave text. `unit` is page, sheet or section; `missing` names (from 1, or by title)
    the units that show something but gave no text. Blank and hidden units count in `total` and `with_text`
    does not include them; `left_out` names hidden ones."""

    unit: str
    total: int
    with_text: int
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """The revision that readers see. `segments` maps the ids written for it to their passage counts."""

    revision: int
    fingerprint: str
    chunks: int
    passages: int
    segments: Mapping[str, int]
    at: datetime


@dataclass(frozen=True, slots=True)
class Work:
    """The claim on a revision in progress. `token` is the fencing token: it grows with every claim, and every
    later write checks it, so a worker that lost its lease can change nothing.

    `attempt` counts claims after a failure or a death; `continuations` the calls that ran out of time and
    parked the work for the next one (`parked`), which is not a failure.
    """

    revision: int
    token: int
    lease_until: datetime
    attempt: int
    continuations: int = 0
    parked: bool = False


class RefreshOutcome(StrEnum):
    """What a read of a document's address came to. `gone`: it was missing several times in a row."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """`code` is an error's code, `detail` a sentence for people."""

    outcome: RefreshOutcome
    at: datetime
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Refresh:
    """How a document follows its address.

    `next_at` is when it is due (None: only on request), and names the window of the task that reads it: a
    task for another window has nothing to do. `begun` counts the reads that started, `finished` is the newest
    one that had a result: an older one that ends later changes nothing. `failures` and `missing` count in a
    row.

    `sha256` (bytes), `text_sha256` (extracted text) and `mark` (text without what changes at every visit) are
    those of the last content taken over, which became `revision`; `host` is where that came from in the end.
    `address_id` stands for the knowledge base and the address: a knowledge base follows an address once.
    """

    interval_days: int | None = None
    next_at: datetime | None = None
    last: RefreshReport | None = None
    confirmed_at: datetime | None = None
    failures: int = 0
    missing: int = 0
    begun: int = 0
    finished: int = 0
    revision: int = 0
    sha256: str | None = None
    text_sha256: str | None = None
    mark: str | None = None
    host: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    address_id: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """`latest_revision` is the newest content accepted; `published` the one that readers see.

    A document never changes its knowledge base. `object_name` is the stored object of the latest revision.
    `spent` is what models were paid for it, all revisions together.
    `settled_revision` is the newest revision that reached an end state (published, failed or duplicate).
    """

    id: str
    knowledge_base_id: str
    title: str
    source: Source
    status: DocumentStatus
    latest_revision: int
    object_name: str
    created_at: datetime
    updated_at: datetime
    settled_revision: int = 0
    work: Work | None = None
    published: Published | None = None
    next_token: int = 1
    progress: Progress = field(default_factory=Progress)
    attempts: int = 0
    error: Failure | None = None
    coverage: Coverage | None = None
    sha256: str | None = None
    text_sha256: str | None = None
    bytes: int | None = None
    characters: int | None = None
    language: str | None = None
    duplicate_of: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    archived: bool = False
    effective_from: datetime | None = None
    effective_to: datetime | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    upload_expires_at: datetime | None = None
    refresh: Refresh | None = None
    spent: TokenUse = field(default_factory=TokenUse)

    @property
    def live(self) -> bool:
        """Whether there is a published revision that may be shown."""
        return self.published is not None and self.status is not DocumentStatus.DELETING


@dataclass(frozen=True, slots=True)
class NameClaim:
    """Says which knowledge base has a name; its id comes from the lower-cased name."""

    id: str
    knowledge_base_id: str


@dataclass(frozen=True, slots=True)
class ContentClaim:
    """Says which document of a knowledge base stands for certain bytes, and which revisions of it have them;
    its id comes from knowledge base and bytes."""

    id: str
    document_id: str
    sha256: str
    revisions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """An entry of a `form` knowledge base (`values`), or the text of a `page` one (`text`). `tokens` counts
    it as it stands in a prompt."""

    id: str
    knowledge_base_id: str
    created_at: datetime
    updated_at: datetime
    text: str | None = None
    values: Mapping[str, MetadataValue] = field(default_factory=dict)
    tokens: int = 0


class SubjectKind(StrEnum):
    """What can be deleted with a receipt."""

    DOCUMENT = "document"
    KNOWLEDGE_BASE = "knowledge_base"
    ACCOUNT = "account"


class ReceiptStatus(StrEnum):
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a delete removed, by kind of thing.

    `department_ids` are those of the knowledge base at the moment of the delete: whoever could see what was
    deleted can see its receipt.
    """

    id: str
    subject_kind: SubjectKind
    subject_id: str
    status: ReceiptStatus
    created_at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    finished_at: datetime | None = None
    department_ids: tuple[str, ...] = ()
