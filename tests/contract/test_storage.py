"""The bucket adapter against a running storage emulator, and its signatures with a key made here."""

from __future__ import annotations

import gzip
import json
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from google.cloud.storage import Client

from emulators.serving import free_port
from shared.adapters.storage import GcsObjects, connect
from shared.domain.errors import ConflictError, NotFoundError, TooLargeError, TransientError
from tests.emulated import PROJECT, UPLOADS


@pytest.fixture
def client(storage_url: str) -> Iterator[Client]:
    client = connect(PROJECT, storage_url)
    yield client
    client.close()


@pytest.fixture
def bucket(client: Client) -> GcsObjects:
    return GcsObjects(client, UPLOADS)


@pytest.fixture
def folder() -> str:
    return f"accounts/{secrets.token_hex(4)}/documents"


def test_reads_back_what_was_written(bucket: GcsObjects, folder: str) -> None:
    data = bytes(range(256)) * 10
    generation = bucket.write(f"{folder}/a", data, content_type="application/pdf")
    assert bucket.read(f"{folder}/a") == data
    assert bucket.read(f"{folder}/a", generation=generation) == data


def test_a_write_of_ten_megabytes_goes_through_a_resumable_session(bucket: GcsObjects, folder: str) -> None:
    data = secrets.token_bytes(10 * 1024 * 1024)
    bucket.write(f"{folder}/large", data, content_type="application/pdf")
    assert bucket.read(f"{folder}/large", limit=len(data)) == data


def test_a_name_is_written_once_unless_replaced(bucket: GcsObjects, folder: str) -> None:
    first = bucket.write(f"{folder}/a", b"one", content_type="text/plain")
    with pytest.raises(ConflictError, match=f"{folder}/a"):
        bucket.write(f"{folder}/a", b"two", content_type="text/plain")
    assert bucket.read(f"{folder}/a") == b"one"
    second = bucket.write(f"{folder}/a", b"three", content_type="text/plain", replace=True)
    assert second > first
    assert bucket.read(f"{folder}/a") == b"three"


def test_of_writers_at_once_one_wins_and_the_others_are_told(bucket: GcsObjects, folder: str) -> None:
    def write(number: int) -> int | None:
        try:
            bucket.write(f"{folder}/a", str(number).encode(), content_type="text/plain")
        except ConflictError:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        winners = [number for number in pool.map(write, range(8)) if number is not None]
    assert len(winners) == 1
    assert bucket.read(f"{folder}/a") == str(winners[0]).encode()


def test_an_older_generation_is_not_found_after_a_replacement(bucket: GcsObjects, folder: str) -> None:
    old = bucket.write(f"{folder}/a", b"old", content_type="text/plain")
    bucket.write(f"{folder}/a", b"new", content_type="text/plain", replace=True)
    with pytest.raises(NotFoundError):
        bucket.read(f"{folder}/a", generation=old)


def test_what_is_not_there_is_not_found(bucket: GcsObjects, folder: str) -> None:
    with pytest.raises(NotFoundError, match=f"{folder}/none"):
        bucket.read(f"{folder}/none")


def test_more_than_the_limit_is_not_read(bucket: GcsObjects, folder: str) -> None:
    bucket.write(f"{folder}/a", b"x" * 1001, content_type="text/plain")
    assert len(bucket.read(f"{folder}/a", limit=1001)) == 1001
    with pytest.raises(TooLargeError, match="1001 bytes, 1000 are allowed"):
        bucket.read(f"{folder}/a", limit=1000)


def test_compressed_objects_are_read_as_stored(bucket: GcsObjects, folder: str, client: Client) -> None:
    packed = gzip.compress(b"a" * 100_000)
    blob = client.bucket(UPLOADS).blob(f"{folder}/packed")
    blob.content_encoding = "gzip"
    blob.upload_from_string(packed, content_type="text/plain")
    assert bucket.read(f"{folder}/packed", limit=len(packed)) == packed


def test_deletes_everything_below_a_prefix_and_nothing_beside_it(bucket: GcsObjects, folder: str) -> None:
    for name in ("d1/1/source", "d1/2/source", "d10/1/source"):
        bucket.write(f"{folder}/{name}", b"x", content_type="text/plain")
    assert bucket.delete_prefix(f"{folder}/d1/") == 2
    assert bucket.delete_prefix(f"{folder}/d1/") == 0
    assert bucket.read(f"{folder}/d10/1/source") == b"x"


def test_a_client_uploads_by_the_target_as_given(bucket: GcsObjects, folder: str) -> None:
    expires = datetime.now(UTC) + timedelta(minutes=10)
    name = f"{folder}/ünïcode name+plus"
    target = bucket.sign_upload(name, content_type="application/pdf", size_limit=10, expires_at=expires)
    assert target.expires_at == expires
    answer = requests.request(
        target.method, target.url, data=b"%PDF-1.7 x", headers=target.headers, timeout=10
    )
    assert answer.status_code == 200
    assert bucket.read(name) == b"%PDF-1.7 x"


def test_a_signature_covers_type_size_and_that_nothing_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {
        "type": "service_account",
        "client_email": "almanac@demo.iam.gserviceaccount.com",
        "token_uri": "https://127.0.0.1/token",
        "private_key": key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    }
    (tmp_path / "key.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    expires = datetime.now(UTC) + timedelta(minutes=10)
    client = connect(PROJECT)
    target = GcsObjects(client, UPLOADS).sign_upload(
        "accounts/a/source", content_type="application/pdf", size_limit=1000, expires_at=expires
    )
    client.close()

    url = urlsplit(target.url)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.scheme == "https"
    signed = query["X-Goog-SignedHeaders"].split(";")
    assert {"content-type", "x-goog-content-length-range", "x-goog-if-generation-match"} <= set(signed)
    assert target.headers["x-goog-content-length-range"] == "0,1000"
    assert 590 <= int(query["X-Goog-Expires"]) <= 600

    # The string to sign of "V4 signing process" in the documentation of Cloud Storage, put together again.
    headers = {name.lower(): value for name, value in target.headers.items()} | {"host": url.netloc}
    unsigned = "&".join(part for part in url.query.split("&") if not part.startswith("X-Goog-Signature="))
    canonical = "\n".join(
        (
            *("PUT", url.path, unsigned),
            *(f"{name}:{headers[name]}" for name in signed),
            *("", query["X-Goog-SignedHeaders"], "UNSIGNED-PAYLOAD"),
        )
    )
    digest = hashes.Hash(hashes.SHA256())
    digest.update(canonical.encode())
    scope = query["X-Goog-Credential"].split("/", 1)[1]
    to_sign = "\n".join(["GOOG4-RSA-SHA256", query["X-Goog-Date"], scope, digest.finalize().hex()])
    key.public_key().verify(
        bytes.fromhex(query["X-Goog-Signature"]), to_sign.encode(), padding.PKCS1v15(), hashes.SHA256()
    )


def test_an_outage_is_a_transient_error() -> None:
    class Down(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Down) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        client = connect(PROJECT, f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(TransientError, match="accounts/a/source"):
            GcsObjects(client, UPLOADS, patience=0.1).write(
                "accounts/a/source", b"x", content_type="text/plain"
            )
        client.close()
        server.shutdown()


def test_nobody_listening_is_a_transient_error() -> None:
    client = connect(PROJECT, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(TransientError, match="accounts/a/source"):
        GcsObjects(client, UPLOADS, patience=0.1).write("accounts/a/source", b"x", content_type="text/plain")
    client.close()
