"""Public reports of failed prompts, parallel sessions and processes of other ACP agents, each in its smallest form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import NO_ANSWER, acp_client, acp_ready
from tests.mcp.plans import raw_server, sent
from tests.support.loopback import AnthropicServer, ErrorReply, ToolCall
from tests.support.processes import new_token, processes_with
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
TOUCH = ToolCall("shell", {"command": "touch made"})

FAILURES = [
    reported("svkozak/pi-acp#135", ErrorReply(401, "invalid x-api-key")),
    reported("anomalyco/opencode#24494", ErrorReply(400, "model: no such model")),
    reported("agent-of-empires/agent-of-empires#2426", ErrorReply(403, "not allowed for this account")),
]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failed_model_call_is_an_error_with_its_reason(project: Path, failure: ErrorReply) -> None:
    with AnthropicServer([failure]) as server:
        async with acp_ready(project, server) as client:
            prompt = [{"type": "text", "text": "hi"}]
            refused = await client.refused(
                "session/prompt", sessionId=await client.new_session(), prompt=prompt
            )
            assert refused.message != "Internal error" and refused.details


@pytest.mark.report("sudoprivacy/sudocode#417", "endorhq/rover#552", "zed-industries/codex-acp#130")
async def test_sessions_of_one_process_run_side_by_side_in_their_own_folders(project: Path) -> None:
    async def never(params: dict[str, Any]) -> Any:
        return NO_ANSWER

    other = project.parent / "other"
    other.mkdir()
    (other / "a.py").write_text("y = 9\n")

    def script(body: Any) -> Any:
        said = json.dumps(body["messages"])
        if "wait here" in said:
            return [TOUCH]
        return "Seen." if "y = 9" in said else [READ]

    with AnthropicServer(script) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = never
            await client.initialize()
            waiting = await client.start_prompt(await client.new_session(), "wait here")
            await client.wait_for(lambda: client.requests)
            second = await client.new_session(cwd=str(other))
            assert await client.prompt(second, "look") == "end_turn"
            assert not client._asked[waiting][2]


@pytest.mark.report("agentclientprotocol/claude-agent-acp#325", "can1357/oh-my-pi#4788")
async def test_a_process_whose_client_goes_ends_with_its_commands(project: Path) -> None:
    token = new_token()
    with AnthropicServer([[ToolCall("shell", {"command": f": {token}; sleep 600; true"})]]) as server:
        async with acp_ready(project, server) as client:
            await client.start_prompt(await client.new_session())
            await client.wait_for(lambda: "in_progress" in json.dumps(client.of_kind("tool_call_update")))
            assert await client.end() == 0
    assert not processes_with(token)


@pytest.mark.report("yetone/alma-releases#76", "can1357/oh-my-pi#7722")
async def test_variables_as_an_object_are_taken_and_a_malformed_server_is_told(
    project: Path, tmp_path: Path
) -> None:
    entry = raw_server(tmp_path / "plans", "raw", log=str(tmp_path / "log"))
    given = [{"name": "raw", **entry, "env": {"MODE": "dev"}}, {"name": "broken", "args": 7}]
    with AnthropicServer([[ToolCall("raw__echo", {"text": "hello"})], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.permission = "allow_always"
            await client.initialize(
                _meta={"agent-ls": {"mcp": {"firstWaitMs": 60_000, "startTimeoutMs": 60_000}}}
            )
            session_id = await client.new_session(mcpServers=given)
            assert await client.prompt(session_id) == "end_turn"
            assert [it for it in sent(tmp_path / "log") if it["method"] == "tools/call"]
            assert "broken" in json.dumps(client.updates)
