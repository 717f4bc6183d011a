"""Public reports of users of ACP clients and agents, each in its smallest form, with the agent as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import NO_ANSWER, AcpError, acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
PLAN = ToolCall("plan", {"items": [{"text": "Fix bug", "status": "active"}]})
TOUCH = ToolCall("shell", {"command": "touch made"})
SLEEP = ToolCall("shell", {"command": "sleep 600"})

SERVERS = [
    reported("olimorris/codecompanion.nvim#2860", {}, id="missing"),
    pytest.param({"mcpServers": None}, id="null"),
    pytest.param({"mcpServers": {}}, id="object of Lua"),
    pytest.param({"mcpServers": []}, id="empty"),
]


@pytest.mark.parametrize("params", SERVERS)
async def test_a_session_begins_whatever_says_that_there_are_no_servers(
    project: Path, params: dict[str, Any]
) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        await client.initialize()
        opened = await client.request("session/new", cwd=str(project), **params)
        assert opened["sessionId"]
        assert not client.of_kind("agent_thought_chunk")


@pytest.mark.report("zed-industries/zed#63868")
async def test_a_session_without_a_message_is_loaded_again(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_session(project, server) as (client, session_id):
            assert await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "Hello."
        async with acp_session(project, server) as (_, session_id):
            pass
        async with acp_ready(project, server) as client:
            assert await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])


@pytest.mark.report("olimorris/codecompanion.nvim#3367")
async def test_two_sessions_requested_at_once_are_two_and_both_answer(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_ready(project, server) as client:
            params = {"cwd": str(project), "mcpServers": []}
            numbers = [await client.start("session/new", params) for _ in range(2)]
            ids = [(await client.answer(number))["sessionId"] for number in numbers]
            assert len(set(ids)) == 2
            prompts = [await client.start_prompt(it) for it in ids]
            assert [(await client.answer(it))["stopReason"] for it in prompts] == ["end_turn"] * 2
            assert client.text() in ("One.Two.", "Two.One.")


UNKNOWN = [
    reported("openclaw/acpx#152", "session/load", {"mcpServers": []}),
    reported("NousResearch/hermes-agent#74678", "session/resume", {"mcpServers": []}),
    pytest.param("session/prompt", {"prompt": [{"type": "text", "text": "go"}]}),
]


@pytest.mark.parametrize(("method", "params"), UNKNOWN)
async def test_a_session_that_is_gone_is_an_error_of_its_own_code(
    project: Path, method: str, params: dict[str, Any]
) -> None:
    async with acp_ready(project) as client:
        cwd = {"cwd": str(project)} if "mcpServers" in params else {}
        refused = await client.refused(method, sessionId="ses_gone", **cwd, **params)
        assert refused.code == -32002


MALFORMED: list[tuple[str, Any]] = [
    ("session/new", {"cwd": 42, "mcpServers": []}),
    ("session/new", "not-an-object"),
    ("session/new", {"cwd": "relative", "mcpServers": []}),
    ("session/new", {"cwd": ["/a"]}),
    ("session/load", {"sessionId": 42, "cwd": "/", "mcpServers": []}),
    ("session/prompt", {"sessionId": None, "prompt": []}),
    ("session/set_mode", {"sessionId": {}, "modeId": "plan"}),
    ("authenticate", {"methodId": 42}),
    ("session/list", []),
    ("session/list", {"cursor": "Infinity"}),
    ("session/list", {"cursor": "abc"}),
    ("session/list", {"cwd": "relative/path"}),
    ("session/list", {"cwd": 1}),
]


@pytest.mark.report("echoVic/orca-agent#80")
@pytest.mark.report("aaif-goose/goose#9199")
@pytest.mark.report("QwenLM/qwen-code#5614")
async def test_wrong_arguments_are_refused_as_wrong_arguments(project: Path) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        await client.initialize()
        for method, params in MALFORMED:
            with pytest.raises(AcpError) as refused:
                await client.answer(await client.start(method, params))
            assert refused.value.code == -32602, (method, params)


@pytest.mark.report("NousResearch/hermes-agent#13450")
@pytest.mark.report("agentclientprotocol/codex-acp#329")
async def test_the_list_of_a_folder_has_its_sessions_only(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with acp_ready(project) as client:
        mine = await client.new_session()
        for _ in range(60):
            await client.new_session(cwd=str(other))
        for name in (str(project), f"{project}/", f"{project}/../project"):
            listed = await client.request("session/list", cwd=name)
            assert [it["sessionId"] for it in listed["sessions"]] == [mine], name
            assert not listed.get("nextCursor")
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await client.request("session/list", cwd=str(other), **cursor)
            seen += [it["sessionId"] for it in page["sessions"]]
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        assert len(seen) == len(set(seen)) == 60


@pytest.mark.report("xenodium/agent-shell#123")
@pytest.mark.report("xenodium/agent-shell#109")
@pytest.mark.report("xenodium/agent-shell#415")
async def test_a_permission_shows_the_change_of_each_file_and_names_it(project: Path) -> None:
    calls = [
        ToolCall("write_file", {"file_path": "new.py", "content": "n = 1\n"}),
        ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
        ToolCall("read_file", {"file_path": "/etc/hostname"}),
    ]
    with AnthropicServer([[READ], calls, "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            assert await client.prompt(session_id) == "end_turn"
            asked = [it["toolCall"] for it in client.asked("session/request_permission")]
            names = " ".join(it["title"] for it in asked)
            assert all(name in names for name in ("new.py", "a.py", "/etc/hostname"))
            diffs = [part for it in asked for part in it["content"] if part["type"] == "diff"]
            assert {Path(it["path"]).name for it in diffs} == {"new.py", "a.py"}
            assert {it.get("oldText") for it in diffs if it["path"].endswith("new.py")} == {None}


@pytest.mark.report("github/copilot-cli#4561")
@pytest.mark.report("anomalyco/opencode#25899")
@pytest.mark.report("anomalyco/opencode#28453")
@pytest.mark.report("agentclientprotocol/claude-agent-acp#551")
async def test_a_prompt_cancelled_in_a_command_is_answered_once_as_cancelled(project: Path) -> None:
    with AnthropicServer([[SLEEP], "Again."]) as server:
        async with acp_session(project, server) as (client, session_id):
            running = await client.start_prompt(session_id)
            await client.wait_for(
                lambda: any(it.get("status") == "in_progress" for it in client.of_kind("tool_call_update"))
            )
            await client.cancel(session_id)
            result = await client.answer(running)
            assert result["stopReason"] == "cancelled"
            assert not result.get("usage") or any(result["usage"].values())
            (call,) = client.of_kind("tool_call")
            assert client.call(call["title"])["status"] == "failed"
            before = len(client.wire)
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "Again."
            await client.cancel(session_id)
            await client.request("session/list")
            reasons = [
                it
                for way, it in client.wire[before:]
                if way == "<" and "stopReason" in (it.get("result") or {})
            ]
            assert len(reasons) == 1


@pytest.mark.report("esengine/DeepSeek-Reasonix#3509")
async def test_a_client_without_abilities_gets_the_answer(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.request(
                "initialize", protocolVersion=1, clientInfo={"name": "test", "version": "1.0.0"}
            )
            opened = await client.request("session/new", cwd=str(project))
            result = await client.request(
                "session/prompt",
                sessionId=opened["sessionId"],
                prompt=[{"type": "text", "text": "Say hello"}],
            )
            assert result["stopReason"] == "end_turn"
            assert client.text() == "Hello."


@pytest.mark.report("can1357/oh-my-pi#1120")
@pytest.mark.report("github/copilot-cli#4233")
@pytest.mark.report("agentclientprotocol/claude-agent-acp#76")
@pytest.mark.report("langchain-ai/deepagents#5938")
@pytest.mark.report("zed-industries/zed#64538")
async def test_plan_usage_output_and_failure_are_told_and_told_again_after_loading(project: Path) -> None:
    todo = PLAN
    calls = [
        ToolCall("shell", {"command": "echo output-of-it"}),
        ToolCall("read_file", {"file_path": "none.py"}),
    ]
    with AnthropicServer([[todo], calls, "Done."]) as server:
        async with acp_ready(project, server, capabilities={"_meta": {"terminal_output": True}}) as client:
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            assert client.of_kind("plan"), [it["title"] for it in client.of_kind("tool_call")]
            assert client.of_kind("usage_update")
            assert client.call("none.py")["status"] == "failed"
        async with acp_ready(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.of_kind("plan")
            assert "output-of-it" in json.dumps(client.call("echo"))
            assert '"terminal"' not in json.dumps(client.updates)
            assert client.call("none.py")["status"] == "failed"


@pytest.mark.report("evalstate/fast-agent#827")
@pytest.mark.report("zed-industries/zed#55913")
async def test_what_is_announced_exists(project: Path) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        abilities = (await client.initialize())["agentCapabilities"]
        assert abilities["mcpCapabilities"]["http"] is True
        assert abilities["loadSession"] is True
        methods = {name for name in abilities["sessionCapabilities"] if name != "additionalDirectories"} | {
            "load"
        }
        for name in sorted(methods - {"list"}):
            refused = await client.refused(
                f"session/{name}", sessionId="none", cwd=str(project), mcpServers=[]
            )
            assert refused.code != -32601, name


FORMS = [
    reported("modelcontextprotocol/python-sdk#1720", str, id="text"),
    reported("kubestellar/console#6622", float, id="float"),
    pytest.param(lambda number: f" {number} ", id="blanks"),
]


@pytest.mark.parametrize("form", FORMS)
async def test_an_answer_whose_id_changed_its_type_is_an_answer(project: Path, form: Any) -> None:
    async def answer(params: dict[str, Any]) -> Any:
        number = client.requests[-1]["id"]
        option = next(it["optionId"] for it in params["options"] if it["kind"] == "allow_once")
        line = {
            "jsonrpc": "2.0",
            "id": form(number),
            "result": {"outcome": {"outcome": "selected", "optionId": option}},
        }
        await client.send_line(json.dumps(line).encode())
        return NO_ANSWER

    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.on["session/request_permission"] = answer
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
    assert (project / "made").exists()
