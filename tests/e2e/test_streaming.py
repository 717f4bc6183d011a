"""The real server process with a provider over real HTTP: streams as the editor receives them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from tests.support.editor import Editor, new_key, text_input
from tests.support.framed_client import ResponseError, server_process
from tests.support.loopback import AnthropicServer, Gate, LoopbackProvider, Text, ToolCall


@asynccontextmanager
async def talking_to(provider: LoopbackProvider, folder: Path) -> AsyncIterator[Editor]:
    env = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
    async with server_process(env=env) as server:
        editor = Editor(server.client)
        await editor.start(folder)
        yield editor
        await editor.client.shut_down()
        await server.exit_code()
        assert "sk-test-loopback" not in server.log + str(server.client.received)


async def new_session(editor: Editor, **params: Any) -> str:
    return await editor.new_session(provider="anthropic", **params)


async def reached(gate: Gate) -> None:
    await anyio.to_thread.run_sync(gate.wait_reached)


@pytest.mark.req("H3", "E2")
async def test_a_subscription_during_a_stream_gets_the_text_so_far_and_the_following_deltas(
    tmp_path: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Hello 😋 ", gate, "wor", "ld.")]]) as provider:
        async with talking_to(provider, tmp_path) as editor:
            session_id = await new_session(editor)
            await editor.submit(session_id, "Say hello.")
            await editor.client.event("assistant_text_delta")
            start = len(editor.client.received)
            answer = await editor.subscribe(session_id)
            (part,) = answer["openParts"]
            assert part["text"] == "Hello 😋 "
            gate.open()
            ended = await editor.client.event("assistant_text_end")
            text = part["text"]
            for message in editor.client.received[start:]:
                event = message.get("params", {})
                if event.get("kind") == "assistant_text_delta":
                    assert (event["partId"], event["offset"]) == (part["partId"], len(text))
                    assert event["after"] >= answer["lastSeq"]
                    text += event["data"]["text"]
            assert text == ended["data"]["text"] == "Hello 😋 world."


@pytest.mark.req("H2")
async def test_an_interrupt_can_contain_the_next_message(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("I begin", gate)], "Done differently."]) as provider:
        async with talking_to(provider, tmp_path) as editor:
            session_id = await new_session(editor)
            await editor.submit(session_id, "Do it.")
            await reached(gate)
            stop = {
                "sessionId": session_id,
                "clientKey": new_key(),
                "thenSubmit": text_input("Not like that."),
            }
            await editor.client.request("agent/interrupt", stop)
            assert await editor.client.request("agent/interrupt", stop) == {}
            await editor.client.event("assistant_text_end", text="Done differently.")
            inputs = [
                event["data"]["text"] for event in editor.client.events if event["kind"] == "user_input"
            ]
            assert inputs == ["Do it.", "Not like that."]


@pytest.mark.req("T5")
async def test_background_processes_are_listed_and_ended_on_request(tmp_path: Path) -> None:
    call = ToolCall("shell", {"command": "touch made; sleep 600", "background": True})
    with AnthropicServer([[call], "Started."]) as provider:
        async with talking_to(provider, tmp_path) as editor:
            session_id = await new_session(editor, mode="full")
            await editor.submit(session_id, "Start the server.")
            await editor.client.event("processing_end")
            (running,) = (await editor.client.request("agent/terminals", {"sessionId": session_id}))[
                "terminals"
            ]
            assert (running["command"], running.get("exitCode")) == ("touch made; sleep 600", None)
            named = {"sessionId": session_id, "terminalId": running["terminalId"]}
            await editor.client.request("agent/terminalKill", named)
            (ended,) = (await editor.client.request("agent/terminals", {"sessionId": session_id}))[
                "terminals"
            ]
            assert ended["exitCode"] is not None
            with pytest.raises(ResponseError) as unknown:
                await editor.client.request("agent/terminalKill", {**named, "terminalId": "none"})
            assert unknown.value.data["kind"] == "unknown_terminal"
