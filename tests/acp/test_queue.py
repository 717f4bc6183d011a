"""Prompts queued behind a failing or stopped one, compaction, and turns that no prompt waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.client import AcpError, acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, ErrorReply, Gate, Text, ToolCall

READ = ToolCall("read_file", {"file_path": "a.py"})


async def test_a_prompt_queued_behind_a_failing_one_runs(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First.", gate), READ], ErrorReply(400), "Second."]) as server:
        async with acp_session(project, server) as (client, session_id):
            first = await client.start_prompt(session_id, "one")
            await anyio.to_thread.run_sync(gate.wait_reached)
            second = await client.start_prompt(session_id, "two")
            await client.request("session/list")
            gate.open()
            with pytest.raises(AcpError):
                await client.answer(first)
            assert await client.answer(second) == {"stopReason": "end_turn"}
            assert client.text().endswith("Second.")
        assert sum("two" in str(it.body["messages"][-1]) for it in server.requests) == 1


async def test_a_prompt_right_after_a_stop_runs(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First.", gate)], "Second."]) as server:
        async with acp_session(project, server) as (client, session_id):
            first = await client.start_prompt(session_id, "one")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await client.cancel(session_id)
            second = await client.start_prompt(session_id, "two")
            assert await client.answer(first) == {"stopReason": "cancelled"}
            assert await client.answer(second) == {"stopReason": "end_turn"}
            assert client.text().endswith("Second.")


async def test_compaction_of_an_empty_conversation_is_refused_with_a_message(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_session(project, server) as (client, session_id):
            refused = await client.refused(
                "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "/compact"}]
            )
            assert "compact" in refused.message
            assert await client.prompt(session_id) == "end_turn"


async def test_the_compact_command_runs_as_a_turn_and_later_prompts_work(project: Path) -> None:
    with AnthropicServer([*(f"Answer {number}." for number in range(8)), "A summary.", "Last."]) as server:
        async with acp_ready(
            project, server, _meta={"agent-ls": {"context": {"keepRecentMessages": 1}}}
        ) as client:
            session_id = await client.new_session()
            for number in range(8):
                await client.prompt(session_id, f"Question {number} {'word ' * 50}")
            assert await client.prompt(session_id, "/compact what matters") == "end_turn"
            assert client.text("agent_thought_chunk")
            assert await client.prompt(session_id, "Go on.") == "end_turn"


async def test_a_client_that_shows_compactions_gets_their_states_and_in_a_replay_the_last_one(
    project: Path,
) -> None:
    # the draft of compactions is not in the schema of the test's SDK
    with AnthropicServer([*(f"Answer {number}." for number in range(8)), "A summary."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            able: dict[str, Any] = {"session": {"compaction": {}}}
            await client.initialize(
                capabilities=able, _meta={"agent-ls": {"context": {"keepRecentMessages": 1}}}
            )
            session_id = await client.new_session()
            for number in range(8):
                await client.prompt(session_id, f"Question {number} {'word ' * 50}")
            assert await client.prompt(session_id, "/compact") == "end_turn"
            begun, ended = client.of_kind("compaction_update")
            assert begun["compactionId"] == ended["compactionId"]
            assert [begun["status"], ended["status"]] == ["in_progress", "completed"]
            assert "A summary." in ended["summary"][0]["text"] and "summary" not in begun
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.initialize(capabilities=able)
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.of_kind("compaction_update") == [ended]


async def test_steering_a_turn_that_is_being_stopped_starts_a_new_turn_whose_text_is_sent(
    project: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First.", gate)], "Steered."]) as server:
        async with acp_session(project, server) as (client, session_id):
            first = await client.start_prompt(session_id, "one")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await client.cancel(session_id)
            words = [{"type": "text", "text": "Rather this."}]
            await client.request("_session/steering", sessionId=session_id, prompt=words)
            assert await client.answer(first) == {"stopReason": "cancelled"}
            await client.wait_for(lambda: client.text().endswith("Steered."))
