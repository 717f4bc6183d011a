"""Sessions of a client: loaded with their transcript, resumed, listed, closed, deleted, and shared with editors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import NO_ANSWER, AcpError, acp_client, acp_ready, acp_session
from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import Answer, AnthropicServer, ErrorReply, Gate, Reasoning, Text, ToolCall

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
TOUCH = ToolCall("shell", {"command": "touch made"})


async def leave_open(params: dict[str, Any]) -> Any:
    return NO_ANSWER


@pytest.mark.req("H13", "R4")
async def test_load_replays_the_whole_transcript_in_another_process(project: Path) -> None:
    script: Sequence[Answer] = [[Reasoning("Hm."), Text("I look."), READ], [EDIT], "Done.", "Again."]
    with AnthropicServer(script) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "Change it.")
            said = client.text()
        async with acp_ready(project, server) as client:
            result = await client.request(
                "session/load", sessionId=session_id, cwd=str(project), mcpServers=[]
            )
            assert result["modes"]["currentModeId"] == "ask"
            assert client.text("user_message_chunk") == "Change it."
            assert client.text() == said
            assert client.text("agent_thought_chunk").startswith("Hm.")
            edit = client.call("Editing a.py")
            assert edit["status"] == "completed" and edit["content"][0]["newText"] == "x = 2\n"
            before = len(client.updates)
            assert await client.prompt(session_id, "And?") == "end_turn"
            new = [it for it in client.updates[before:] if it["sessionUpdate"] == "agent_message_chunk"]
            assert "".join(it["content"]["text"] for it in new) == "Again."


async def test_many_sessions_opened_at_the_same_time_all_open(project: Path) -> None:
    """An editor that restores its tabs does this."""
    folders = [project.parent / f"tab {number}" for number in range(12)]
    for folder in folders:
        folder.mkdir()
    async with acp_ready(project, _meta={"agent-ls": {"mode": "plan", "maxRounds": 7}}) as client:
        params = [{"cwd": str(folder), "mcpServers": []} for folder in folders * 4]
        numbers = [await client.start("session/new", it) for it in params]
        opened = [(await client.answer(number))["sessionId"] for number in numbers]
        assert len(set(opened)) == len(params)


async def test_resume_replays_nothing(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
        async with acp_ready(project, server) as client:
            await client.request("session/resume", sessionId=session_id, cwd=str(project))
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "Two."


@pytest.mark.req("R4", "X8")
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_permission_request_pending_at_process_exit_is_sent_again_at_the_next_prompt(
    project: Path, method: str
) -> None:
    with AnthropicServer([[TOUCH], "Made.", "Hello."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = leave_open
            await client.initialize()
            session_id = await client.new_session()
            await client.start_prompt(session_id)
            await client.wait_for(lambda: client.requests)
        async with acp_ready(project, server) as client:
            await client.request(method, sessionId=session_id, cwd=str(project), mcpServers=[])
            assert not client.requests
            if method == "session/load":
                assert "your answer" in client.text("agent_thought_chunk")
                assert client.call("touch made")["status"] == "pending"
            assert await client.prompt(session_id, "Hi.") == "end_turn"
            assert len(client.asked("session/request_permission")) == 1
            assert client.text() == "Made.Hello."
            assert client.call("touch made")["status"] == "completed"
    assert (project / "made").exists()


@pytest.mark.req("H13")
async def test_a_session_continues_from_the_command_line_to_acp_and_back(project: Path) -> None:
    home = project.parent / "home"
    with AnthropicServer(["From the terminal.", "From the client.", "Back again."]) as server:
        environ = environment(home, **provider_variables(server))
        first = run("exec", "hello", "--json", cwd=project, environ=environ)
        session_id = first.events[0]["sessionId"]
        async with acp_client(project, server, home=home) as client:
            await client.initialize()
            listed = (await client.request("session/list", cwd=str(project)))["sessions"]
            assert [it["sessionId"] for it in listed] == [session_id]
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.text() == "From the terminal."
            assert await client.prompt(session_id) == "end_turn"
        back = run("exec", "and?", "--resume", session_id, cwd=project, environ=environ)
    assert back.code == 0 and "Back again." in back.out


async def test_loading_a_session_of_another_process_fails_with_its_owner_and_a_hint(
    project: Path,
) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_client(project, server) as owner, acp_client(project, server) as other:
            await owner.initialize("zed")
            session_id = await owner.new_session()
            await owner.prompt(session_id)
            await other.initialize()
            refused = await other.refused(
                "session/load", sessionId=session_id, cwd=str(project), mcpServers=[]
            )
            assert "zed" in refused.message and "_agent-ls/takeOver" in refused.details
            await other.request("_agent-ls/takeOver", sessionId=session_id)
            await other.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert await other.prompt(session_id) == "end_turn"


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_client_is_told_which_process_took_its_running_turn_over(
    project: Path, is_waiting: bool
) -> None:
    gate = Gate()
    first: Answer = [TOUCH] if is_waiting else [Text("Half ", gate)]
    with AnthropicServer([first]) as server:
        async with acp_client(project, server) as owner, acp_client(project, server) as other:
            owner.on["session/request_permission"] = leave_open
            await owner.initialize("peer")
            session_id = await owner.new_session()
            prompt = await owner.start_prompt(session_id)
            await owner.wait_for(
                lambda: owner.asked("session/request_permission") if is_waiting else "Half" in owner.text()
            )
            await other.initialize("zed")
            await other.request("_agent-ls/takeOver", sessionId=session_id)
            if is_waiting:
                with pytest.raises(AcpError) as refused:
                    await owner.answer(prompt)
                words = refused.value.details
            else:
                assert (await owner.answer(prompt))["stopReason"] == "cancelled"
                words = owner.text()
            gate.open()
            assert "zed, process" in words and "has taken this session over" in words


async def test_a_session_list_is_paged(project: Path) -> None:
    with AnthropicServer(["Hello."] * 3) as server:
        async with acp_ready(project, server) as client:
            ids = [await client.new_session() for _ in range(3)]
            found = (await client.request("session/list", cwd=str(project)))["sessions"]
            assert {it["sessionId"] for it in found} == set(ids)
            assert (await client.request("session/list", cwd=str(project.parent)))["sessions"] == []
            assert (await client.refused("session/list", cursor="nonsense")).code == -32602


async def test_a_session_ended_by_an_error_continues_with_the_next_prompt(project: Path) -> None:
    with AnthropicServer([ErrorReply(403), "Here again."]) as server:
        async with acp_session(project, server) as (client, session_id):
            number = await client.start_prompt(session_id)
            with pytest.raises(Exception, match=r".+"):
                await client.answer(number)
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "Here again."


async def test_a_mode_change_updates_the_config_option_and_a_config_option_change_updates_the_mode(
    project: Path,
) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_session(project, server) as (client, session_id):
            assert await client.request("session/set_mode", sessionId=session_id, modeId="plan") == {}
            await client.wait_for(lambda: client.of_kind("config_option_update"))
            options = client.of_kind("config_option_update")[-1]["configOptions"]
            assert [it["id"] for it in options] == ["mode", "model", "effort", "review"]
            assert options[0]["currentValue"] == "plan"
            result = await client.request(
                "session/set_config_option", sessionId=session_id, configId="mode", value="edits"
            )
            assert result["configOptions"][0]["currentValue"] == "edits"
            await client.wait_for(lambda: client.of_kind("current_mode_update"))
            assert client.of_kind("current_mode_update")[-1] == {
                "sessionUpdate": "current_mode_update", "currentModeId": "edits",
            }  # fmt: skip
            groups = result["configOptions"][1]["options"]
            assert [it["group"] for it in groups if it["group"] == "anthropic"]
            other = groups[0]["options"][-1]["value"]
            result = await client.request(
                "session/set_config_option", sessionId=session_id, configId="model", value=other
            )
            assert result["configOptions"][1]["currentValue"] == other
            assert await client.prompt(session_id) == "end_turn"
        assert server.requests[-1].body["model"] == other.partition("/")[2]


async def test_additional_folders_belong_to_their_session_only(project: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "b.py").write_text("y = 1\n")
    look = ToolCall("read_file", {"file_path": str(beside / "b.py")})
    with AnthropicServer([[look], "Seen.", [look], "Asked."]) as server:
        async with acp_ready(project, server, permission="reject_once") as client:
            first = await client.new_session(additionalDirectories=[str(beside)])
            assert await client.prompt(first) == "end_turn"
            assert not client.requests
            second = await client.new_session()
            assert await client.prompt(second) == "end_turn"
            assert len(client.asked("session/request_permission")) == 1


async def test_built_in_slash_commands_run_without_a_model_call(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_ready(project, server, permission="allow_always") as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            for command, words in (
                ("/changes", "a.py"),
                ("/rules", "Permissions"),
                ("/undo", "Undone: 1"),
                ("/trust", "trusted"),
            ):
                before = len(client.text())
                assert await client.prompt(session_id, command) == "end_turn"
                assert words in client.text()[before:]
        assert len(server.requests) == 3
    assert (project / "a.py").read_text() == "x = 1\n"


async def test_a_slash_command_reaches_the_model_with_its_arguments(project: Path) -> None:
    with AnthropicServer(["Explained.", "A path."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "/explain the loop")
            await client.prompt(session_id, "/usr/bin is a folder")
        first, second = (str(it.body["messages"][-1]) for it in server.requests)
        assert "/explain the loop" in first and len(first) > 100
        assert "/usr/bin is" in second


@pytest.mark.req("T12", "H13")
async def test_commands_in_files_and_skills_are_listed_and_expanded(project: Path) -> None:
    home = project.parent / "home"
    page = home / ".claude/commands/git/tidy.md"
    skill = home / ".agents/skills/release/SKILL.md"
    for path in (page, skill):
        path.parent.mkdir(parents=True)
    page.write_text("---\ndescription: Tidies\n---\nTidy $ARGUMENTS.\n")
    skill.write_text(
        "---\nname: release\ndescription: Releases. Use it for releases.\n---\nHow to release.\n"
    )
    with AnthropicServer(["Tidied.", "Released."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "/git:tidy up")
            await client.prompt(session_id, "/release now")
            listed = client.of_kind("available_commands_update")[0]["availableCommands"]
        first, second = (str(it.body["messages"][-1]) for it in server.requests)
    assert {"git:tidy", "release", "explain", "compact"} <= {it["name"] for it in listed}
    assert "Tidy up." in first and "How to release." in second
