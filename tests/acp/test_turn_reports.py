"""Turns of sessions that clients of other ACP agents cancel, load, resume and approve, each in its smallest form."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import AcpClient, acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, Gate, OpenAIResponsesServer, Text, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
TOUCH = ToolCall("shell", {"command": "touch made"})
PLAN = ToolCall("plan", {"items": [{"text": "Fix bug", "status": "active"}]})


def place_of(client: AcpClient, word: str) -> int:
    """Return the place of the first message that has this word, among those in both directions."""
    return next(at for at, (_, message) in enumerate(client.wire) if word in json.dumps(message))


@pytest.mark.parametrize(
    ("waits", "by_request"),
    [
        reported("NousResearch/hermes-agent#79196", True, False),
        reported("agentclientprotocol/claude-agent-acp#442", False, False),
        reported("felinics/Memoh#974", True, True),
    ],
)
async def test_a_cancelled_prompt_ends_and_the_next_one_knows_the_conversation(
    project: Path, waits: bool, by_request: bool
) -> None:
    gate = Gate()
    with AnthropicServer(["First.", [Text("Begin ", gate)], "Again."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "Remember 42")
            running = await client.start_prompt(session_id)
            if waits:
                await client.wait_for(lambda: "Begin" in client.text())
            if by_request:
                await client.notify("$/cancel_request", requestId=running)
                await client.wait_for(lambda: client._asked[running][2])
            else:
                await client.cancel(session_id)
                assert (await client.answer(running))["stopReason"] == "cancelled"
            gate.open()
            assert await client.prompt(session_id) == "end_turn"
        assert "Remember 42" in json.dumps(server.requests[-1].body)


@pytest.mark.report("agentclientprotocol/claude-agent-acp#415")
async def test_a_prompt_is_cancelled_also_after_a_request_to_load_its_session(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Begin ", gate)]]) as server:
        async with acp_session(project, server) as (client, session_id):
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: client.text())
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"
            gate.open()


@pytest.mark.report("anomalyco/opencode#30760", "anomalyco/opencode#30756", "getsentry/junior#1691")
async def test_all_messages_are_sent_again_by_load_and_none_by_resume(project: Path) -> None:
    link = {"type": "resource_link", "name": "main.rs", "uri": "file:///p/a%20b/main.rs#L2:3"}
    with AnthropicServer(lambda body: "Answer.") as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, [{"type": "text", "text": "Look at"}, link])
            for number in range(105):
                await client.prompt(session_id, f"message {number}.")
        params = {"sessionId": session_id, "cwd": str(project), "mcpServers": []}
        async with acp_ready(project, server) as client:
            await client.request("session/load", **params)
            said = [it["content"] for it in client.of_kind("user_message_chunk")]
            assert [it.get("text", it.get("uri")) for it in said] == [
                "Look at",
                link["uri"],
                *(f"message {number}." for number in range(105)),
            ]
            assert len(client.of_kind("agent_message_chunk")) == 106
        async with acp_ready(project, server) as client:
            await client.request("session/resume", **params)
            assert not client.of_kind("user_message_chunk") and not client.text()


@pytest.mark.report("agentclientprotocol/claude-agent-acp#1020")
async def test_calls_of_subagents_are_sent_again_by_load(project: Path) -> None:
    def script(body: Any) -> Any:
        messages = str(body["messages"])
        if "Count the files" in messages and "spawn_agent" not in messages:
            return "There is one." if "tool_result" in messages else [READ]
        if "There is one." in messages:
            return "One."
        if "tool_result" in messages:
            return [ToolCall("wait", {"agent_id": "agent_1"})]
        return [ToolCall("spawn_agent", {"task": "Count the files"})]

    with AnthropicServer(script) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
            live = sorted(it["title"] for it in client.of_kind("tool_call"))
        async with acp_ready(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert sorted(it["title"] for it in client.of_kind("tool_call")) == live
    assert any("a.py" in it for it in live)


@pytest.mark.report("Xuanwo/acp-claude-code#50")
async def test_an_edit_is_approved_before_the_file_changes(project: Path) -> None:
    seen: list[str] = []

    async def look(params: dict[str, Any]) -> Any:
        seen.append((project / "a.py").read_text())
        return await client.choose(params)

    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            client.on["session/request_permission"] = look
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            await client.prompt(session_id)
    assert seen == ["x = 1\n"] and (project / "a.py").read_text() == "x = 2\n"


@pytest.mark.report("github/copilot-cli#4537", "zed-industries/zed#56594")
@pytest.mark.report("google-gemini/gemini-cli#29439")
async def test_a_command_is_shown_and_does_not_run_if_it_is_rejected(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_session(project, server, permission="reject_once") as (client, session_id):
            assert await client.prompt(session_id) == "end_turn"
            [asked] = client.asked("session/request_permission")
            assert "touch made" in asked["toolCall"]["title"]
            assert "touch made" in json.dumps(asked["toolCall"]["content"])
            call = client.call("touch made")
            assert (call["toolCallId"], call["status"]) == (asked["toolCall"]["toolCallId"], "failed")
            assert place_of(client, '"tool_call"') < place_of(client, "session/request_permission")
            assert place_of(client, "session/request_permission") < place_of(client, '"tool_call_update"')
    assert not (project / "made").exists()


@pytest.mark.report("olimorris/codecompanion.nvim#3014")
@pytest.mark.parametrize("permission", ["allow_once", "reject_once"])
async def test_each_of_several_commands_at_once_is_asked(project: Path, permission: str) -> None:
    calls = [ToolCall("shell", {"command": f"touch made{n}"}) for n in range(3)]
    with AnthropicServer([calls, "Done."]) as server:
        async with acp_session(project, server, permission=permission) as (client, session_id):
            assert await client.prompt(session_id) == "end_turn"
            assert len(client.asked("session/request_permission")) == 3
    assert len([name for name in os.listdir(project) if "made" in name]) == (
        3 if permission == "allow_once" else 0
    )


@pytest.mark.report("xenodium/agent-shell#580")
async def test_a_permission_has_a_diff_for_each_file_of_a_patch(project: Path) -> None:
    (project / "b.py").write_text("y = 1\n")
    parts = (("a.py", "x"), ("b.py", "y"))
    changes = "".join(f"*** Update File: {name}\n@@\n-{it} = 1\n+{it} = 2\n" for name, it in parts)
    patch = f"*** Begin Patch\n{changes}*** End Patch\n"
    call = ToolCall("apply_patch", {"input": patch})
    with OpenAIResponsesServer([[call], "Done."], allow_violations=True) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            await client.prompt(session_id)
            [asked] = client.asked("session/request_permission")
            diffs = [it["path"] for it in asked["toolCall"]["content"] if it["type"] == "diff"]
            assert diffs == [str(project / name) for name, _ in parts]


@pytest.mark.report("dirac-run/dirac#116")
async def test_a_missing_key_is_an_error_of_the_prompt_and_the_agent_lives(project: Path) -> None:
    async with acp_client(project) as client:
        await client.initialize()
        session_id = await client.new_session()
        prompt = [{"type": "text", "text": "go"}]
        refused = await client.refused("session/prompt", sessionId=session_id, prompt=prompt)
        assert "ANTHROPIC_API_KEY" in refused.message
        assert await client.new_session()


@pytest.mark.report("mistralai/mistral-vibe#214", "anomalyco/opencode#21013")
async def test_a_plan_and_the_title_of_a_session_are_sent(project: Path) -> None:
    with AnthropicServer([[PLAN], "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "Please fix the discount")
            assert [it["content"] for it in client.of_kind("plan")[0]["entries"]] == ["Fix bug"]
            assert client.of_kind("session_info_update")[-1]["title"] == "Please fix the discount"


@pytest.mark.report("zed-industries/zed#46218")
@pytest.mark.report("davidtaylor6130/Universal-Agent-Manager#106")
async def test_the_output_of_a_stopped_command_reaches_the_model(project: Path) -> None:
    stopped = ToolCall("shell", {"command": "echo ha''lf; sleep 600"})
    with AnthropicServer([[stopped], "Again."]) as server:
        async with acp_session(project, server) as (client, session_id):
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: "half" in json.dumps(client.updates))
            await client.cancel(session_id)
            await client.answer(running)
            assert place_of(client, '"status": "failed"') < place_of(client, '"stopReason"')
            assert await client.prompt(session_id) == "end_turn"
        (result, _) = server.requests[-1].body["messages"][-1]["content"]
    assert "half" in result["content"] and "Interrupted by the user" in result["content"]
