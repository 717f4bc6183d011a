"""A long scenario of one client; each message in both directions is checked against the schema and the required
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import acp
import anyio
import pytest
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.acp.client import acp_client, process_environment, unsaved, write_to_disk
from tests.support.commands import command
from tests.support.loopback import Answer, AnthropicServer, Gate, Reasoning, Text, ToolCall

EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
READ = ToolCall("read_file", {"file_path": "a.py"})
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


@pytest.mark.req("H13")
async def test_all_messages_of_a_session_match_the_schema_in_both_directions(project: Path) -> None:
    gate = Gate()
    script: Sequence[Answer] = [
        [Reasoning("First I look."), Text("I ", "look."), READ],
        [EDIT],
        [ToolCall("shell", {"command": "printf 'one\\ntwo\\n'; touch made"})],
        "All done.",
        [Text("Working", gate)],
        "After the stop.",
    ]
    buffers: dict[str, str] = {}

    with AnthropicServer(script) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": unsaved(buffers), "fs/write_text_file": write_to_disk}
            result = await client.initialize("peer", FILES)
            assert result["protocolVersion"] == 1 and result["authMethods"] == []
            session_id = await client.new_session()

            assert await client.prompt(session_id, "Change it.") == "end_turn"
            assert (project / "a.py").read_text() == "x = 2\n"
            assert client.text() == "I look.All done."
            assert client.text("agent_thought_chunk").startswith("First I look.")
            edit = client.call("Editing a.py")
            assert edit["status"] == "completed" and edit["kind"] == "edit"
            assert edit["content"][0] == {
                "type": "diff", "path": str(project / "a.py"), "oldText": "x = 1\n", "newText": "x = 2\n",
            }  # fmt: skip
            assert edit["locations"] == [{"path": str(project / "a.py"), "line": 1}]
            shell = client.call("printf")
            assert shell["kind"] == "execute" and "one\ntwo" in shell["content"][-1]["content"]["text"]
            asked = [it["toolCall"]["title"] for it in client.asked("session/request_permission")]
            assert asked[0] == "Editing a.py"
            assert client.of_kind("usage_update")[-1]["size"] > 0
            assert client.of_kind("session_info_update")[-1]["title"] == "Change it."
            assert any(
                it["name"] == "compact"
                for it in client.of_kind("available_commands_update")[0]["availableCommands"]
            )

            running = await client.start_prompt(session_id, "Go on for long.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await client.cancel(session_id)
            assert await client.answer(running) == {"stopReason": "cancelled"}

            assert await client.prompt(session_id, "And now?") == "end_turn"
            listed = await client.request("session/list", cwd=str(project))
            assert [it["sessionId"] for it in listed["sessions"]] == [session_id]
            await client.request("session/close", sessionId=session_id)
            await client.request("session/delete", sessionId=session_id)
            assert (await client.request("session/list"))["sessions"] == []
            assert not client.order.left_open()
            assert await client.end() == 0


async def test_the_official_python_client_completes_a_prompt_with_an_edit(project: Path) -> None:
    class Peer:
        def __init__(self) -> None:
            self.updates: list[Any] = []

        async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
            chosen = next(it for it in options if it.kind == "allow_once")
            outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
            return RequestPermissionResponse(outcome=outcome)

        async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
            self.updates.append(update)

    peer: Any = Peer()  # methods of capabilities that the client does not announce may be missing
    with AnthropicServer([[Text("I look."), READ], [EDIT], "Done."]) as server:
        environ = process_environment(project.parent / "home", server)
        argv = command("acp")
        async with acp.spawn_agent_process(peer, argv[0], *argv[1:], env=environ, cwd=project) as (
            agent,
            process,
        ):
            result = await agent.initialize(protocol_version=1)
            assert result.agent_info and result.agent_info.name == "agent-ls"
            session = await agent.new_session(cwd=str(project), mcp_servers=[])
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
            assert answer.stop_reason == "end_turn"
        assert process.returncode == 0
    assert (project / "a.py").read_text() == "x = 2\n"
    kinds = {type(update).__name__ for update in peer.updates}
    assert {"AgentMessageChunk", "ToolCallStart", "ToolCallProgress", "UsageUpdate"} <= kinds
