"""Functions in processes of their own, and the router in front of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from emulators.events.cloudevent import FINALIZED, from_resource
from emulators.functions import Functions, FunctionSource
from emulators.router import owner, router
from emulators.serving import AsgiServer

HTTP = """
import os, pathlib, threading, time, uuid
import flask, functions_framework

four = threading.Barrier(4)

@functions_framework.http
def main(request):
    if request.path.endswith("/stream"):
        def pieces():
            for number in range(3):
                yield f"data: {number}\\n\\n"
                time.sleep(0.15)
        return flask.Response(pieces(), mimetype="text/event-stream")
    if request.path.endswith("/endless"):
        def forever():
            try:
                while True:
                    yield "data: x\\n\\n"
                    time.sleep(0.02)
            finally:
                open(request.args["mark"], "w").write("closed")
        return flask.Response(forever(), mimetype="text/event-stream")
    if request.path.endswith("/together"):
        four.wait(timeout=20)
    if request.path.endswith("/held"):
        pathlib.Path(request.args["folder"], f"{uuid.uuid4()}.in").touch()
        while not pathlib.Path(request.args["folder"], "go").exists():
            time.sleep(0.01)
    answer = flask.jsonify(
        pid=os.getpid(), group=os.getpgid(0), path=request.full_path, method=request.method,
        size=len(request.get_data()), headers=dict(request.headers), name=NAME,
    )
    answer.status_code = 207
    answer.headers.add("Set-Cookie", "a=1")
    answer.headers.add("Set-Cookie", "b=2")
    return answer
"""
EVENT = """
import functions_framework, os

@functions_framework.cloud_event
def main(event):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(f"{event['id']} {event['type']} {event['subject']} {event.data['generation']}\\n")
    if event.data["name"] == "bad":
        raise RuntimeError("cannot")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    for name in ("api", "chat"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n{HTTP}")
    (folder / "ingest.py").write_text(EVENT)
    return folder


@pytest.fixture(scope="module")
def functions(folder: Path) -> Iterator[Functions]:
    sources = (
        FunctionSource("api", folder / "api.py", "http", public=True),
        FunctionSource("chat", folder / "chat.py", "http", public=True),
        FunctionSource("ingest", folder / "ingest.py", "cloudevent", public=False),
    )
    functions = Functions(sources, run_dir=folder, instances={"chat": 2})
    functions.start({**os.environ, "SEEN": str(folder / "seen")})
    functions.wait_until_ready()
    yield functions
    functions.stop()


@pytest.fixture(scope="module")
def client(functions: Functions) -> Iterator[httpx2.Client]:
    server = AsgiServer(router(functions.instances))
    server.start()
    with httpx2.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        yield client
    server.stop()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat", "chat"),
        ("/v1/chat/anything", "chat"),
        ("/v1/retrieve", "chat"),
        ("/v1/threads/t1/messages", "chat"),
        ("/v1/recipes/r1:run", "chat"),
        ("/v1/runs/r1:cancel", "chat"),
        ("/mcp", "chat"),
        ("/v1/chats", "api"),
        ("/v1/documents/d1:retry", "api"),
        ("/v1/knowledge-bases", "api"),
        ("/health", "api"),
        ("/", "api"),
        ("/v1/ingest", "api"),
    ],
)
def test_each_prefix_belongs_to_one_function(path: str, name: str, client: httpx2.Client) -> None:
    assert owner(path) == name
    assert client.get(path).json()["name"] == name


def test_requests_and_answers_pass_unchanged(client: httpx2.Client) -> None:
    data = os.urandom(10 * 1024 * 1024 + 1)
    answer = client.post(
        "/v1/documents/d%2F1:retry?a=1&a=%20x",
        content=data,
        headers={"X-Mine": "ü".encode(), "Authorization": "Bearer k"},
    )
    seen = answer.json()
    assert answer.status_code == 207
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert (seen["method"], seen["size"]) == ("POST", len(data))
    assert seen["path"] == "/v1/documents/d/1:retry?a=1&a=%20x"
    assert seen["headers"]["Authorization"] == "Bearer k"
    assert seen["headers"]["Host"] == client.base_url.netloc.decode()
    assert seen["headers"]["X-Forwarded-For"] == "127.0.0.1"
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert client.request(method, "/v1/x").status_code == 207


def test_a_stream_arrives_piece_by_piece(client: httpx2.Client) -> None:
    arrived = []
    with client.stream("POST", "/v1/chat/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        arrived = [(time.monotonic(), piece) for piece in answer.iter_text()]
    assert "".join(piece for _, piece in arrived) == "data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert arrived[-1][0] - arrived[0][0] > 0.2


def test_a_function_notices_that_the_client_left(client: httpx2.Client, tmp_path: Path) -> None:
    mark = tmp_path / "closed"
    with client.stream("GET", "/v1/chat/endless", params={"mark": str(mark)}) as answer:
        next(answer.iter_text())
    wait_for(mark.exists)


def test_calls_run_side_by_side_on_both_instances_in_turn(client: httpx2.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/v1/chat/together"), range(8)))
    assert {answer.status_code for answer in answers} == {207}
    pids = [answer.json()["pid"] for answer in answers]
    assert sorted(pids.count(pid) for pid in set(pids)) == [4, 4]


def test_a_killed_instance_breaks_its_calls_alone_and_comes_back(
    client: httpx2.Client, functions: Functions, tmp_path: Path
) -> None:
    def ask(_: int) -> tuple[int, str]:
        answer = client.get("/v1/chat/held", params={"folder": str(tmp_path)})
        return answer.status_code, answer.json().get("code", "")

    victim = functions.instances("chat")[0]
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(ask, range(4))
        wait_for(lambda: len(list(tmp_path.glob("*.in"))) == 4)
        functions.kill("chat", 0)
        (tmp_path / "go").touch()
        assert sorted(answers) == [(207, ""), (207, ""), (503, "internal"), (503, "internal")]
    assert {client.get("/v1/chat").status_code for _ in range(4)} == {207}
    victim.wait_until_ready()
    assert victim.restarts == 1
    assert len({client.get("/v1/chat").json()["pid"] for _ in range(4)}) == 2


def test_without_any_instance_a_call_waits_for_the_next(client: httpx2.Client, functions: Functions) -> None:
    before = client.get("/v1/documents").json()["pid"]
    functions.kill("api")
    after = client.get("/v1/documents").json()["pid"]
    assert after != before


def test_a_worker_that_crashes_is_replaced(client: httpx2.Client) -> None:
    before = client.get("/v1/documents").json()["pid"]
    os.kill(before, signal.SIGKILL)

    def replaced() -> bool:
        answer = client.get("/v1/documents")
        return answer.status_code == 207 and answer.json()["pid"] != before

    wait_for(replaced)


def test_an_event_reaches_its_function_and_its_failure_is_seen(functions: Functions, folder: Path) -> None:
    resource = {
        "name": "accounts/a/source",
        "bucket": "uploads",
        "generation": "1796077086285829",
        "size": "5",
        "timeCreated": "2026-01-01T00:00:00Z",
        "updated": "2026-01-01T00:00:00Z",
    }
    with httpx2.Client(trust_env=False) as client:
        codes = []
        for number, name in enumerate(("accounts/a/source", "bad")):
            event = from_resource(str(number), FINALIZED, resource | {"name": name})
            answer = client.post(functions.url("ingest"), content=event.data, headers=event.headers())
            codes.append(answer.status_code)
    assert codes == [200, 500]
    seen = (folder / "seen").read_text().splitlines()
    assert seen[0] == f"0 {FINALIZED} objects/accounts/a/source 1796077086285829"


def test_all_processes_of_a_function_are_gone_after_a_stop(folder: Path) -> None:
    sources = (FunctionSource("api", folder / "api.py", "http", public=True),)
    functions = Functions(sources, run_dir=folder)
    functions.start(os.environ)
    functions.wait_until_ready()
    (instance,) = functions.instances("api")
    with httpx2.Client(trust_env=False) as client:
        seen = client.get(f"{instance.url}/x").json()
    assert seen["group"] == instance.pid
    functions.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(seen["pid"], 0)
