"""MCP servers that a client defines with a session: approved by its user, connected, called, and ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import AcpClient, acp_client, acp_ready
from tests.mcp.http_servers import counting_server, served
from tests.mcp.plans import raw_server, sent, tool
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.processes import processes_with

pytestmark = pytest.mark.req("T11", "H13")

PATIENT = {"agent-ls": {"mcp": {"firstWaitMs": 60_000, "startTimeoutMs": 60_000}}}
"""Long time limits: a busy machine may start a server slowly, and the first message must already have its tools."""

ECHO = ToolCall("raw__echo", {"text": "hello"})


def handed_over(entry: dict[str, Any], name: str = "raw", **env: str) -> dict[str, Any]:
    return {"name": name, **entry, "env": [{"name": key, "value": value} for key, value in env.items()]}


def asked_for(client: AcpClient, title: str) -> list[dict[str, Any]]:
    found = client.asked("session/request_permission")
    return [it for it in found if title in it["toolCall"]["title"]]


@pytest.mark.report("shindgew/agy-acp#136", "agentclientprotocol/claude-agent-acp#657")
async def test_an_mcp_server_of_the_client_is_approved_once_connected_and_called(
    project: Path, tmp_path: Path
) -> None:
    log, starts = tmp_path / "log", tmp_path / "starts"
    plan = {"log": str(log), "starts": str(starts), "prompts": [{"name": "p"}]}
    entry = raw_server(tmp_path / "plans", "raw", **plan)
    with AnthropicServer([[ECHO], "Done.", "Again."]) as server:
        async with acp_client(project, server) as client:
            client.permission = "allow_always"
            result = await client.initialize(_meta=PATIENT)
            assert result["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": False}
            given = [handed_over(entry, API_TOKEN="a-secret-of-the-editor", MODE="dev")]
            session_id = await client.new_session(mcpServers=given)
            assert not starts.exists()
            await client.prompt(session_id)

            [start] = asked_for(client, "Start the MCP server raw?")
            displayed = json.dumps(start["toolCall"]["content"])
            assert "raw_server.py" in displayed and "MODE=dev" in displayed and "API_TOKEN" in displayed
            assert "a-secret-of-the-editor" not in json.dumps(client.requests + client.updates)
            assert [it["kind"] for it in start["options"]] == ["allow_always", "reject_once"]
            [call] = [it for it in sent(log) if it["method"] == "tools/call"]
            assert call["params"]["arguments"] == {"text": "hello"}
            await client.wait_for(lambda: "raw:p" in json.dumps(client.of_kind("available_commands_update")))
        assert not processes_with(str(tmp_path / "plans"))

        # The same server in a later session is already approved, although its secret has changed.
        async with acp_ready(project, server, _meta=PATIENT, permission="reject_once") as client:
            again = [handed_over(entry, API_TOKEN="another-secret", MODE="dev")]
            await client.prompt(await client.new_session(mcpServers=again))
            assert not asked_for(client, "Start the MCP server")
    assert [it["name"] for it in server.requests[-1].body["tools"] if "__" in it["name"]] == ["raw__echo"]


async def test_an_mcp_server_with_a_changed_command_needs_approval_again(
    project: Path, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    entry = raw_server(tmp_path / "plans", "raw")
    with AnthropicServer(["One.", "Two."]) as server:
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            await client.prompt(await client.new_session(mcpServers=[handed_over(entry)]))
            client.permission = "reject_once"
            other = raw_server(tmp_path / "plans", "other", starts=str(starts))
            await client.prompt(await client.new_session(mcpServers=[handed_over(other)]))
            assert len(asked_for(client, "Start the MCP server raw?")) == 2
    assert not starts.exists()
    assert not [it["name"] for it in server.requests[-1].body["tools"] if "__" in it["name"]]


async def test_no_mcp_server_is_started_in_an_untrusted_folder(project: Path, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    entry = raw_server(tmp_path / "plans", "raw", starts=str(starts))
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server, AGENT_LS_TRUSTED_FOLDERS="") as client:
            client.permission = "reject_once"
            await client.initialize(_meta=PATIENT)
            await client.prompt(await client.new_session(mcpServers=[handed_over(entry)]))
            assert not asked_for(client, "Start the MCP server")
    assert not starts.exists()


async def test_variables_in_a_clients_server_entry_are_not_expanded(project: Path, tmp_path: Path) -> None:
    plan = {"tools": [tool("env")], "calls": {"env": {"do": "env"}}}
    entry = raw_server(tmp_path / "plans", "raw", **plan)
    with AnthropicServer([[ToolCall("raw__env", {})], "Done."]) as server:
        async with acp_client(project, server, OF_THE_USER="private") as client:
            client.permission = "allow_always"
            await client.initialize(_meta=PATIENT)
            given = [handed_over(entry, SEEN="${OF_THE_USER}")]
            await client.prompt(await client.new_session(mcpServers=given))
        result = json.dumps(server.requests[-1].body["messages"][-1])
    assert "${OF_THE_USER}" in result and "private" not in result


async def test_a_loaded_session_has_the_mcp_servers_of_the_load_request(
    project: Path, tmp_path: Path
) -> None:
    entry = raw_server(tmp_path / "plans", "raw")
    with AnthropicServer(["One.", [ECHO], "Two."]) as server:
        async with acp_ready(project, server, _meta=PATIENT) as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            given = [handed_over(entry)]
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=given)
            await client.prompt(session_id)
            assert client.text().endswith("Two.")
        result = json.dumps(server.requests[-1].body["messages"][-1])
    assert "echo" in result and "hello" in result


@pytest.mark.report("openclaw/acpx#58")
async def test_an_http_mcp_server_gets_its_headers_and_their_values_are_not_sent_to_the_client(
    project: Path,
) -> None:
    count = ToolCall("counting__count", {"words": "a b c"})
    secret = "Bearer secret-of-the-editor"
    mcp_server = served(counting_server(), authorization=secret)
    with AnthropicServer([[count], "Done."]) as server, mcp_server as url:
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            headers = [{"name": "Authorization", "value": secret}]
            given = [{"type": "http", "name": "counting", "url": url, "headers": headers}]
            await client.prompt(await client.new_session(mcpServers=given))
            [start] = asked_for(client, "Start the MCP server counting?")
            displayed = json.dumps(start["toolCall"]["content"])
            assert url in displayed and "Authorization" in displayed
            assert "secret-of-the-editor" not in json.dumps(client.requests + client.updates)
        result = json.dumps(server.requests[-1].body["messages"][-1])
    assert "3 words" in result


async def test_an_unusable_mcp_server_is_reported_and_the_remaining_servers_work(
    project: Path, tmp_path: Path
) -> None:
    entry = raw_server(tmp_path / "plans", "raw")
    sse = {"type": "sse", "name": "old", "url": "https://old.example/sse", "headers": []}
    with AnthropicServer(["Hello."]) as server:
        async with acp_ready(project, server, _meta=PATIENT, permission="allow_always") as client:
            given = [handed_over(entry), sse, handed_over(entry)]
            await client.prompt(await client.new_session(mcpServers=given))
            thoughts = client.text("agent_thought_chunk")
    assert "HTTP with SSE" in thoughts and "servers named raw" in thoughts
    assert [it["name"] for it in server.requests[-1].body["tools"] if "__" in it["name"]] == ["raw__echo"]
