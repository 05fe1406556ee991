"""The edges as roles. Adapters implement them, `wiring` chooses, everything else only knows these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from shared.domain.accounts import Person
from shared.domain.media import Described, DescribeRequest
from shared.domain.models import (
    EmbeddingProfile,
    Fold,
    FollowUp,
    Prompt,
    Reply,
    Rewritten,
    Summary,
    SummaryRequest,
    TokenUse,
)

if TYPE_CHECKING:  # numpy costs a quarter of a second of every cold start that never embeds
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

T = TypeVar("T")
R = TypeVar("R")


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, UTC and aware."""
        ...


TokenCounter = Callable[[str], int]


# --- records -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of record: where it is kept below the account, and the frozen dataclass that it parses into.

    The type has a field `id`, which is the record's name and is not stored a second time. An empty
    collection is the account's own record.
    """

    collection: str
    type: type[T]

    def below(self, parent: Kind[Any], parent_id: str) -> Kind[T]:
        """The same kind as a subcollection of one parent record, e.g. the messages of a thread."""
        return Kind(f"{parent.collection}/{parent_id}/{self.collection}", self.type)


@dataclass(frozen=True, slots=True)
class Query:
    """Equality and order conditions that every record of a page meets.

    `where` holds (field, operator, value) with Firestore's operators (`==`, `<`, `<=`, `>`, `>=`, `in`,
    `array_contains`). `order_by` is a field; `-field` for descending; records with equal values follow by id.
    `cursor` is the opaque mark that the page before returned.
    """

    where: tuple[tuple[str, str, Any], ...] = ()
    order_by: str | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next_cursor: str | None = None


class Transaction(Protocol):
    """Reads first, then writes; all of it commits at once or not at all. The body may run several times."""

    def get(self, kind: Kind[T], record_id: str) -> T | None: ...

    def get_many(self, kind: Kind[T], record_ids: Sequence[str]) -> dict[str, T]: ...

    def find(self, kind: Kind[T], query: Query) -> tuple[T, ...]: ...

    def put(self, kind: Kind[T], record: T) -> None: ...

    def add(self, kind: Kind[T], record: T) -> None:
        """Adds the record's whole numbers to those of the stored one, mappings key by key, without reading
        it; its other fields replace what is there. Where there is none it is stored."""
        ...

    def delete(self, kind: Kind[Any], record_id: str) -> None: ...


class AccountStore(Protocol):
    """Records of one account. Nothing here can name another."""

    @property
    def account_id(self) -> str: ...

    def get(self, kind: Kind[T], record_id: str) -> T | None: ...

    def get_many(self, kind: Kind[T], record_ids: Sequence[str]) -> dict[str, T]:
        """One batch read; ids that do not exist are left out."""
        ...

    def find(self, kind: Kind[T], query: Query) -> Page[T]: ...

    def every(self, kind: Kind[T], query: Query) -> Iterator[T]:
        """All matching records, streamed; `limit` and `cursor` of the query are not used."""
        ...

    def count(self, kind: Kind[Any], query: Query) -> int:
        """How many match, without reading them; `order_by`, `limit` and `cursor` are not used."""
        ...

    def create(self, kind: Kind[T], record: T) -> None:
        """Raises `ConflictError` when the id is taken."""
        ...

    def put_many(self, kind: Kind[T], records: Sequence[T]) -> None:
        """Replaces whole records in as few atomic commits as their size allows, in order."""
        ...

    def add(self, kind: Kind[T], record: T) -> None:
        """`Transaction.add` by itself."""
        ...

    def delete_many(self, kind: Kind[Any], record_ids: Sequence[str]) -> None: ...

    def wipe(self, keep: Collection[Kind[Any]] = ()) -> Mapping[str, int]:
        """Deletes everything below the account but these kinds, whatever it is; how many records by
        collection, with what is below them. Raises `TransientError` when something stays."""
        ...

    def transact(self, body: Callable[[Transaction], R]) -> R:
        """Runs `body`, again when another transaction interferes; `TransientError` when that does not end."""
        ...


class Store(Protocol):
    def of(self, account_id: str) -> AccountStore:
        """The account is bound here, once; a query without one cannot be written."""
        ...

    def account_ids(self) -> Iterator[str]:
        """Every account there is: for administration and sweeps only."""
        ...

    def accounts_with(self, kind: Kind[Any], field: str, value: str, *, limit: int) -> tuple[str, ...]:
        """Ids of accounts that hold a record whose `field` has this value: where a verified person belongs.
        The one question across accounts; it tells ids alone, and needs the field's collection-group index."""
        ...


# --- sign-in -----------------------------------------------------------------------------------


class IdTokens(Protocol):
    def verify(self, token: str) -> Person:
        """Whom an ID token is of.

        Raises `UnauthenticatedError` for one that does not hold (forged, of another project, expired,
        revoked, of a disabled user), `TransientError` when that cannot be told now.
        """
        ...


# --- objects, tasks ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """Where and how a client sends the bytes itself."""

    method: str
    url: str
    headers: dict[str, str]
    expires_at: datetime


class Objects(Protocol):
    """One bucket."""

    def write(self, name: str, data: bytes, *, content_type: str, replace: bool = False) -> int:
        """Stores an object and returns its generation. Without `replace` an existing object raises
        `ConflictError` (if-generation-match 0)."""
        ...

    def read(self, name: str, *, generation: int | None = None, limit: int | None = None) -> bytes:
        """Raises `NotFoundError`, or `TooLargeError` when the object has more than `limit` bytes."""
        ...

    def delete_prefix(self, prefix: str) -> int:
        """Deletes every object whose name starts so; returns how many there were."""
        ...

    def sign_upload(
        self, name: str, *, content_type: str, size_limit: int, expires_at: datetime
    ) -> UploadTarget: ...


@dataclass(frozen=True, slots=True)
class Task:
    """A call to the `tasks` function: POST `path` with `body` as JSON, not before `at`.

    A task with the same `name` is not enqueued twice within an hour.
    """

    path: str
    body: dict[str, str | int]
    name: str | None = None
    at: datetime | None = None


class CallerCheck(Protocol):
    """Whether a call comes from the queue or the scheduler."""

    def check(self, authorization: str | None) -> None:
        """Takes the `Authorization` header. Raises `UnauthenticatedError` or `PermissionDeniedError`."""
        ...


class TaskQueue(Protocol):
    def enqueue(self, task: Task) -> bool:
        """False when a task of that name exists or existed a short while ago."""
        ...


# --- the web -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """`etag` and `last_modified` are what the server said before: it may answer that nothing changed."""

    url: str
    max_bytes: int
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer of a web server, redirects followed. `url` is where it came from in the end. `body` is empty
    unless the status is 200. `retry_after` in seconds where the server asked for patience."""

    url: str
    status: int
    content_type: str = ""
    body: bytes = b""
    etag: str | None = None
    last_modified: str | None = None
    retry_after: float | None = None


class Fetcher(Protocol):
    def fetch(self, request: FetchRequest) -> Fetched:
        """Reads an address of the public web; private networks cannot be reached through it.

        Raises `UrlForbiddenError` for an address that may not be read, `FetchFailedError` when no answer
        came, `RateLimitedError` when it is another reader's turn first, `TooLargeError`, and
        `UnsupportedTypeError` for a kind of content that is no document.
        """
        ...


# --- models ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Embeddings:
    """`vectors` is float32, one row a text, rows of length 1."""

    vectors: Vectors
    use: TokenUse = field(default_factory=TokenUse)


class Embedder(Protocol):
    """Raises `ModelUnavailableError`; never returns fewer rows than texts."""

    @property
    def profile(self) -> EmbeddingProfile: ...

    @property
    def batch_size(self) -> int:
        """How many texts make one paid call: what a crash can cost at most."""
        ...

    def passages(self, texts: Sequence[str]) -> Embeddings: ...

    def query(self, text: str) -> Embeddings: ...


class Summarizer(Protocol):
    @property
    def fingerprint(self) -> str: ...

    def summarize(self, request: SummaryRequest) -> Summary: ...


class ConversationModel(Protocol):
    """A quick, cheap model beside the answer. Raises `ModelUnavailableError`; there is always another way."""

    @property
    def name(self) -> str: ...

    def standalone(self, follow_up: FollowUp) -> Rewritten:
        """Within a few seconds: somebody is waiting for the answer."""
        ...

    def fold(self, fold: Fold) -> Summary:
        """A summary of what was summed up before and the turns; nobody waits for it."""
        ...


class AnswerModel(Protocol):
    """Both calls raise `ModelUnavailableError`."""

    @property
    def name(self) -> str: ...

    def using(self, model: str) -> AnswerModel:
        """The same provider's model of this name; itself where there is no other. Raises
        `MisconfiguredError` for one that the deployment does not know."""
        ...

    def answer(self, prompt: Prompt) -> Reply: ...

    def stream(self, prompt: Prompt) -> Generator[str | TokenUse | Reply, None, None]:
        """The text in pieces as it is written, then one reply with all of it. Once a piece came out the call
        is not tried again. Closing the generator ends the call.

        In between comes what the call has cost so far, as soon as that is known: an answer that breaks off,
        or whose reader leaves, was paid too."""
        ...


class ImageDescriber(Protocol):
    @property
    def name(self) -> str: ...

    def describe(self, request: DescribeRequest) -> Described:
        """One answer as the model gave it: whether its words are of the vocabularies is checked by who asks.
        Raises `ModelUnavailableError`."""
        ...
