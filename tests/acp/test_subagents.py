"""Subagents as sessions of their own, for clients that announce that they follow them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import AcpClient, Message, acp_client
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

pytestmark = pytest.mark.req("H13")

SPAWN = ToolCall("spawn_agent", {"task": "Count the files"})
WAIT = ToolCall("wait", {"agent_id": "agent_1"})
TOUCH = ToolCall("shell", {"command": "touch made"})


def script(*work: Any) -> Any:
    """Return the answers of a model that starts a subagent and waits for it. `work` are the subagent's answers."""
    left = list(work)

    def answer(body: Any) -> Any:
        said = str(body["messages"])
        if "The task:" in said:
            return left.pop(0)
        if "tool_result" not in said:
            return [SPAWN]
        return "Done." if "'wait'" in said else [WAIT]

    return answer


@asynccontextmanager
async def following(project: Path, server: AnthropicServer) -> AsyncIterator[AcpClient]:
    # The Python SDK does not know these updates: tests/editors/test_acp_subagents.py has the schema.
    async with acp_client(project, server, is_schema_checked=False) as client:
        await client.initialize(capabilities={"subagents": {}})
        yield client


def of_session(client: AcpClient, session_id: str) -> list[Message]:
    notices = [it["params"] for way, it in client.wire if way == "<" and it.get("method") == "session/update"]
    return [it["update"] for it in notices if it["sessionId"] == session_id]


def states(client: AcpClient) -> list[tuple[str, str | None]]:
    found = [it["state"] for it in client.of_kind("subagent_update")]
    return [(it["state"], it.get("stopReason")) for it in found]


async def test_a_subagent_is_a_session_that_is_announced_before_its_messages(project: Path) -> None:
    with AnthropicServer(script("There is one.")) as server:
        async with following(project, server) as client:
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            child = client.of_kind("subagent_update")[0]
            assert child["title"] == "Count the files" and child["cwd"] == str(project)
            assert child["capabilities"] == {"cancel": {}}
            assert states(client) == [("running", None), ("idle", "end_turn")]
            task, *said = of_session(client, child["sessionId"])
            assert task["sessionUpdate"] == "session_message" and task["senderSessionId"] == session_id
            assert task["content"][0]["text"] == "Count the files"
            assert "".join(it["content"]["text"] for it in said if "content" in it) == "There is one."
            parts = [
                it for it in of_session(client, session_id) if it["sessionUpdate"] == "agent_message_chunk"
            ]
            assert "".join(it["content"]["text"] for it in parts) == "Done."
            assert not any("#" in it["toolCallId"] for it in client.of_kind("tool_call"))
            first = [
                it["params"]["sessionId"] for _, it in client.wire if it.get("method") == "session/update"
            ]
            assert first.index(child["sessionId"]) > client.updates.index(child)


async def test_an_approval_of_a_subagent_names_its_session(project: Path) -> None:
    with AnthropicServer(script([TOUCH], "Made.")) as server:
        async with following(project, server) as client:
            session_id = await client.new_session()
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            await client.prompt(session_id)
            child = client.of_kind("subagent_update")[0]["sessionId"]
            (asked,) = client.asked("session/request_permission")
            assert asked["sessionId"] == child
            calls = [it for it in of_session(client, child) if "toolCallId" in it]
            assert {it["toolCallId"] for it in calls} == {asked["toolCall"]["toolCallId"]}
            assert calls[-1]["status"] == "completed"
            assert [it for it, _ in states(client)] == ["running", "requires_action", "running", "idle"]
    assert (project / "made").exists()


async def test_cancelling_a_subagent_leaves_its_parent_running(project: Path) -> None:
    gate = Gate()
    with AnthropicServer(script([Text("I look", gate)])) as server:
        async with following(project, server) as client:
            prompt = await client.start_prompt(await client.new_session())
            await client.wait_for(
                lambda: any(it["sessionUpdate"] == "agent_message_chunk" for it in client.updates)
            )
            child = client.of_kind("subagent_update")[0]["sessionId"]
            await client.cancel(child)
            assert (await client.answer(prompt))["stopReason"] == "end_turn"
            assert states(client)[-1] == ("idle", "cancelled")
            assert client.of_kind("subagent_update")[-1]["capabilities"] is None
            gate.open()


async def test_a_subagents_session_takes_no_prompt(project: Path) -> None:
    with AnthropicServer(script("There is one.")) as server:
        async with following(project, server) as client:
            await client.prompt(await client.new_session())
            child = client.of_kind("subagent_update")[0]["sessionId"]
            block = {"type": "text", "text": "go"}
            assert (await client.refused("session/prompt", sessionId=child, prompt=[block])).code < 0


async def test_the_end_of_a_turn_ends_its_subagents_first(project: Path) -> None:
    gate = Gate()
    with AnthropicServer(script([Text("I look", gate)])) as server:
        async with following(project, server) as client:
            session_id = await client.new_session()
            prompt = await client.start_prompt(session_id)
            await client.wait_for(
                lambda: any(it["sessionUpdate"] == "agent_message_chunk" for it in client.updates)
            )
            await client.cancel(session_id)
            assert (await client.answer(prompt))["stopReason"] == "cancelled"
            assert states(client)[-1] == ("idle", "cancelled")
            gate.open()


async def test_loading_a_session_sends_its_subagents_again(project: Path) -> None:
    def seen(client: AcpClient) -> list[Message]:
        child = client.of_kind("subagent_update")[0]["sessionId"]
        texts = [it for it in of_session(client, child) if "content" in it]
        return [*client.of_kind("subagent_update"), texts[0], {"text": texts[-1]["content"]}]

    with AnthropicServer(script("There is one.")) as server:
        async with following(project, server) as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            live = seen(client)
        async with following(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert seen(client) == live
