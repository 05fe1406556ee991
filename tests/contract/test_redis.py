"""The embedded Redis, through the real client."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from emulators.redis.server import RedisServer
from emulators.stack import EmbeddedStack
from shared.settings import Settings

# Adds to a field, holds it between bounds and renews the time to live of the whole hash, in one step.
BOUNDED = """
local moved = redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])
local bounded = math.max(-3, math.min(3, moved))
redis.call('HSET', KEYS[1], ARGV[1], bounded)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return bounded
"""


def started(folder: Path, data_dir: Path | None = None) -> RedisServer:
    server = RedisServer(run_dir=folder, data_dir=data_dir)
    server.start()
    server.wait_until_ready()
    return server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = started(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def client(server: RedisServer) -> Iterator[Redis]:
    with Redis.from_url(server.url, decode_responses=True) as client:
        client.flushall()
        yield client


def test_hashes_scripts_transactions_and_times_to_live(client: Redis) -> None:
    bounded = client.register_script(BOUNDED)
    assert [bounded(keys=["h"], args=["up", 2, 600]) for _ in range(3)] == [2, 3, 3]
    assert 0 < client.ttl("h") <= 600
    with client.pipeline(transaction=True) as pipe:
        assert pipe.hset("h", "down", 1).hgetall("h").execute() == [1, {"up": "3", "down": "1"}]
    assert client.set("once", "a", nx=True, ex=60)
    assert client.set("once", "b", nx=True, ex=60) is None
    assert client.get("once") == "a"
    client.pexpire("h", 1)
    while client.exists("h"):
        pass
    assert client.hgetall("h") == {}


def test_concurrent_clients_lose_nothing(client: Redis) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.incrby("n", 1), range(400)))
    assert client.get("n") == "400"


def test_a_killed_server_with_a_directory_has_all_that_it_acknowledged(tmp_path: Path) -> None:
    server = started(tmp_path, tmp_path / "data")
    address = server.url
    try:
        with Redis.from_url(address, decode_responses=True) as client:
            for number in range(500):
                client.hset(f"h{number}", mapping={"up": number})
            client.expire("h1", 600)
            client.delete("h2")
            server.kill()
            with pytest.raises(RedisConnectionError):
                client.get("h0")
        server.start()
        server.wait_until_ready()
        assert server.url == address
        with Redis.from_url(address, decode_responses=True) as client:
            assert client.dbsize() == 499
            assert client.hget("h499", "up") == "499"
            assert 0 < client.ttl("h1") <= 600
            assert client.exists("h2") == 0
    finally:
        server.stop()


def test_without_a_directory_nothing_is_kept_or_written(tmp_path: Path) -> None:
    server = started(tmp_path)
    try:
        with Redis.from_url(server.url) as client:
            client.set("a", "1")
        server.stop()
        server.start()
        server.wait_until_ready()
        with Redis.from_url(server.url) as client:
            assert client.dbsize() == 0
    finally:
        server.stop()
    assert [path.name for path in tmp_path.iterdir()] == ["redis.log"]


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "appendonlydir").write_text("no directory")
    server = RedisServer(run_dir=tmp_path, data_dir=tmp_path / "data")
    server.start()
    with pytest.raises(RuntimeError, match="Can't open or create append-only dir"):
        server.wait_until_ready()
    server.stop()


def test_a_stack_uses_the_redis_that_is_there(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", server.url)
    with EmbeddedStack(functions=()) as stack:
        assert stack.redis is None
        assert stack.details()["redis_url"] == server.url
        assert Settings.from_env(stack.addresses.variables()).redis_url == server.url
    with Redis.from_url(server.url) as client:
        assert client.ping()


def test_a_stack_without_one_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with EmbeddedStack(functions=()) as stack, Redis.from_url(stack.addresses.redis_url) as client:
        assert client.ping()
        assert stack.details()["redis_url"] == stack.addresses.redis_url
    with pytest.raises(RedisConnectionError), Redis.from_url(stack.addresses.redis_url) as client:
        client.ping()
