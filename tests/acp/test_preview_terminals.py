"""Commands in the preview of version 2: a terminal of their own, and a way to cancel them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import AcpClient, AcpError, Message
from tests.acp.test_preview import initialize, preview_client, until_idle
from tests.support.loopback import Answer, AnthropicServer, Gate, Text, ToolCall

SPAWN = ToolCall("spawn_agent", {"task": "look around"})


def terminal(client: AcpClient, terminal_id: str) -> Message:
    """Return the terminal as a client displays it: the newest value of each field, and its output."""
    found: Message = {"output": ""}
    for update in client.updates:
        if update.get("terminalId") == terminal_id:
            if update["sessionUpdate"] == "terminal_output_chunk":
                found["output"] += b64decode(update["data"]).decode()
            else:
                found |= {key: value for key, value in update.items() if key != "sessionUpdate"}
    return found


def calls(client: AcpClient) -> list[Message]:
    """Return the calls as a client displays them, in order of appearance."""
    found: dict[str, Message] = {}
    for update in client.of_kind("tool_call_update"):
        found.setdefault(update["toolCallId"], {}).update(update)
    return list(found.values())


async def test_a_command_has_a_terminal_with_its_output_and_exit_code(project: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": "echo hi; exit 3"})], "Done."]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await until_idle(client)

            (call,) = calls(client)
            shown = terminal(client, call["toolCallId"])
            assert {"type": "terminal", "terminalId": call["toolCallId"]} in call["content"]
            assert (shown["command"], shown["cwd"]) == ("echo hi; exit 3", str(project))
            assert (shown["output"], shown["exitStatus"]["exitCode"]) == ("hi\n", 3)
            assert shown["capabilities"] is None and call["capabilities"] is None
            assert call["status"] == "failed"


@pytest.mark.parametrize("method", ["terminal/cancel", "tool_call/cancel"])
async def test_a_running_command_can_be_cancelled_and_the_turn_goes_on(project: Path, method: str) -> None:
    command = ToolCall("shell", {"command": "echo begun; sleep 600"})
    with AnthropicServer([[command], "It was stopped."]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await client.wait_for(lambda: client.of_kind("terminal_output_chunk"))
            call_id = client.of_kind("terminal_output_chunk")[0]["terminalId"]
            assert terminal(client, call_id)["capabilities"] == {"cancel": {}}
            named = "terminalId" if method == "terminal/cancel" else "toolCallId"

            assert await client.request(method, sessionId=session_id, **{named: call_id}) == {}
            assert (await until_idle(client))["stopReason"] == "end_turn"

            assert calls(client)[0]["status"] == "cancelled"
            assert "exitStatus" in terminal(client, call_id)
            assert "stopped" in client.text()
            with pytest.raises(AcpError) as late:
                await client.request(method, sessionId=session_id, **{named: call_id})
            assert late.value.code == -32602


@pytest.mark.report("github/copilot-cli#4555")
async def test_a_background_command_has_its_terminal_until_it_ends(project: Path) -> None:
    script = "echo begun; while test ! -e go; do sleep 0.05; done; echo over"
    background = ToolCall("shell", {"command": script, "background": True})
    with AnthropicServer([[background], "It runs.", "Still."]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await until_idle(client)
            (call,) = calls(client)
            assert call["status"] == "completed"
            assert [it["type"] for it in call["content"]] == ["terminal", "content"]
            await client.answer(await client.start_prompt(session_id))
            await until_idle(client)
            assert "exitStatus" not in terminal(client, call["toolCallId"])

            (project / "go").touch()  # between two prompts
            await client.wait_for(lambda: "exitStatus" in terminal(client, call["toolCallId"]))
            assert terminal(client, call["toolCallId"])["exitStatus"]["exitCode"] == 0


async def test_what_works_in_the_background_can_be_cancelled_between_prompts(project: Path) -> None:
    background = ToolCall("shell", {"command": "echo begun; sleep 600", "background": True})
    with AnthropicServer([[background], "It runs."]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await until_idle(client)
            (call,) = calls(client)
            assert terminal(client, call["toolCallId"])["capabilities"] == {"cancel": {}}
            await client.request("terminal/cancel", sessionId=session_id, terminalId=call["toolCallId"])
            await client.wait_for(lambda: "exitStatus" in terminal(client, call["toolCallId"]))


async def test_a_single_subagent_can_be_cancelled(project: Path) -> None:
    gate = Gate()

    def answer(body: Mapping[str, Any]) -> Answer:
        said = str(body["messages"])
        if "The task:" in said:
            return [Text("I look", gate)]
        return "It was stopped." if "tool_result" in said else [SPAWN]

    with AnthropicServer(answer) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await client.wait_for(lambda: [it for it in calls(client) if "#" in it["toolCallId"]])
            (agent,) = (it for it in calls(client) if "#" in it["toolCallId"])
            assert agent["capabilities"] == {"cancel": {}}
            await client.request("tool_call/cancel", sessionId=session_id, toolCallId=agent["toolCallId"])
            await client.wait_for(
                lambda: [
                    it for it in calls(client) if it["status"] == "cancelled" and "#" in it["toolCallId"]
                ]
            )
            gate.open()
