"""Changes and commands as a client displays them before and after a decision, in stories that users reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acp.client import AcpClient, Message, acp_client
from tests.support.loopback import AnthropicServer, OpenAIResponsesServer, ToolCall

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})


def diffs(entries: list[Message]) -> list[tuple[str, str | None, str]]:
    return [(it["path"], it["oldText"], it["newText"]) for it in entries if it["type"] == "diff"]


def status_of(client: AcpClient, call_id: str) -> str:
    """Return the status of a call as the client displays it now."""
    found: list[str] = [
        it["status"] for it in client.updates if it.get("toolCallId") == call_id and "status" in it
    ]
    return found[-1]


@pytest.mark.report("zed-industries/codex-acp#267")
@pytest.mark.report("olimorris/codecompanion.nvim#3100")
@pytest.mark.parametrize("name", ["CodeCompanion.nvim", "zed", ""])
async def test_after_a_rejected_diff_the_model_goes_on(project: Path, name: str) -> None:
    with AnthropicServer([[READ], [EDIT], "Another way, then."]) as server:
        async with acp_client(project, server) as client:
            client.permission = "reject_once"
            await client.initialize(name)
            assert await client.prompt(await client.new_session()) == "end_turn"

            assert client.text() == "Another way, then." and len(server.requests) == 3
            assert (project / "a.py").read_text() == "x = 1\n"


@pytest.mark.report("anomalyco/opencode#31781")
@pytest.mark.report("can1357/oh-my-pi#1015")
@pytest.mark.parametrize("path", ["a.py", "./a.py", "sub/../a.py"])
async def test_a_permission_shows_the_diff_with_an_absolute_path(project: Path, path: str) -> None:
    (project / "sub").mkdir()
    look = ToolCall("read_file", {"file_path": path})
    edit = ToolCall("edit_file", {"file_path": path, "old_string": "x = 1", "new_string": "x = 2"})
    with AnthropicServer([[look], [edit], "Done."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            await client.prompt(await client.new_session())

            call = client.asked("session/request_permission")[0]["toolCall"]
            assert diffs(call["content"]) == [(str(project / "a.py"), "x = 1\n", "x = 2\n")]
            for update in client.updates:
                places = [it["path"] for it in (*update.get("locations", ()),)]
                assert all(Path(it).is_absolute() for it in places)
            assert status_of(client, call["toolCallId"]) == "completed"


@pytest.mark.report("olimorris/codecompanion.nvim#2951")
async def test_a_permission_for_several_files_names_each_of_them(project: Path) -> None:
    (project / "b.py").write_text("y = 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n-x = 1\n+x = 2\n*** Update File: b.py\n-y = 1\n+y = 2\n"
        "*** Add File: c.py\n+z = 1\n*** End Patch"
    )
    with OpenAIResponsesServer(
        [[ToolCall("apply_patch", {"input": patch})], "Done."], allow_violations=True
    ) as server:
        async with acp_client(project, server) as client:
            await client.initialize("CodeCompanion.nvim")
            await client.prompt(await client.new_session())

            call = client.asked("session/request_permission")[0]["toolCall"]
            names = ["a.py", "b.py", "c.py"]
            assert [Path(path).name for path, _, _ in diffs(call["content"])] == names
            assert all(name in call["title"] for name in names), call["title"]
            assert (project / "c.py").read_text() == "z = 1\n"


@pytest.mark.report("xenodium/agent-shell#369")
@pytest.mark.report("anomalyco/opencode#14301")
@pytest.mark.parametrize("call", [EDIT, ToolCall("shell", {"command": "touch made"})])
async def test_a_call_stays_pending_until_the_permission_is_given(project: Path, call: ToolCall) -> None:
    seen: list[str] = []
    with AnthropicServer([[READ], [call], "Done."]) as server:
        async with acp_client(project, server) as client:

            async def choose(params: Message) -> Message:
                seen.append(status_of(client, params["toolCall"]["toolCallId"]))
                return await client.choose(params)

            client.on["session/request_permission"] = choose
            await client.initialize("agent-shell")
            await client.prompt(await client.new_session())

            assert seen == ["pending"]
            assert status_of(client, client.of_kind("tool_call")[-1]["toolCallId"]) == "completed"


@pytest.mark.report("agentclientprotocol/claude-agent-acp#651")
@pytest.mark.parametrize("capabilities", [{"_meta": {"terminal_output": True}}, {}])
async def test_output_arrives_while_the_command_runs(project: Path, capabilities: Message) -> None:
    command = "echo first; while test ! -e go; do sleep 0.05; done; echo second"
    with AnthropicServer([[ToolCall("shell", {"command": command})], "Done."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize("", capabilities)
            running = await client.start_prompt(await client.new_session())
            await client.wait_for(lambda: "first\\n" in str(client.of_kind("tool_call_update")))
            assert "second\\n" not in str(client.of_kind("tool_call_update"))
            (project / "go").touch()
            await client.answer(running)

            assert "second\\n" in str(client.of_kind("tool_call_update"))


@pytest.mark.report("sudoprivacy/sudocode#489")
@pytest.mark.parametrize(
    "call", [READ, ToolCall("grep", {"pattern": "x ="}), ToolCall("read_file", {"file_path": "missing.py"})]
)
async def test_each_result_has_content_to_show(project: Path, call: ToolCall) -> None:
    with AnthropicServer([[call], "Done."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            await client.prompt(await client.new_session())

            end = client.of_kind("tool_call_update")[-1]
            assert end["status"] in ("completed", "failed")
            assert end["content"] and all(it["content"]["text"].strip() for it in end["content"])


@pytest.mark.report("agentclientprotocol/claude-agent-acp#680")
async def test_cancel_ends_a_command_that_ignores_signals(project: Path) -> None:
    background = ToolCall("shell", {"command": "echo begun; sleep 600", "background": True})
    hanging = ToolCall("shell", {"command": "trap '' INT TERM HUP; echo hangs; while :; do sleep 1; done"})
    with AnthropicServer([[background], [hanging], "Done."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize("", {"_meta": {"terminal_output": True}})
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: "hangs\\n" in str(client.of_kind("tool_call_update")))
            await client.cancel(session_id)

            assert await client.answer(running) == {"stopReason": "cancelled"}
            assert status_of(client, client.of_kind("tool_call")[-1]["toolCallId"]) == "failed"
