"""The agent process: start-up, settings, keys, clients that do not answer, long output, and sessions shared with
editors.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import (
    NO_ANSWER,
    Refusal,
    acp_client,
    acp_ready,
    process_environment,
    unsaved,
    write_to_disk,
)
from tests.support.commands import command, environment, run
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall
from tests.support.served import served

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}
HEAVY = (
    "pydantic",
    "anyio",
    "asyncio",
    "httpx",
    "pygls",
    "lsprotocol",
    "agent_ls.features",
    "agent_ls.services",
    "agent_ls.sessions",
    "agent_ls.loop",
    "agent_ls.server",
)


def test_the_start_module_imports_no_heavy_modules() -> None:
    code = "import sys, agent_ls.acp.start; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert not [name for name in loaded if name.startswith(HEAVY)]


async def test_settings_of_the_client_apply_in_a_trusted_folder(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_ready(project, server, _meta={"agent-ls": {"mode": "plan", "nonsense": 1}}) as client:
            result = await client.request("session/new", cwd=str(project), mcpServers=[])
            assert result["modes"]["currentModeId"] == "plan"
            await client.prompt(result["sessionId"])
            assert "nonsense" in client.text("agent_thought_chunk")


async def test_client_settings_that_permit_more_are_not_applied_in_an_untrusted_folder(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            await client.initialize(_meta={"agent-ls": {"mode": "full"}})
            result = await client.request("session/new", cwd=str(project), mcpServers=[])
            assert result["modes"]["currentModeId"] == "ask"


def test_login_stores_a_key_for_later_processes(project: Path) -> None:
    home = project.parent / "home"
    environ = environment(home)
    done = subprocess.run(
        command("acp", "--login"), cwd=project, env=environ, input="anthropic\nsk-test-key-1234\n",
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "sk-test-key" not in done.stdout + done.stderr
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    next_ = subprocess.run(
        command("acp"), cwd=project, env=environ, input=json.dumps(hello) + "\n", capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert next_.returncode == 0 and json.loads(next_.stdout)["result"]["authMethods"] == []


def test_login_without_a_provider_changes_nothing_and_fails(project: Path) -> None:
    environ = environment(project.parent / "home")
    for words in ("", "nobody\nsk-1\n"):
        done = subprocess.run(
            command("acp", "--login"), cwd=project, env=environ, input=words, capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode != 0 and done.stderr.startswith("agent-ls") and "Traceback" not in done.stderr


async def test_a_client_with_terminals_is_offered_the_login(project: Path) -> None:
    async with acp_client(project) as client:
        result = await client.initialize("zed", {"auth": {"terminal": True}})
        assert result["authMethods"][0]["type"] == "terminal" and result["authMethods"][0]["args"] == [
            "--login"
        ]


async def test_a_client_that_does_not_respond_to_file_requests_does_not_block_the_turn(project: Path) -> None:
    async def never(params: dict[str, Any]) -> Any:
        return NO_ANSWER

    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": never, "fs/write_text_file": never}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert len(client.asked("fs/read_text_file")) <= 4
    assert (project / "a.py").read_text() == "x = 2\n"


async def test_the_model_reads_unsaved_text_and_typed_text_is_kept(project: Path) -> None:
    path = str(project / "a.py")
    buffers = {path: "x = 1\ntyped\n"}

    async def write(params: dict[str, Any]) -> Any:
        buffers.pop(params["path"], None)
        return await write_to_disk(params)

    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": unsaved(buffers), "fs/write_text_file": write}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
        assert "typed" in str(server.requests[1].body["messages"][-1])
    assert (project / "a.py").read_text() == "x = 2\ntyped\n"


async def test_an_edit_that_the_client_refuses_is_reported_as_failed(project: Path) -> None:
    async def refuse(params: dict[str, Any]) -> Any:
        raise Refusal(-32603, "read-only")

    with AnthropicServer([[READ], [EDIT], "It did not work."]) as server:
        async with acp_client(project, server) as client:
            buffers = {str(project / "a.py"): "x = 1\ntyped\n"}
            client.on |= {"fs/read_text_file": unsaved(buffers), "fs/write_text_file": refuse}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.call("Editing a.py")["status"] == "failed"
        assert "did not apply" in str(server.requests[2].body["messages"][-1])
    assert (project / "a.py").read_text() == "x = 1\n"


async def test_no_file_read_requests_are_sent_to_codecompanion(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_ready(project, server, "CodeCompanion.nvim", capabilities=FILES) as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert not client.asked("fs/read_text_file")
    assert (project / "a.py").read_text() == "x = 2\n"


async def test_long_output_and_long_lines_are_truncated_to_the_clients_limits(project: Path) -> None:
    command_ = "head -c 3000000 /dev/zero | tr '\\0' 'a' | fold -w 100"
    with AnthropicServer([[ToolCall("shell", {"command": command_})], "Done."]) as server:
        async with acp_ready(project, server) as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            longest = max(len(json.dumps(message)) for way, message in client.wire if way == "<")
            assert longest < 256 * 1024


async def test_a_key_never_reaches_the_client(project: Path) -> None:
    key = "sk-very-secret-0123456789"
    with AnthropicServer([[Text(f"The key is {key}.")]]) as server:
        async with acp_client(project, server, ANTHROPIC_API_KEY=key) as client:
            await client.initialize()
            await client.prompt(await client.new_session())
            assert key not in json.dumps([message for way, message in client.wire if way == "<"])


async def test_a_subagent_appears_as_one_tool_call_that_contains_its_text(project: Path) -> None:
    def script(body: Any) -> Any:
        messages = str(body["messages"])
        if "Count the files" in messages and "spawn_agent" not in messages:
            return "There is one file."
        if "There is one file" in messages:
            return "One."
        if "tool_result" in messages:
            return [ToolCall("wait", {"agent_id": "agent_1"})]
        return [ToolCall("spawn_agent", {"task": "Count the files"})]

    with AnthropicServer(script) as server:
        async with acp_ready(project, server) as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            call = client.call("Subagent: Count the files")
            assert call["kind"] == "think" and call["status"] == "completed"
            assert "one file." in call["content"][0]["content"]["text"]
            assert client.text() == "One."


@pytest.mark.req("H13")
async def test_a_session_created_in_an_editor_can_be_listed_and_loaded_over_acp(tmp_path: Path) -> None:
    async with served(tmp_path) as editor:
        session_id = await editor.task_done()
        project = editor.project
    async with acp_client(
        project, home=tmp_path / "home", AGENT_LS_STATE_DIR=str(tmp_path / "state")
    ) as client:
        await client.initialize()
        listed = (await client.request("session/list", cwd=str(project)))["sessions"]
        assert [it["sessionId"] for it in listed] == [session_id]
        await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
        assert "fix the discount" in client.text("user_message_chunk")
        assert client.of_kind("tool_call")


async def test_loading_an_already_open_session_replays_its_transcript(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_ready(project, server) as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            client.updates.clear()
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.text() == "One."
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "One.Two."


def test_the_process_exits_with_code_0_if_stdin_is_closed_immediately(project: Path) -> None:
    done = run("acp", cwd=project, environ=environment(project.parent / "home"))
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_client_that_stops_reading_does_not_delay_the_exit_of_the_process(project: Path) -> None:
    gate = Gate()
    flood = [Text(*(f"piece {number} {'x' * 200}\n" for number in range(3000)), gate)]
    with AnthropicServer([flood]) as server:
        environ = process_environment(project.parent / "home", server)
        process = subprocess.Popen(
            command("acp"), cwd=project, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin and process.stdout

        def send(number: int, method: str, **params: Any) -> None:
            assert process.stdin
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        send(1, "initialize", protocolVersion=1)
        process.stdout.readline()
        send(2, "session/new", cwd=str(project), mcpServers=[])
        session_id = json.loads(process.stdout.readline())["result"]["sessionId"]
        send(3, "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "go"}])
        gate.wait_reached()
        process.stdin.close()
        assert process.wait(30) == 0
        process.stdout.close()


async def test_a_prompt_to_a_session_that_was_taken_over_is_refused_with_the_new_owners_name(
    project: Path,
) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_client(project, server) as first, acp_client(project, server) as second:
            await first.initialize("first client")
            await second.initialize("second client")
            session_id = await first.new_session()
            await first.prompt(session_id)
            await second.request("_agent-ls/takeOver", sessionId=session_id)
            refused = await first.refused(
                "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "hi"}]
            )
            assert "second client" in refused.message and "take it over" in refused.details
            await second.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert await second.prompt(session_id) == "end_turn"


@pytest.mark.parametrize("method", ["read_file", "grep", "shell"])
async def test_the_client_is_asked_only_for_files_of_the_project_that_exist(
    project: Path, method: str
) -> None:
    call = {
        "read_file": READ,
        "grep": ToolCall("grep", {"pattern": "x"}),
        "shell": ToolCall("shell", {"command": "ls"}),
    }[method]
    state = project.parent / "home" / "state"
    state.mkdir(parents=True)
    (state / "memory.md").write_text("Private.\n")
    (project / "AGENTS.md").write_text("Be brief.\n")
    with AnthropicServer([[call], [call], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": unsaved({}), "fs/write_text_file": write_to_disk}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
            asked = {Path(it["path"]) for it in client.asked("fs/read_text_file")}
    assert [it for it in asked if not (it.is_relative_to(project) and it.is_file())] == []
    assert project / "AGENTS.md" in asked
