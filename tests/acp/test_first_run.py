"""First prompts that cannot begin: what blocks, what to do, and how the same session goes on afterwards."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.acp.client import AcpError, acp_client
from tests.support.commands import command, environment
from tests.support.first_runs import LAST, MADE, STOPPED, blocked
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H13", "U8")


@pytest.mark.report("github/copilot-cli#3902")
@pytest.mark.report("cline/cline#11662")
@pytest.mark.parametrize("name", STOPPED)
async def test_a_blocked_first_prompt_says_why_and_the_same_session_goes_on_when_it_is_mended(
    name: str, project: Path
) -> None:
    with blocked(name, project) as state:
        variables: Any = state.variables
        async with acp_client(project, **variables) as client:
            await client.initialize(_meta={"agent-ls": {"mode": "edits", **state.choice}})
            session_id = await client.new_session()
            with pytest.raises(AcpError) as caught:
                await client.prompt(session_id)
            refused = caught.value
            first, rest = refused.message.lower(), refused.details[len(refused.message) :].lower()
            assert state.reason in first and state.step in rest, (refused.message, refused.details)
            assert not (project / MADE).exists()
            await anyio.to_thread.run_sync(state.mend)
            assert await client.prompt(session_id) == "end_turn"
            assert (project / MADE).exists() and client.text().count(LAST) == 1
            (listed,) = (await client.request("session/list"))["sessions"]
            assert listed["sessionId"] == session_id


EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
READ = ToolCall("read_file", {"file_path": "a.py"})


@pytest.mark.parametrize("is_asked", [True, False], ids=["asked", "restricted"])
async def test_a_folder_trusted_in_another_process_is_trusted_in_the_open_session(
    is_asked: bool, project: Path
) -> None:
    environ = environment(project.parent / "home")
    del environ[TRUST_VARIABLE]

    def decide(verb: str) -> None:
        subprocess.run(command("trust", verb), cwd=project, env=environ, check=True, capture_output=True)

    if not is_asked:
        decide("restrict")
    with AnthropicServer([[READ], [EDIT], "It is refused.", [READ], [EDIT], "Done."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.permission = "reject_once"
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            assert (project / "a.py").read_text() == "x = 1\n"
            decide("add")
            client.permission = "allow_once"
            assert await client.prompt(session_id) == "end_turn"
    assert (project / "a.py").read_text() == "x = 2\n"


async def test_a_model_without_tools_gets_the_text_protocol_with_a_notice(project: Path) -> None:
    with blocked("no tools", project) as state:
        variables: Any = state.variables
        async with acp_client(project, **variables) as client:
            await client.initialize(_meta={"agent-ls": {"mode": "edits", **state.choice}})
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            shown = (client.text("agent_thought_chunk") + client.text()).lower()
    assert state.reason in shown and state.step in shown and (project / MADE).exists(), shown


@pytest.mark.req("H11")
async def test_a_client_that_shows_notices_gets_warnings_apart_from_the_conversation_and_once(
    project: Path,
) -> None:
    able: dict[str, Any] = {"session": {"notices": {}}}
    with blocked("no tools", project) as state:
        variables: Any = state.variables
        # notices are not in the schema of the test's SDK
        async with acp_client(project, is_schema_checked=False, **variables) as client:
            await client.initialize(capabilities=able, _meta={"agent-ls": {"mode": "edits", **state.choice}})
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            (shown,) = client.of_kind("notice")
            assert shown["severity"] == "warning" and state.step in shown["title"]
            assert shown["title"] not in client.text("agent_thought_chunk")
        async with acp_client(project, is_schema_checked=False, **variables) as client:
            await client.initialize(capabilities=able)
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.text() and not client.of_kind("notice")
