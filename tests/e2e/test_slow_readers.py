"""A client that stops reading, sends too much, or nests too deep: memory stays bounded, and no message is lost."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agent_ls.server.transport.framing import frame
from tests.support.editor import Editor
from tests.support.framed_client import ServerProcess, is_event, server_process
from tests.support.loopback import AnthropicServer, Text, ToolCall

PIECES = [f"{number:07} " for number in range(12_000)]
PRINTED = 12_000_000
MIB = 1024 * 1024

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of its memory from /proc")


def peak_bytes(server: ServerProcess) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def is_end_of(session_id: str, message: dict[str, Any]) -> bool:
    return is_event("processing_end")(message) and message["params"]["sessionId"] == session_id


@linux_only
@pytest.mark.req("E4", "R5", "H3")
async def test_a_client_that_stops_reading_during_a_flood_costs_bounded_memory_and_catches_up(
    tmp_path: Path,
) -> None:
    noisy = ToolCall("shell", {"command": f"yes 0123456789 | head -c {PRINTED}"})
    answers: list[Any] = [[Text(*PIECES), noisy], [Text(*PIECES)], "Done."]
    with AnthropicServer(answers) as provider:
        env = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(tmp_path)
            session_id = await editor.new_session(provider="anthropic", mode="full")
            await editor.submit(session_id, "Go.")
            server.client.stop_reading()
            await anyio.to_thread.run_sync(provider.wait_for_requests, 2)
            assert peak_bytes(server) < 500 * MIB
            server.client.go_on_reading()
            await server.client.event("processing_end")
            result = await editor.subscribe(session_id)
            ends = [event for event in result["events"] if event["kind"] == "assistant_text_end"]
            assert [event["data"]["text"] for event in ends] == ["".join(PIECES)] * 2
            (printed,) = [event for event in result["events"] if event["kind"] == "tool_call_end"]
            assert printed["data"]["outputChars"] > PRINTED
            live = [event for event in server.client.events if event["kind"] == "tool_call_output_delta"]
            assert sum(len(event["data"]["text"]) for event in live) < 5 * MIB


@pytest.mark.req("E4", "R5", "H3")
async def test_a_client_that_does_not_read_the_events_of_two_sessions_is_still_answered_at_once(
    tmp_path: Path,
) -> None:
    noisy = ToolCall("shell", {"command": f"yes 0123456789 | head -c {PRINTED}"})

    def answer(body: Any) -> Any:
        words = str(body["messages"][-1])
        if "tool_result" in words:
            return "Done."
        return [noisy] if "noise" in words else [Text(*PIECES)]

    with AnthropicServer(answer) as provider:
        env = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(tmp_path)
            ids = [await editor.new_session(provider="anthropic", mode="full") for _ in range(2)]
            for session_id, words in zip(ids, ("text", "noise"), strict=True):
                await editor.submit(session_id, f"Make {words}.")
            server.client.stop_reading()
            await anyio.to_thread.run_sync(provider.wait_for_requests, 3)
            asked = await server.client.start("agent/sessions", {})
            server.client.go_on_reading()
            assert len((await server.client.result(asked))["sessions"]) == 2
            for session_id in ids:
                await server.client.wait_for(partial(is_end_of, session_id))


@linux_only
@pytest.mark.req("E4", "R5")
async def test_a_client_that_sends_without_reading_is_paused_and_gets_each_answer_in_the_end() -> None:
    command = (sys.executable, "-m", "tests.support.wire_server")
    count, sent = 200, 0
    async with server_process(command) as server, anyio.create_task_group() as tasks:
        client = server.client
        await client.initialize()
        client.stop_reading()
        enough = anyio.Event()

        async def send() -> None:
            nonlocal sent
            for _ in range(count):
                await client.start("agent/echo", "x" * MIB)
                sent += 1
                if sent == 60:  # stays below the amount of answers that may wait for a reader
                    enough.set()

        first = client.received[-1]["id"]
        tasks.start_soon(send)
        with anyio.fail_after(240):
            await enough.wait()
        assert sent <= 140, "more than what may wait unhandled, or unread, or in the pipes"
        client.go_on_reading()
        for message_id in range(first + 1, first + 1 + count):
            assert len(await client.result(message_id)) == MIB
        assert peak_bytes(server) < 600 * MIB


@pytest.mark.req("R5")
async def test_a_message_with_a_too_large_content_length_is_refused_before_its_body_is_read() -> None:
    async with server_process() as server:
        await server.client.initialize()
        await server.client.send_raw(b"Content-Length: 68719476736\r\n\r\n")
        refused = await server.client.wait_for(lambda message: "error" in message)
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert "sessions" in await server.client.request("agent/sessions", {})


@pytest.mark.req("R5")
async def test_a_deeply_nested_message_is_answered_and_the_server_continues(tmp_path: Path) -> None:
    async with server_process() as server:
        client = server.client
        await client.initialize(folder=tmp_path)
        methods = (
            "agent/sessions",
            "agent/submit",
            "agent/review",
            "workspace/executeCommand",
            "textDocument/hover",
        )
        for depth in (100, 400, 900, 2_000, 100_000):
            for method in methods:
                for opened, closed in (("[", "]"), ('{"a":', "}")):
                    deep = (
                        f"{opened * depth}null{closed * depth}"
                        if opened != "["
                        else f"{'[' * depth}{']' * depth}"
                    )
                    before = len(client.received)
                    head = json.dumps({"jsonrpc": "2.0", "id": f"{method} {depth}", "method": method})[:-1]
                    await client.send_raw(frame(f'{head},"params":{{"sessionId":{deep}}}}}'.encode()))
                    answer = await client.wait_for(lambda m: "method" not in m, after=before)
                    assert answer["id"] in (f"{method} {depth}", None)
        assert await client.request("agent/sessions", {}) is not None
        assert "Traceback" not in server.log
