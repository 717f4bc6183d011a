"""Invalid client messages: each request gets one clear error, and the process continues."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.acp.capabilities import EXTENSIONS
from tests.acp.client import AcpClient, acp_client, acp_ready, acp_session
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall
from tests.support.processes import is_running

METHODS = (
    "authenticate", "session/new", "session/load", "session/resume", "session/list", "session/close", "session/delete",
    "session/prompt", "session/set_mode", "session/set_config_option", "_session/steering",
    *(f"_agent-ls/{name}" for name in EXTENSIONS),
)  # fmt: skip
VALUES: list[Any] = [
    None,
    1,
    -1,
    1.5,
    "",
    "nonsense",
    "\0",
    [],
    [1],
    {},
    {"x": 1},
    True,
    "s-0000000000000000",
    "x" * 5000,
]
FIELDS = (
    "sessionId", "cwd", "mcpServers", "additionalDirectories", "prompt", "modeId", "configId", "value", "methodId",
    "cursor", "hunkIds", "verdict", "steerId", "remove", "ruleId", "path",
)  # fmt: skip
STEP = 1 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 3
"""Each field gets only every third value, unless the whole sweep is requested."""
WRONG_FIELDS = [
    (field, value) for number, field in enumerate(FIELDS) for value in VALUES[number % STEP :: STEP]
]


def is_a_sentence(error: dict[str, Any]) -> bool:
    words, details = error["message"], error["data"]["details"]
    return bool(words.strip()) and "Traceback" not in words + details and "Error(" not in words + details


async def lives(client: AcpClient) -> None:
    assert "sessions" in await client.request("session/list")


@pytest.mark.sweep
@pytest.mark.parametrize("method", METHODS)
async def test_each_request_with_a_wrongly_typed_field_gets_exactly_one_response(
    project: Path, method: str
) -> None:
    async with acp_session(project, is_schema_checked=False) as (client, session_id):
        usual: dict[str, Any] = {
            "sessionId": session_id, "cwd": str(project), "mcpServers": [], "prompt": [{"type": "nonsense"}],
        }  # fmt: skip
        numbers = [await client.start(method, {}), await client.start(method, [])]  # type: ignore[arg-type]
        if method not in (
            "session/prompt",
            "session/new",
            "session/delete",
            "session/close",
            "_session/steering",
        ):
            numbers += [await client.start(method, {**usual, field: value}) for field, value in WRONG_FIELDS]
        else:
            numbers += [
                await client.start(method, {field: value}) for field, value in WRONG_FIELDS if field != "cwd"
            ]
        for number in numbers:
            with anyio.fail_after(240):
                await client._asked[number][1].wait()
            answers = client._asked[number][2]
            assert len(answers) == 1
            assert "result" in answers[0] or is_a_sentence(answers[0]["error"]), answers[0]
        await lives(client)


async def test_unknown_methods_are_refused_and_unknown_notifications_ignored(project: Path) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        await client.initialize()
        for method in ("session/fork", "_unknown/thing", "nonsense", "document/didOpen"):
            assert (await client.refused(method)).code == -32601
        await client.notify("document/didOpen", uri="file:///x")
        await client.notify("session/cancel", sessionId="unknown")
        await client.notify("session/cancel")
        await client.notify("$/cancel_request", requestId={})
        await client.send({"jsonrpc": "2.0", "id": 999, "result": {}})
        await client.send({"jsonrpc": "2.0", "id": "never", "error": {"code": 1, "message": "no"}})
        await lives(client)


async def test_the_error_for_an_unknown_session_contains_the_session_id(project: Path) -> None:
    async with acp_ready(project) as client:
        prompt = [{"type": "text", "text": "hi"}]
        for method in (
            "session/load",
            "session/prompt",
            "session/close",
            "session/delete",
            "session/set_mode",
        ):
            more: dict[str, Any] = {"cwd": str(project), "mcpServers": []} if method == "session/load" else {}
            more |= {"prompt": prompt} if method == "session/prompt" else {}
            more |= {"modeId": "ask"} if method == "session/set_mode" else {}
            refused = await client.refused(method, sessionId="s-0123456789abcdef", **more)
            assert refused.code == -32002 and "s-0123456789abcdef" in refused.message


@pytest.mark.parametrize("version", [0, 2, 99])
async def test_initialize_with_an_unsupported_protocol_version_returns_the_supported_version(
    project: Path, version: int
) -> None:
    async with acp_client(project) as client:
        result = await client.request("initialize", protocolVersion=version)
        assert result["protocolVersion"] == 1


@pytest.mark.parametrize("params", [{}, {"protocolVersion": None}, [], None], ids=str)
async def test_a_malformed_initialize_is_refused_and_the_process_continues(
    project: Path, params: Any
) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        number = await client.start("initialize", params)
        with anyio.fail_after(240):
            await client._asked[number][1].wait()
        assert "error" in client._asked[number][2][0]
        await lives(client)


async def test_a_request_id_already_in_use_is_refused(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Working", gate)]]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.initialize()
            number = await client.start_prompt(await client.new_session())
            await anyio.to_thread.run_sync(gate.wait_reached)
            await client.send_line(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": "session/list"}).encode()
            )
            await client.wait_for(lambda: client._asked[number][2])
            assert client._asked[number][2][0]["error"]["code"] == -32600
            gate.open()
            await client.wait_for(lambda: len(client._asked[number][2]) == 2)
            # the order check would count the refusal as the answer to the prompt
            client.order.problems.clear()


@pytest.mark.req("R2")
@pytest.mark.parametrize("how", ["closes", "SIGTERM"])
async def test_the_process_and_its_children_end_when_the_client_disconnects(project: Path, how: str) -> None:
    command = "echo $$ > pid; exec sleep 600"
    with AnthropicServer([[ToolCall("shell", {"command": command, "timeout_ms": 600_000})]]) as server:
        async with acp_ready(project, server) as client:
            await client.start_prompt(await client.new_session())
            with anyio.fail_after(240):
                while not (project / "pid").exists() or not (project / "pid").read_text().strip():
                    await anyio.lowlevel.checkpoint()
            if how == "SIGTERM":
                client.process.terminate()
            assert await client.end() == 0
    pid = int((project / "pid").read_text())
    assert not is_running(pid)
