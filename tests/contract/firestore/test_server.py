"""The server around the service: databases side by side, knobs, clearing, refusals, the async client."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.firestore_v1.query_profile import ExplainOptions

from emulators.firestore.server import FirestoreEmulator


def test_projects_and_databases_lie_side_by_side(emulator_host: str, project: str) -> None:
    clients = [
        firestore.Client(project=project),
        firestore.Client(project=project, database="other"),
        firestore.Client(project=f"{project}-2"),
    ]
    for number, client in enumerate(clients):
        client.document("r/1").set({"n": number})
    assert [client.document("r/1").get().get("n") for client in clients] == [0, 1, 2]
    assert [client.collection_group("r").count().get()[0][0].value for client in clients] == [1, 1, 1]
    foreign = types.Write(update={"name": clients[1].document("r/2")._document_path})
    with pytest.raises(exceptions.InvalidArgument, match="is not in"):
        clients[0]._firestore_api.commit(
            request={"database": clients[0]._database_string, "writes": [foreign]}
        )
    for client in clients:
        client.close()


def test_a_delayed_commit_keeps_the_server_time_of_its_arrival(own: FirestoreEmulator) -> None:
    """What orders by server time misses such a commit; what goes by versions does not."""
    client = firestore.Client(project="p")
    arrived, released = threading.Event(), threading.Event()

    def delay(request: Any) -> float:
        if request.writes[0].update.name.endswith("/slow"):
            arrived.set()
            released.wait(20)
            return 0.001
        return 0

    own.commit_delay = delay
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.document("r/slow").set, {"at": firestore.SERVER_TIMESTAMP})
        assert arrived.wait(20)
        time.sleep(0.01)
        client.document("r/fast").set({"at": firestore.SERVER_TIMESTAMP})
        assert not client.document("r/slow").get().exists
        released.set()
        slow.result()
    fast_snapshot, slow_snapshot = client.document("r/fast").get(), client.document("r/slow").get()
    assert slow_snapshot.get("at") < fast_snapshot.get("at")
    assert slow_snapshot.update_time > fast_snapshot.update_time
    client.close()


def test_the_observer_sees_every_call_before_and_after(own: FirestoreEmulator) -> None:
    client = firestore.Client(project="p")
    seen: list[tuple[str, str]] = []
    own.observer = lambda moment, rpc, request: seen.append((moment, rpc))
    client.document("r/1").set({"n": 1})
    list(client.collection("r").stream())
    client.collection("r").count().get()
    with pytest.raises(exceptions.AlreadyExists):
        client.document("r/1").create({})
    calls = ["Commit", "RunQuery", "RunAggregationQuery", "Commit"]
    assert seen == [(moment, rpc) for rpc in calls for moment in ("before", "after")]
    client.close()


def test_a_broken_observer_is_an_internal_error(own: FirestoreEmulator) -> None:
    client = firestore.Client(project="p")

    def broken(moment: str, rpc: str, request: Any) -> None:
        raise ValueError("broken")

    own.observer = broken
    with pytest.raises(exceptions.GoogleAPICallError):
        client.document("r/1").set({}, retry=None)
    client.close()


def test_delete_over_http_clears_one_database(own: FirestoreEmulator) -> None:
    kept, cleared = firestore.Client(project="kept"), firestore.Client(project="cleared")
    for client in (kept, cleared):
        client.document("r/1").set({"n": 1})
        client.document("r/1/s/2").set({"n": 1})
    url = f"http://{own.http_host}/emulator/v1/projects/cleared/databases/(default)/documents"
    with urllib.request.urlopen(urllib.request.Request(url, method="DELETE")) as response:
        assert response.status == 200
    assert list(cleared.collections()) == []
    assert kept.document("r/1/s/2").get().exists
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(urllib.request.Request(f"http://{own.http_host}/other", method="DELETE"))
    with urllib.request.urlopen(f"http://{own.http_host}/") as response:
        assert response.read() == b"Ok\n"
    for client in (kept, cleared):
        client.close()


def test_a_port_in_use_is_an_error(own: FirestoreEmulator) -> None:
    with pytest.raises(RuntimeError):
        FirestoreEmulator(port=int(own.host.rpartition(":")[2]))


def test_what_is_not_there_says_so(db: firestore.Client) -> None:
    parent = f"{db._database_string}/documents"
    with pytest.raises(exceptions.MethodNotImplemented):
        list(db.pipeline().collection("r").execute())
    with pytest.raises(exceptions.MethodNotImplemented, match="explain"):
        list(db.collection("r").stream(explain_options=ExplainOptions()))
    with pytest.raises(exceptions.MethodNotImplemented):
        list(db._firestore_api.write(requests=iter([types.WriteRequest(database=db._database_string)])))
    with pytest.raises(exceptions.MethodNotImplemented, match="order_by"):
        list(
            db._firestore_api.list_documents(
                request={"parent": parent, "collection_id": "r", "order_by": "a desc"}
            )
        )
    transaction = db.transaction()
    transaction._begin()
    request = {"parent": parent, "collection_id": "r", "transaction": transaction.id}
    with pytest.raises(exceptions.MethodNotImplemented, match="read-write transaction"):
        list(db._firestore_api.list_documents(request=request))
    with pytest.raises(exceptions.MethodNotImplemented, match="collection id"):
        list(db._firestore_api.list_documents(request={"parent": parent}))


def test_an_unknown_service_is_unimplemented(emulator_host: str) -> None:
    with grpc.insecure_channel(emulator_host) as channel:
        call = channel.unary_unary("/google.firestore.admin.v1.FirestoreAdmin/ListIndexes")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_the_async_client(emulator_host: str, project: str) -> None:
    async def scenario() -> None:
        client = firestore.AsyncClient(project=project)
        ref = client.document("r/1")
        await ref.create({"n": 1})
        with pytest.raises(exceptions.AlreadyExists):
            await ref.create({"n": 1})
        await ref.update({"n": firestore.Increment(1)})
        assert (await ref.get()).to_dict() == {"n": 2}

        @firestore.async_transactional
        async def bump(transaction: firestore.AsyncTransaction) -> int:
            number: int = (await ref.get(transaction=transaction)).get("n")
            transaction.update(ref, {"n": number + 1})
            return number

        assert await bump(client.transaction()) == 2
        batch = client.batch()
        for number in range(5):
            batch.set(client.document(f"q/{number}"), {"n": number})
        await batch.commit()
        query = client.collection("q").where(filter=FieldFilter("n", ">", 2)).order_by("n")
        assert [s.id async for s in query.stream()] == ["3", "4"]
        assert (await client.collection("q").count().get())[0][0].value == 5
        assert [c.id async for c in client.collections()] == ["q", "r"]
        assert [d.id async for d in client.collection("q").list_documents()] == ["0", "1", "2", "3", "4"]
        assert {s.id async for s in client.get_all([ref, client.document("r/2")])} == {"1", "2"}
        assert len([p async for p in client.collection_group("q").get_partitions(2)]) == 3
        assert await client.recursive_delete(client.collection("q")) == 5
        counters = [client.document("r/1")] * 8
        await asyncio.gather(*(counter.update({"n": firestore.Increment(1)}) for counter in counters))
        assert (await ref.get()).get("n") == 11
        client.close()

    asyncio.run(scenario())
