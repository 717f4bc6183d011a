"""The list of MCP servers for panels (state, tools, errors), and switching servers on and off."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agent_ls.features.mcp.listing import list_servers, switch as switch_server
from agent_ls.features.mcp.prompt_commands import prompt_commands, prompt_text
from agent_ls.features.mcp.resource_mentions import resource_mentions, resource_text
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.services.errors import AppError
from tests.mcp.plans import project_file, raw_server, tool, user_file
from tests.mcp.rig import running, until_state
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import deny

pytestmark = pytest.mark.req("T11")


async def test_servers_are_listed_with_state_tools_and_error(tmp_path: Path) -> None:
    good = raw_server(tmp_path / "plans", "good", tools=[tool("b"), tool("a")], prompts=[{"name": "p"}])
    user_file(
        tmp_path / "state",
        good=good,
        gone={"command": "no-such-program-here"},
        off={**good, "enabled": False},
    )
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk()
        assert list_servers(talk.live.servers) == ((), ())
        await talk.say("go")
        await until_state(talk, "gone", "failed")

        listed, problems = list_servers(talk.live.servers)
        assert [(it.name, it.state, it.tools, it.prompts) for it in listed] == [
            ("gone", "failed", (), ()),
            ("good", "running", ("a", "b"), ("p",)),
            ("off", "off", (), ()),
        ]
        assert "no-such-program-here" in listed[0].error and not problems
        assert "raw_server.py" in listed[1].target and listed[1].source == "user"


async def test_prompts_of_a_server_are_offered_as_slash_commands_with_arguments(tmp_path: Path) -> None:
    arguments = [{"name": "row", "required": True, "description": "which row"}, {"name": "why"}]
    prompts = [{"name": "explain", "description": "Explain a row", "arguments": arguments}]
    user_file(tmp_path / "state", db=raw_server(tmp_path / "plans", "db", prompts=prompts))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        [command] = prompt_commands(talk.live.servers)
        assert (command.name, command.argument_hint) == ("db:explain", "row [why]")
        content = await prompt_text(talk.live.servers, "db:explain", "'row 7' because of this")
        assert content.startswith("/db:explain 'row 7' because of this\n\nThe MCP server db")
        assert 'explain {"row": "row 7", "why": "because of this"}' in content
        with pytest.raises(AppError, match="the prompt needs row"):
            await prompt_text(talk.live.servers, "db:explain", "")
        with pytest.raises(AppError, match="no MCP server"):
            await prompt_text(talk.live.servers, "db:other", "")


@pytest.mark.report("mcpjungle/MCPJungle#214")
async def test_a_prompt_whose_name_has_blanks_is_one_command(tmp_path: Path) -> None:
    prompts = [
        {"name": "User Summary", "title": "A title", "arguments": [{"name": "user_id", "required": True}]}
    ]
    user_file(tmp_path / "state", db=raw_server(tmp_path / "plans", "db", prompts=prompts))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk()
        await talk.say("go")
        [command] = prompt_commands(talk.live.servers)
        assert " " not in command.name
        assert "joe" in await prompt_text(talk.live.servers, command.name, "joe")
        with pytest.raises(AppError, match="user_id"):
            await prompt_text(talk.live.servers, command.name, "")


async def test_resources_are_listed_and_read_by_a_tool(tmp_path: Path) -> None:
    resources = [{"uri": "demo://1", "name": "one", "description": "the first"}]
    user_file(tmp_path / "state", db=raw_server(tmp_path / "plans", "db", resources=resources))
    script: list[Piece] = [
        tool_call("read_resource", '{"server": "db"}'),
        tool_call("read_resource", '{"server": "db", "uri": "demo://1"}'),
        text("done"),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="go")

        listed, read = (str(it.content) for it in rig.results())
        assert listed == "demo://1  one: the first" and "text of demo://1" in read
        assert [it.effect["title"] for it in talk.of(ApprovalRequested)] == ["read a resource"]


async def test_server_that_is_switched_off_stays_off_until_it_is_switched_on(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw"))
    async with running(tmp_path, [text("done"), text("done"), text("done")]) as rig:
        talk = await rig.talk(say="go")
        assert await switch_server(talk.live.servers, "raw", "off")
        await talk.say("go")
        other = await rig.talk(say="go")
        assert await switch_server(other.live.servers, "raw", "on")
        await until_state(other, "raw", "running")
        await other.say("go")

        offered = ["raw__echo" in [it.name for it in request.tools] for request in rig.model.requests]
        assert offered == [True, False, False, True]
        assert not await switch_server(talk.live.servers, "unknown", "off")


async def test_resources_of_a_server_are_listed_as_mentions_and_read_with_secrets_redacted(
    tmp_path: Path,
) -> None:
    key = "a-key-of-the-user-12345"
    resources = [{"uri": f"demo://{key}", "name": "one"}, {"uri": "demo://2", "name": "two\u202e"}]
    user_file(tmp_path / "state", db=raw_server(tmp_path / "plans", "db", resources=resources))
    options = {"credentials": Credentials({"anthropic": key})}
    async with running(tmp_path, [text("done")], options=options) as rig:
        talk = await rig.talk()
        assert not resource_mentions(talk.live.servers)
        await talk.say("go")

        first, second = resource_mentions(talk.live.servers)
        assert (second.label, second.description) == ("db:demo://2", "two<U+202E>")
        content = await resource_text(talk.live.servers, "db", "demo://2")
        assert "server db" in content and "text of demo://2" in content
        assert key not in await resource_text(talk.live.servers, "db", first.uri)
        with pytest.raises(AppError, match="no MCP server other"):
            await resource_text(talk.live.servers, "other", "demo://2")


async def test_a_denied_server_needs_approval_again_when_it_is_switched_on(tmp_path: Path) -> None:
    project_file(tmp_path / "project", raw=raw_server(tmp_path / "plans", "raw"))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(answers=deny, say="go")
        assert list_servers(talk.live.servers)[0][0].state == "denied"

        async with anyio.create_task_group() as group:
            group.start_soon(switch_server, talk.live.servers, "raw", "on")
            await talk.until("approval_requested", 2)
            asked = talk.of(ApprovalRequested)[1]
            talk.live.approver.answer(asked.request_id, ApprovalAnswer("allow", decided_by="test"))
        await until_state(talk, "raw", "running")
