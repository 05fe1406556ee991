"""The MCP endpoint as the protocol's public client sees it, over a real socket."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from werkzeug.serving import make_server

from tests.flows.api_stack import Api, created, problem
from tests.flows.chat_stack import HANDBOOK, LEAVE_QUESTION, Chat
from tests.flows.desk import Desk

MODES = ("auto", "legacy")


@pytest.fixture
def url(chat: Chat) -> Iterator[str]:
    app = chat.of(chat.tenant.admin).client.application
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def talk(url: str, token: str, body: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    async def main() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await body(client)

    return anyio.run(main)


def call(url: str, api: Api, tool: str, **arguments: object) -> Any:
    async def body(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    return talk(url, api.token, body)


@pytest.mark.parametrize("mode", MODES)
def test_a_public_client_lists_searches_and_fetches(desk: Desk, url: str, mode: str) -> None:
    files = desk.chat.base("Handbook", description="Rules of work.", is_auto_context=False)
    document = desk.chat.upload(files, HANDBOOK)
    page = desk.page("Voice", "Warm and plain.")

    async def body(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search", "fetch", "list_knowledge_bases"]
        assert tools[0].input_schema["required"] == ["query"]
        listed = (await client.call_tool("list_knowledge_bases", {})).structured_content
        assert listed == {
            "knowledge_bases": [
                {"id": files["id"], "name": "Handbook", "type": "files", "description": "Rules of work."},
                {"id": page["id"], "name": "Voice", "type": "page", "description": ""},
            ],
            "next_cursor": None,
        }
        found = (await client.call_tool("search", {"query": LEAVE_QUESTION})).structured_content
        assert found is not None
        assert found["covered"]
        hit = found["results"][0]
        assert "twenty six days" in hit["text"]
        assert hit["document_id"] == document["id"]
        for name in (hit["id"], document["id"]):
            read = (await client.call_tool("fetch", {"id": name})).structured_content
            assert read is not None
            assert read["text"].startswith("# Leave")
            assert "900 euros" in read["text"]
            assert (read["title"], read["next_offset"]) == ("handbook", None)
        records = (await client.call_tool("fetch", {"id": page["id"]})).structured_content
        assert records is not None
        assert records["text"] == "Warm and plain."

    talk(url, desk.api.token, body, mode)


def test_a_client_sees_only_its_departments(desk: Desk, url: str) -> None:
    engineering = desk.chat.tenant.departments["engineering"]
    secret = desk.chat.base("Secret Handbook", department_ids=[engineering])
    document = desk.chat.upload(secret, HANDBOOK)
    inside, outside = desk.chat.tenant.engineering, desk.chat.tenant.marketing
    stranger = desk.chat.stack.tenant().admin
    hit = call(url, inside, "search", query=LEAVE_QUESTION).structured_content["results"][0]
    for api in (outside, stranger):
        assert call(url, api, "list_knowledge_bases").structured_content["knowledge_bases"] == []
        for ids in ([], [secret["id"]]):
            found = call(url, api, "search", query=LEAVE_QUESTION, knowledge_base_ids=ids)
            assert found.structured_content["results"] == []
        for name in (hit["id"], document["id"], secret["id"], "doc_none", "a/b", "doc_none:psg_none"):
            refused = call(url, api, "fetch", id=name)
            assert refused.is_error
            assert refused.content[0].text.startswith("not_found: ")
    assert len(call(url, inside, "list_knowledge_bases").structured_content["knowledge_bases"]) == 1


def test_what_is_not_active_is_not_there(desk: Desk, url: str) -> None:
    base = desk.chat.base("Handbook")
    document = desk.chat.upload(base, HANDBOOK)
    hit = call(url, desk.api, "search", query=LEAVE_QUESTION).structured_content["results"][0]
    desk.rebase(base, active=False)
    assert call(url, desk.api, "list_knowledge_bases").structured_content["knowledge_bases"] == []
    assert call(url, desk.api, "search", query=LEAVE_QUESTION).structured_content["results"] == []
    for name in (hit["id"], document["id"]):
        assert call(url, desk.api, "fetch", id=name).is_error


def test_a_long_document_is_read_by_the_page(desk: Desk, url: str) -> None:
    text = "# Long\n\n" + "\n\n".join(f"Paragraph {number} of many." for number in range(3_000))
    document = desk.chat.upload(desk.chat.base(), text, "long.md")
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        read = call(url, desk.api, "fetch", id=document["id"], offset=offset).structured_content
        pieces.append(read["text"])
        offset = read["next_offset"]
    assert len(pieces) == 2
    assert "".join(pieces).strip() == text.strip()


def test_wrong_calls_are_told_what_is_wrong(desk: Desk, url: str) -> None:
    for tool, arguments, told in (
        ("nothing", {}, "The tools are search"),
        ("search", {}, "query"),
        ("search", {"query": "x", "surprise": 1}, "surprise"),
        ("fetch", {"id": "doc_1", "offset": -1}, "offset"),
    ):
        refused = call(url, desk.api, tool, **arguments)
        assert refused.is_error, tool
        assert told in refused.content[0].text


def test_who_may_not_read_does_not_get_in(desk: Desk) -> None:
    api = desk.api
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert problem(api.client.post("/mcp", json=body)) == (401, "unauthenticated")
    runs = desk.chat.of(desk.chat.stack.api(desk.chat.tenant.records, (), None))
    assert problem(runs("POST", "/mcp", body)) == (403, "permission_denied")
    assert problem(api("GET", "/mcp")) == (405, "invalid_request")
    accepts = {"Accept": "application/json, text/event-stream"}
    listed = created(api("POST", "/mcp", body, **accepts))
    assert listed["result"]["tools"][0]["name"] == "search"
    refused = api.client.post(
        "/mcp",
        data="{",
        headers={"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"} | accepts,
    )
    assert refused.status_code == 400
    large = api("POST", "/mcp", {**body, "params": {"x": "x" * 3_000_000}}, **accepts)
    assert problem(large)[0] == 413
