"""Sessions of ACP clients in public reports: their ids, folders, lists, servers, and the calls in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import NO_ANSWER, acp_client, acp_ready, acp_session
from tests.acp.test_servers import PATIENT
from tests.mcp.http_servers import counting_server, served
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

TOUCH = ToolCall("shell", {"command": "touch made"})


@pytest.mark.report("XiaomiMiMo/MiMo-Code#499")
async def test_a_session_is_used_by_its_id_also_after_loading(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.parametrize(
    "more",
    [
        reported("getpaseo/paseo#1593", {}),
        {"mcpServers": None},
        {"mcpServers": []},
    ],
)
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_is_loaded_without_servers(project: Path, method: str, more: dict[str, Any]) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_ready(project, server, is_schema_checked=False) as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            await client.request(method, sessionId=session_id, cwd=str(project), **more)
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report("agentclientprotocol/claude-agent-acp#512")
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_that_is_loaded_in_another_folder_says_where_it_works(
    project: Path, tmp_path: Path, method: str
) -> None:
    (tmp_path / "worktree").mkdir()
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
        async with acp_ready(project, server) as client:
            said = f"works in {project}, not in {tmp_path / 'worktree'}."
            await client.request(method, sessionId=session_id, cwd=str(project), mcpServers=[])
            await client.request(method, sessionId=session_id, cwd=str(tmp_path / "worktree"), mcpServers=[])
            await client.prompt(session_id)
            assert client.text("agent_thought_chunk").count(said) == 1


@pytest.mark.report("Hmbown/Codewhale#5864")
async def test_sessions_are_listed_and_resumed(project: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "First words")
        async with acp_client(project, server) as client:
            abilities = (await client.initialize())["agentCapabilities"]
            assert abilities["loadSession"] and "list" in abilities["sessionCapabilities"]
            (listed,) = (await client.request("session/list"))["sessions"]
            assert (listed["sessionId"], listed["cwd"]) == (session_id, str(project)) and listed["title"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        reported(
            "frontman-ai/frontman#928",
            {"sessionId": "mine"},
            0,
        ),
        ({"cwd": "relative/folder"}, -32602),
        ({"cwd": "/no/such/folder"}, -32602),
        ({"cwd": ""}, -32602),
    ],
)
async def test_a_session_gets_its_own_id_in_an_absolute_folder(
    project: Path, more: dict[str, Any], code: int
) -> None:
    async with acp_ready(project, is_schema_checked=False) as client:
        if code:
            assert (
                await client.refused("session/new", **{"cwd": str(project), "mcpServers": [], **more})
            ).code == code
        else:
            assert await client.new_session(**more) not in more.values()


@pytest.mark.report("stacklok/mecatl#9")
async def test_servers_by_http_come_back_when_a_session_is_loaded(project: Path) -> None:
    with (
        served(counting_server()) as url,
        AnthropicServer(["One.", [ToolCall("away__count", {"words": "a b"})], "Two."]) as server,
    ):
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            given = [{"type": "http", "name": "away", "url": url, "headers": []}]
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=given)
            assert await client.prompt(session_id) == "end_turn"
            assert client.call("count")["status"] == "completed"


@pytest.mark.report("agentclientprotocol/claude-agent-acp#122")
@pytest.mark.report("agentclientprotocol/claude-agent-acp#159")
@pytest.mark.report("jupyter-ai-contrib/jupyter-ai-acp-client#61")
async def test_a_call_begins_once_before_its_permission_which_has_its_title(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            assert await client.prompt(session_id) == "end_turn"
            (begun,) = client.of_kind("tool_call")
            (asked,) = client.asked("session/request_permission")
            assert (
                asked["toolCall"]["toolCallId"] == begun["toolCallId"]
                and "touch made" in asked["toolCall"]["title"]
            )
            wire = [json.dumps(it) for side, it in client.wire if side == "<"]
            place = [number for number, it in enumerate(wire) if begun["toolCallId"] in it]
            assert '"tool_call"' in wire[place[0]]


@pytest.mark.report("agentclientprotocol/claude-agent-acp#830")
@pytest.mark.report("assistant-ui/assistant-ui#6027")
@pytest.mark.report("sudoprivacy/sudowork#386")
async def test_a_pending_permission_stops_no_other_session_and_is_over_when_the_turn_is_cancelled(
    project: Path,
) -> None:
    async def ignore(params: dict[str, Any]) -> Any:
        return NO_ANSWER

    with AnthropicServer([[TOUCH], "Other.", "Again."]) as server:
        async with acp_session(project, server) as (client, session_id):
            client.on["session/request_permission"] = ignore
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: client.asked("session/request_permission"))
            other = await client.new_session()
            assert (await client.request("session/list"))["sessions"]
            assert await client.prompt(other) == "end_turn"
            await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"
            assert await client.prompt(session_id) == "end_turn"
    assert not (project / "made").exists()


@pytest.mark.report("QwenLM/qwen-code#4925")
async def test_a_client_is_asked_only_what_it_has_announced(project: Path) -> None:
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_session(project, server, capabilities={}) as (client, session_id):
            assert await client.prompt(session_id) == "end_turn"
            assert {it["method"] for it in client.requests} == {"session/request_permission"}


@pytest.mark.report("Yeachan-Heo/gajae-code#4019")
@pytest.mark.parametrize("broken", ['{"event":{"kind":"assistant_text_end"}}', "garbage", "{}"])
async def test_a_session_with_a_broken_record_is_loaded_with_the_rest(project: Path, broken: str) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "First words")
            await client.prompt(session_id, "Second words")
        (log,) = project.parent.rglob("log.jsonl")
        lines = log.read_text().splitlines()
        log.write_text("\n".join([*lines[: len(lines) // 2], broken, *lines[len(lines) // 2 :], ""]))
        async with acp_ready(project, server) as client:
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            assert client.text("user_message_chunk") == "First wordsSecond words"
            assert client.text() == "One.Two." and await client.prompt(session_id) == "end_turn"
