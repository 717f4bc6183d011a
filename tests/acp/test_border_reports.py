"""A draw of reports on ACP clients: what they leave out, refuse, cancel, hand over and load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import NO_ANSWER, Message, Refusal, acp_client, acp_ready, acp_session, unsaved
from tests.acp.test_servers import ECHO, PATIENT, handed_over
from tests.mcp.plans import raw_server
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

TOUCH = ToolCall("shell", {"command": "touch made"})
READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


@pytest.mark.report("NousResearch/hermes-agent#6985")
@pytest.mark.report("frontman-ai/frontman#537")
@pytest.mark.report("zed-industries/zed#51479")
async def test_what_is_announced_for_sessions_works(project: Path) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as server:
        async with acp_client(project, server) as client:
            abilities = (await client.initialize())["agentCapabilities"]
            session_id = await client.new_session()
            await client.prompt(session_id)
            given = {"sessionId": session_id, "cwd": str(project), "mcpServers": []}
            assert abilities["loadSession"] is True
            for name in abilities["sessionCapabilities"]:
                if name in ("resume", "load", "close"):
                    more = {} if name == "close" else {"cwd": str(project), "mcpServers": []}
                    await client.request(f"session/{name}", sessionId=session_id, **more)
            await client.request("session/load", **given)
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report("QwenLM/qwen-code#2015")
@pytest.mark.report("xenodium/agent-shell#436")
async def test_a_new_session_has_modes_models_and_options(project: Path) -> None:
    async with acp_ready(project) as client:
        made = await client.request("session/new", cwd=str(project), mcpServers=[])
        ids = {it["id"]: it for it in made["configOptions"]}
        assert made["modes"]["currentModeId"] in [it["id"] for it in made["modes"]["availableModes"]]
        assert ids["mode"]["currentValue"] == made["modes"]["currentModeId"]
        assert {ids[name]["category"] for name in ("mode", "model")} == {"mode", "model"}


@pytest.mark.report("cline/cline#11404")  # fmt: skip
async def test_a_session_is_loaded_in_a_new_process(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "First words")
        async with acp_ready(project, server, "zed") as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert "First words" in client.text("user_message_chunk") and client.text() == "One."
            assert await client.prompt(session_id) == "end_turn"


EMPTY: list[Any] = [
    reported("openonion/connectonion#981", {"clientCapabilities": None}),
    {"clientCapabilities": None, "clientInfo": None, "_meta": None},
    {"clientCapabilities": {"fs": None, "terminal": None, "auth": None, "session": None}},
    {"clientCapabilities": {"fs": {"readTextFile": None}}},
    {},
]  # fmt: skip


@pytest.mark.parametrize("given", EMPTY)
async def test_a_client_that_announces_nothing_is_asked_for_nothing(project: Path, given: Message) -> None:
    (project / "a.py").write_text("x = 1\n")
    with AnthropicServer([[READ], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.request("initialize", protocolVersion=1, **given)
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert client.requests == []


async def refuse(params: Message) -> Message:
    raise Refusal(-32601, "Method not found")


async def fail(params: Message) -> Message:
    raise Refusal(-32603, "Internal error")


async def nothing(params: Message) -> Any:
    return None


PLACES: list[Any] = [
    reported("yusheng-g/openagent-go#20", {}, None),
    reported("plmbr/notebook-intelligence#419", {"fs": {"readTextFile": False, "writeTextFile": False}}, None),
    reported("formulahendry/acp-ui#14", FILES, refuse),
    (FILES, fail),
    (FILES, nothing),
    reported("getpaseo/paseo#2012", {**FILES, "terminal": True}, refuse),
    reported("MoonshotAI/kimi-cli#2113", {"terminal": True}, refuse),
]  # fmt: skip


@pytest.mark.parametrize(("given", "handler"), PLACES)
async def test_files_of_a_client_that_does_not_serve_them_are_those_on_disk(
    project: Path, given: Message, handler: Any
) -> None:
    (project / "a.py").write_text("x = 1\n")
    with AnthropicServer([[READ], [EDIT], [TOUCH], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.permission = "allow_always"
            for method in ("fs/read_text_file", "fs/write_text_file", "terminal/create"):
                if handler:
                    client.on[method] = handler
            await client.initialize(capabilities=given)
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert "x = 1" in str(server.requests[1].body)
    assert (project / "a.py").read_text() == "x = 2\n" and (project / "made").exists()


@pytest.mark.report("google-gemini/gemini-cli#29108")  # fmt: skip
async def test_unsaved_text_is_what_the_model_reads(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    with AnthropicServer([[READ], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on["fs/read_text_file"] = unsaved({str(project / "a.py"): "x = 7\n"})
            await client.initialize(capabilities={"fs": {"readTextFile": True}})
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert "x = 7" in str(server.requests[1].body)


@pytest.mark.report("stakpak/agent#389")
async def test_a_client_that_only_reads_is_not_asked_to_write(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on["fs/read_text_file"] = unsaved({})
            await client.initialize(capabilities={"fs": {"readTextFile": True, "writeTextFile": False}})
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert not client.asked("fs/write_text_file")
    assert (project / "a.py").read_text() == "x = 2\n"


@pytest.mark.report("agentclientprotocol/kotlin-sdk#93")
@pytest.mark.report("agentclientprotocol/claude-agent-acp#694")  # fmt: skip
async def test_a_prompt_that_is_cancelled_says_so_and_the_next_one_runs(project: Path) -> None:
    slow = ToolCall("shell", {"command": "echo begun; sleep 600"})
    with AnthropicServer([[slow], "Never.", "Again."]) as server:
        async with acp_ready(project, server, permission="allow_always", is_schema_checked=False) as client:
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: "begun" in str(client.updates))
            await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report("mrmans0n/alas#1380")
async def test_a_prompt_that_is_cancelled_withdraws_its_permission(project: Path) -> None:
    async def never(params: Message) -> Any:
        return NO_ANSWER

    with AnthropicServer([[TOUCH], "Never."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = never
            await client.initialize()
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: client.requests)
            await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"
            withdrawn = [
                it for side, it in client.wire if side == "<" and it.get("method") == "$/cancel_request"
            ]
            assert [it["params"]["requestId"] for it in withdrawn] == [client.requests[0]["id"]]


@pytest.mark.report("RAIT-09/obsidian-agent-client#90")  # fmt: skip
@pytest.mark.parametrize("given", [{}, {"mcpServers": []}, {"cwd": None, "mcpServers": []}])
async def test_a_session_without_a_folder_is_refused_in_words(project: Path, given: Message) -> None:
    async with acp_ready(project, is_schema_checked=False) as client:
        error = await client.refused("session/new", **given)
        assert error.code == -32602 and "folder" in error.message
        assert await client.request("session/new", cwd=str(project))


@pytest.mark.report("agentclientprotocol/claude-agent-acp#883")  # fmt: skip
@pytest.mark.report("managoat/fountain#837")
async def test_a_server_of_the_client_is_offered_to_the_model(project: Path, tmp_path: Path) -> None:
    entry = raw_server(tmp_path / "plans", "raw")
    with AnthropicServer([[ECHO], "Done."]) as server:
        async with acp_ready(project, server, permission="allow_always", _meta=PATIENT) as client:
            session_id = await client.new_session(mcpServers=[handed_over(entry)])
            assert await client.prompt(session_id) == "end_turn"
            assert "raw__echo" in str(server.requests[0].body["tools"])


def blocks_with(resource: Message) -> list[Message]:
    return [{"type": "text", "text": "Review:"}, {"type": "resource", "resource": resource}]


EMBEDDED: list[Any] = [
    reported("MoonshotAI/kimi-cli#1063", blocks_with({"uri": "file:///w/a.ts", "text": "CANARY"})),
    reported("omercnet/vscode-acp#47", blocks_with({"uri": "file:///w/a.ts", "mimeType": "text/typescript",
        "text": "const a = 'CANARY';"})),
    blocks_with({"uri": "untitled:Untitled-1", "text": "CANARY"}),
    blocks_with({"uri": "file:///w/a.txt", "mimeType": "text/plain", "blob": "Q0FOQVJZ"}),
]  # fmt: skip


@pytest.mark.parametrize("blocks", EMBEDDED)
async def test_an_embedded_text_reaches_the_model(project: Path, blocks: list[Message]) -> None:
    with AnthropicServer(["Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            assert await client.prompt(session_id, blocks) == "end_turn"
        assert "CANARY" in str(server.requests[0].body)


@pytest.mark.report("xenodium/agent-shell#598")
async def test_options_of_one_kind_have_names_and_ids_of_their_own(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_ready(project, server, "agent-shell") as client:
            await client.prompt(await client.new_session())
            options = client.asked("session/request_permission")[0]["options"]
            for key in ("optionId", "name"):
                assert len({it[key] for it in options}) == len(options) > 3


async def test_numbers_of_requests_may_be_texts(project: Path) -> None:
    async with acp_ready(project, is_schema_checked=False) as client:
        await client.send({"jsonrpc": "2.0", "id": "a-1", "method": "session/list", "params": {}})
        await client.wait_for(lambda: client.wire[-1][0] == "<" and client.wire[-1][1].get("id") == "a-1")
        assert "result" in client.wire[-1][1]
