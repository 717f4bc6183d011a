"""A message that is too large to read is skipped, a request is answered with an error, and the server continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.server.transport.framing import FrameParser, frame
from agent_ls.server.transport.large_messages import LargeMessage, LargeMessageSummary, summarize
from tests.support.framed_client import FramedClient, ResponseError
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served

pytestmark = pytest.mark.req("R5", "H4")

LARGE = 66 * 1024 * 1024
URI = "file:///w/a%20b.py"
DOCUMENT = {"textDocument": {"languageId": "x", "uri": URI, "version": 1, "text": "x" * 3000}}


def summarize_parts(message: Any, head: int = 1000, tail: int = 60) -> LargeMessageSummary:
    body = json.dumps(message).encode()
    return summarize(LargeMessage(body[:head], body[-tail:], len(body)))


MESSAGES: list[tuple[Any, LargeMessageSummary]] = [
    ({"jsonrpc": "2.0", "id": 5, "method": "m", "params": DOCUMENT}, LargeMessageSummary(5, "m", URI)),
    (
        {"jsonrpc": "2.0", "method": "m", "params": DOCUMENT, "id": "a-b"},
        LargeMessageSummary("a-b", "m", URI),
    ),
    ({"params": DOCUMENT, "method": "m", "id": 7, "jsonrpc": "2.0"}, LargeMessageSummary(7, "m", URI)),
    ({"method": "m", "params": DOCUMENT, "jsonrpc": "2.0"}, LargeMessageSummary(None, "m", URI)),
    ({"id": 5, "result": "x" * 3000}, LargeMessageSummary(5, "", "")),
    (
        {"method": "m", "params": {"id": 9, "x": "y" * 3000, "deep": {"id": 8}}},
        LargeMessageSummary(None, "m", ""),
    ),
    (
        {"method": "m", "params": {"text": '{"id": 9, "method": "n", ' + "x" * 3000}, "id": 5},
        LargeMessageSummary(5, "m", ""),
    ),
    ({"method": "m", "params": ["x" * 3000], "id": None}, LargeMessageSummary(None, "m", "")),
    ({"method": "m", "params": "x" * 3000 + '","id":9}'}, LargeMessageSummary(None, "m", "")),
    ({"method": 7, "id": True, "params": "x" * 3000}, LargeMessageSummary(None, "", "")),
    (["x" * 3000], LargeMessageSummary(None, "", "")),
    ("x" * 3000, LargeMessageSummary(None, "", "")),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_a_large_message_is_identified_by_its_head_and_tail(
    message: Any, expected: LargeMessageSummary
) -> None:
    assert summarize_parts(message) == expected


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_large_body_is_skipped_in_chunks_of_any_size(step: int) -> None:
    found: list[bytes] = []
    large: list[LargeMessage] = []
    parser = FrameParser(max_body_bytes=100)
    parser.on_large = large.append
    data = frame(b"first") + frame(b"x" * 50 + b"y" * 51) + frame(b"z" * 200) + frame(b"last")
    for at in range(0, len(data), step):
        found += parser.feed(data[at : at + step])
    assert found == [b"first", b"last"]
    assert [(it.head[:1], it.tail[-1:], it.size) for it in large] == [(b"x", b"y", 101), (b"z", b"z", 200)]


async def refused(client: FramedClient, message: dict[str, Any]) -> str:
    await client.send(message)
    with pytest.raises(ResponseError) as error:
        await client.result(message["id"])
    return error.value.message


async def test_the_server_keeps_running_after_a_too_large_request_and_a_too_large_document(
    tmp_path: Path,
) -> None:
    path = tmp_path / "project" / "huge.txt"
    look = ToolCall("read_file", {"file_path": str(path)})
    edit = ToolCall("write_file", {"file_path": str(path), "content": "short\n"})
    with AnthropicServer([[look], [edit], "Done."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            client = found.client
            session_id = await found.editor.new_session(provider="anthropic", mode="full")
            large = {"text": "x" * LARGE}
            request = {"jsonrpc": "2.0", "id": 9001, "method": "agent/submit", "params": large}
            assert "too large" in await refused(client, request)
            path.write_text("stale\n")
            item = {"uri": path.as_uri(), "languageId": "text", "version": 1, **large}
            await client.notify("textDocument/didOpen", {"textDocument": item})
            shown = await client.wait_for(lambda m: m.get("method") == "window/showMessage")
            assert "huge.txt is" in shown["params"]["message"]
            await found.editor.submit(session_id, "Shorten it.")
            await client.event("processing_end")
            ends = [e["data"] for e in found.recorded(session_id) if e["kind"] == "tool_call_end"]
            assert [(end["isError"], "too large" in end["output"]) for end in ends] == [(True, True)] * 2
            assert path.read_text() == "stale\n"
