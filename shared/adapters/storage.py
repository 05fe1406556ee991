"""A bucket of Cloud Storage. Nothing above this module sees a type of the SDK."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shared.domain.errors import ConflictError, NotFoundError, TooLargeError, TransientError
from shared.ports import UploadTarget

if TYPE_CHECKING:
    from google.cloud.storage import Client

# Names the attempt that wrote an object, so that a write that was repeated because its answer got lost is
# told from one that met somebody else's object.
_WRITER = "almanac-writer"


def connect(project: str, emulator_url: str = "") -> Client:
    """A client; with `emulator_url` (`http://host:port`) an anonymous one of that emulator."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.storage import Client

    if not emulator_url:
        return Client(project=project)
    return Client(
        project=project,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options={"api_endpoint": emulator_url},
    )


class GcsObjects:
    """`ports.Objects`.

    A call that fails is repeated for `patience` seconds, then it is the platform's turn to deliver again. All
    writes here may be repeated: they create one object or replace it whole.
    """

    def __init__(self, client: Client, bucket: str, *, patience: float = 20.0) -> None:
        from google.cloud.storage.retry import DEFAULT_RETRY

        self._client = client
        self._bucket = client.bucket(bucket)
        self._retry = DEFAULT_RETRY.with_timeout(patience)

    def write(self, name: str, data: bytes, *, content_type: str, replace: bool = False) -> int:
        blob = self._bucket.blob(name)
        writer = secrets.token_hex(8)
        blob.metadata = {_WRITER: writer}
        try:
            with _translated(self._called(name)):
                blob.upload_from_string(
                    data,
                    content_type=content_type,
                    if_generation_match=None if replace else 0,
                    retry=self._retry,
                )
        except ConflictError:
            return self._own_generation(name, writer)
        return int(blob.generation)

    def _own_generation(self, name: str, writer: str) -> int:
        """The generation of what `writer` stored; `ConflictError` when the object is somebody else's."""
        with _translated(self._called(name)):
            blob = self._bucket.get_blob(name, retry=self._retry)
        if blob is None or (blob.metadata or {}).get(_WRITER) != writer:
            raise ConflictError(f"The {self._called(name)} exists already.")
        return int(blob.generation)

    def read(self, name: str, *, generation: int | None = None, limit: int | None = None) -> bytes:
        """The bytes as they are stored: an object marked as compressed is not expanded on the way."""
        blob = self._bucket.blob(name, generation=generation)
        with _translated(self._called(name)):
            if limit is not None:
                blob.reload(retry=self._retry)  # pins the generation: its size cannot change any more
                if blob.size > limit:
                    raise TooLargeError(
                        f"The {self._called(name)} has {blob.size} bytes, {limit} are allowed."
                    )
            data: bytes = blob.download_as_bytes(raw_download=True, retry=self._retry)
        return data

    def delete_prefix(self, prefix: str) -> int:
        count = 0
        with _translated(f"prefix {prefix!r} in {self._bucket.name}"):
            listed = self._client.list_blobs(self._bucket, prefix=prefix, fields=_NAMES, retry=self._retry)
            for blob in listed:
                count += self._delete(blob)
        return count

    def _delete(self, blob: Any) -> int:
        from google.api_core.exceptions import NotFound

        try:
            blob.delete(retry=self._retry)
        except NotFound:  # somebody else deleted it between the listing and now
            return 0
        return 1

    def sign_upload(
        self, name: str, *, content_type: str, size_limit: int, expires_at: datetime
    ) -> UploadTarget:
        """A V4 signed PUT that creates an object of at most `size_limit` bytes and replaces none.

        Signs with the key of the credentials, or through IAM when they have none, as on Cloud Run: the
        service account then needs `roles/iam.serviceAccountTokenCreator` on itself. An emulator gets an
        unsigned URL: it has no keys to check a signature with.
        """
        headers = {
            "Content-Type": content_type,
            "x-goog-content-length-range": f"0,{size_limit}",
            "x-goog-if-generation-match": "0",
        }
        if self._client.api_endpoint.startswith("http://"):
            url = f"{self._client.api_endpoint}/{self._bucket.name}/{quote(name)}?{_UNSIGNED}"
        else:
            with _translated(f"signature of an upload to the {self._called(name)}"):
                url = self._bucket.blob(name).generate_signed_url(
                    version="v4",
                    method="PUT",
                    expiration=expires_at,
                    headers=headers,
                    scheme="https",
                    **_signing_identity(),
                )
        return UploadTarget(method="PUT", url=url, headers=headers, expires_at=expires_at)

    def _called(self, name: str) -> str:
        return f"object {name} in {self._bucket.name}"


# What fake-gcs-server tells an upload through a signed URL by.
_UNSIGNED = "X-Goog-Algorithm=GOOG4-RSA-SHA256"
_NAMES = "items(name,generation),nextPageToken"


def _signing_identity() -> dict[str, Any]:
    """The arguments of `generate_signed_url` that say who signs."""
    import google.auth
    from google.auth.credentials import Signing
    from google.auth.transport.requests import Request

    credentials: Any
    credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    if isinstance(credentials, Signing):
        return {"credentials": credentials}
    credentials.refresh(Request())  # only now do credentials of the metadata server know their e-mail
    return {
        "credentials": credentials,
        "service_account_email": credentials.service_account_email,
        "access_token": credentials.token,
    }


@contextmanager
def _translated(called: str) -> Iterator[None]:
    """Turns what the SDK says into our errors."""
    import requests
    from google.api_core import exceptions
    from google.auth.exceptions import TransportError
    from google.cloud.storage.exceptions import DataCorruption

    try:
        yield
    except exceptions.NotFound as error:
        raise NotFoundError(f"There is no {called}.") from error
    except exceptions.PreconditionFailed as error:
        raise ConflictError(f"The {called} exists already.") from error
    except (
        exceptions.TooManyRequests,
        exceptions.ServerError,
        exceptions.RetryError,
        requests.ConnectionError,
        requests.Timeout,
        TransportError,
        DataCorruption,
    ) as error:
        raise TransientError(f"Storage did not answer for the {called}: {type(error).__name__}") from error
