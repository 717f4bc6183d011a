"""Sessions of ACP clients as users of other agents report them: links, folders, cancellations and sessions loaded
again, with the agent as a process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.client import NO_ANSWER, AcpClient, acp_client, acp_ready, acp_session, unsaved
from tests.acp.test_servers import PATIENT, handed_over
from tests.mcp.plans import raw_server
from tests.support.loopback import AnthropicServer, Gate, Reasoning, Text, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

TOUCH = ToolCall("shell", {"command": "touch made"})
READ = ToolCall("read_file", {"file_path": "a.py"})
NEW = ToolCall("write_file", {"file_path": "new.py", "content": "n = 1\n"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})


def calls(client: AcpClient) -> list[dict[str, Any]]:
    """Return the latest value of each field of the calls that edit."""
    edits = [it["toolCallId"] for it in client.of_kind("tool_call") if it["kind"] == "edit"]
    news = [*client.of_kind("tool_call"), *client.of_kind("tool_call_update")]
    return [{key: it[key] for it in news if it["toolCallId"] == call for key in it} for call in edits]


@pytest.mark.report("kirodotdev/Kiro#11230")
@pytest.mark.report("vercel-labs/fx#495")
@pytest.mark.report("can1357/oh-my-pi#1133")
async def test_paths_are_those_of_the_session_and_each_edit_is_a_diff(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with AnthropicServer([[READ], [NEW, EDIT], "Done."]) as server:
        async with acp_client(elsewhere, server, home=tmp_path / "home") as client:
            await client.initialize()
            session_id = await client.new_session(cwd=str(project))
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            assert await client.prompt(session_id) == "end_turn"
            asked = [it["toolCall"] for it in client.asked("session/request_permission")[-2:]]
            for call in (*asked, *calls(client)):
                assert call["title"] and call["kind"] == "edit"
                (diff,) = [it for it in call["content"] if it["type"] == "diff"]
                assert diff["path"] == call["locations"][0]["path"] and Path(diff["path"]).parent == project
                assert (diff.get("oldText"), diff["newText"]) in ((None, "n = 1\n"), ("x = 1\n", "x = 2\n"))


@pytest.mark.report("letta-ai/letta-acp#20")
@pytest.mark.report("nexu-io/open-design#6721")
async def test_a_loaded_session_has_the_diffs_of_its_calls(project: Path) -> None:
    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
        async with acp_ready(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            diffs = [it for it in calls(client)[0]["content"] if it["type"] == "diff"]
            assert [(it["oldText"], it["newText"]) for it in diffs] == [("x = 1\n", "x = 2\n")]


LINK = {"type": "resource_link", "name": "a.py", "uri": "file:///p/a%20b.py#L2"}
PARTS: list[Any] = [
    reported("blowmage/cursor-agent-acp-npm#5", [LINK], "File: /p/a b.py, line 2"),
    reported("anomalyco/opencode#9217", [{"type": "text", "text": "Look."}, LINK], "Look."),
    reported("QwenLM/qwen-code#12538",
        [{"type": "text", "text": "Use it."},
         {"type": "resource", "resource": {"uri": "context://a/b", "text": '{"items": []}'}}], "items"),
    pytest.param([{"type": "resource_link", "name": "docs", "uri": "https://a.example/x"}], "https://a.example/x"),
    pytest.param([{"type": "resource_link", "name": "src", "uri": "file:///p/src/"}], "Folder: /p/src/"),
    pytest.param([{"type": "text", "text": "File: is a word\n\nof mine"}], "of mine"),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "said"), PARTS)
async def test_links_and_resources_reach_the_model_and_are_links_again_after_loading(
    project: Path, blocks: list[dict[str, Any]], said: str
) -> None:
    with AnthropicServer(["Seen."]) as server:
        async with acp_session(project, server, capabilities={}) as (client, session_id):
            assert await client.prompt(session_id, blocks) == "end_turn"
            assert said in json.dumps(server.requests[0].body["messages"], ensure_ascii=False)
        async with acp_ready(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            again = [it["content"] for it in client.of_kind("user_message_chunk")]
    assert [it["type"] for it in again] == [it["type"] for it in blocks]
    for before, after in zip(blocks, again, strict=True):
        assert (
            before.get("uri") == after.get("uri")
            and before.get("resource", {}).items() <= after.get("resource", {}).items()
        )


@pytest.mark.parametrize(
    "first",
    [
        reported(
            "agentclientprotocol/agent-client-protocol#171",
            [],
        ),
        pytest.param([Reasoning("Hm.")]),
    ],
)
@pytest.mark.parametrize(
    "is_request",
    [
        False,
        reported(
            "nexu-io/open-design#7959",
            True,
        ),
    ],
)
async def test_a_prompt_is_cancelled_early_and_by_a_request(
    project: Path, first: list[Any], is_request: bool
) -> None:
    gate = Gate()
    with AnthropicServer([[*first, gate, Text("Late.")], "Again."]) as server:
        async with acp_ready(project, server, is_schema_checked=False) as client:
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await anyio.to_thread.run_sync(gate.wait_reached)
            if is_request:
                await client.request("session/cancel", sessionId=session_id)
            else:
                await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report("managoat/fountain#759")
@pytest.mark.report("carlos-algms/agentic.nvim#317")
async def test_a_client_without_terminals_sets_the_model_first_and_gets_commands_run(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_session(project, server, capabilities={"terminal": False}) as (client, session_id):
            options = (
                await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            )["configOptions"]
            model = next(it for it in options if it["id"] == "model")
            value = model["currentValue"]
            result = await client.request(
                "session/set_config_option", sessionId=session_id, configId="model", value=value
            )
            assert next(it for it in result["configOptions"] if it["id"] == "model")["currentValue"] == value
            assert await client.prompt(session_id) == "end_turn"
    assert (project / "made").exists()


@pytest.mark.report("william0wang/zcode-acp#42")
@pytest.mark.report("esengine/DeepSeek-Reasonix#5553")
async def test_servers_of_the_client_come_with_empty_lists(project: Path, tmp_path: Path) -> None:
    given = [
        handed_over(raw_server(tmp_path / "plans", "raw")),
        {"type": "http", "name": "away", "url": "http://127.0.0.1:9/mcp", "headers": []},
    ]
    with AnthropicServer([[ToolCall("raw__echo", {})], "Done."]) as server:
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            assert await client.prompt(await client.new_session(mcpServers=given)) == "end_turn"
            assert client.call("echo")["status"] == "completed"


@pytest.mark.report("aaif-goose/goose#9460")
async def test_a_session_cannot_be_forked_and_nothing_says_so(project: Path) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        abilities = (await client.initialize())["agentCapabilities"]
        assert "fork" not in abilities["sessionCapabilities"]
        assert (
            await client.refused("session/fork", sessionId="x", cwd=str(project), mcpServers=[])
        ).code == -32601


@pytest.mark.report("getkimchi/kimchi#1148")
async def test_a_session_is_loaded_again_while_its_prompt_runs(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Begin, "), gate, Text("end.")]]) as server:
        async with acp_session(project, server) as (client, session_id):
            running = await client.start_prompt(session_id, "Go on.")
            await client.wait_for(lambda: client.text() == "Begin, ")
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.text("user_message_chunk") == "Go on."
            gate.open()
            assert (await client.answer(running))["stopReason"] == "end_turn"
            assert client.text().endswith("Begin, end.")


async def test_a_permission_is_asked_again_of_a_client_that_loads_the_session(project: Path) -> None:
    async def load_or_allow(params: dict[str, Any]) -> Any:
        if len(client.asked("session/request_permission")) > 2:
            return await client.choose(params)
        await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
        return NO_ANSWER

    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = load_or_allow
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            assert client.call("touch made")["status"] == "completed"
    assert (project / "made").exists()


@pytest.mark.report("zed-industries/zed#63796")
@pytest.mark.report("1jehuang/jcode#851")
@pytest.mark.report("NousResearch/hermes-agent#71966")
@pytest.mark.report("MoonshotAI/kimi-code#368")
async def test_commands_have_hints_and_unsaved_texts_stay_as_they_are(project: Path) -> None:
    text = "    max_tokens=4096,\r\nTOKEN = get('TOKEN')\r\nx = 1\r\n"
    page = project / ".claude" / "commands" / "ship.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\nargument-hint: WHERE\n---\nShip it.\n")
    (project / "a.py").write_bytes(b"x = 1\r\n")
    buffers = {str(project / "a.py"): text}

    async def write(params: dict[str, Any]) -> Any:
        buffers[params["path"]] = params["content"]
        return {}

    with AnthropicServer([[READ], [EDIT], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": unsaved(buffers), "fs/write_text_file": write}
            await client.initialize(capabilities={"fs": {"readTextFile": True, "writeTextFile": True}})
            session_id = await client.new_session()
            assert await client.prompt(session_id, "/model please") == "end_turn"
            assert "/model please" in json.dumps(server.requests[0].body["messages"])
            await client.wait_for(lambda: "ship" in json.dumps(client.of_kind("available_commands_update")))
            commands = client.of_kind("available_commands_update")[-1]["availableCommands"]
            assert next(it for it in commands if it["name"] == "ship")["input"] == {"hint": "WHERE"}
    assert buffers[str(project / "a.py")] == text.replace("x = 1", "x = 2")
