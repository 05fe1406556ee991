"""The api function as the functions framework runs it, on the embedded stores."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from pathlib import Path

import functions_framework
import pytest
from flask.testing import FlaskClient

from infra.seed import seed_examples
from shared.wiring import container

SOURCE = Path(__file__).parents[2] / "functions" / "api" / "main.py"


@pytest.fixture
def client(firestore_host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlaskClient]:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", firestore_host)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", f"test-{uuid.uuid4().hex[:12]}")
    container.cache_clear()
    app = functions_framework.create_app("main", str(SOURCE), "http")
    keys = seed_examples(container().store, container().clock)["acme"]["keys"]
    with app.test_client() as made:
        made.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {keys['admin']}"
        yield made
    container.cache_clear()


def test_it_answers_through_the_framework(client: FlaskClient) -> None:
    assert client.get("/health").json == {"status": "ok"}
    assert client.get("/openapi.json").json["openapi"] == "3.1.0"  # type: ignore[index]
    page = client.get("/docs")
    assert page.content_type == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert client.get("/v1/account").json["id"] == "acme"  # type: ignore[index]
    made = client.post("/v1/knowledge-bases", json={"name": "Handbook", "type": "files"})
    assert made.status_code == 201
    assert client.get("/v1/knowledge-bases").json["items"] == [made.json]  # type: ignore[index]


def test_unknown_paths_and_methods_are_problems(client: FlaskClient) -> None:
    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1//account", 404),
        ("PUT", "/v1/account", 405),
        ("OPTIONS", "/v1/account", 405),
    ):
        answer = client.open(path, method=method)
        assert (answer.status_code, answer.content_type) == (status, "application/problem+json")


def test_a_body_that_is_too_large_is_refused_and_the_framework_goes_on(client: FlaskClient) -> None:
    answer = client.post(
        "/v1/knowledge-bases", data=io.BytesIO(b"[" * 3_000_000), content_type="application/json"
    )
    assert (answer.status_code, answer.json["code"]) == (413, "too_large")  # type: ignore[index]
    assert client.get("/v1/account").status_code == 200


def test_importing_it_loads_no_sdk_of_a_model() -> None:
    import subprocess
    import sys

    heavy = [
        "anthropic",
        "openai",
        "numpy",
        "tiktoken",
        "google.cloud.firestore",
        "google.cloud.storage",
        "lxml",
    ]
    code = (
        f"import sys, shared.http.api.routes, shared.wiring; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SOURCE.parents[2]
    )
    assert done.stdout.strip() == "[]"
