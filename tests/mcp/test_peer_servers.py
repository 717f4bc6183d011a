"""One server with what users report of many: a banner, pages, names, schemas and results of unusual forms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.mcp.prompt_commands import prompt_text
from agent_ls.loop.events.types import Warning
from agent_ls.mcp.schemas import provider_schema
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import running, servers_of
from tests.support.fake_provider import text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

CALLS: list[Any] = [
    reported("github/copilot-cli#2581", "catalog.get-facets", "catalog_get_facets", {"text": "facets"}, "facets"),
    reported("labring/FastGPT#6791", "group/run", "group_run", {"text": "ran"}, "ran"),
    reported("ggml-org/llama.cpp#26410", "accounts", "accounts",
        {"result": {"content": [], "structuredContent": {"total": 36}}}, "36"),
    reported("nicobailon/pi-mcp-adapter#588", "ping", "ping",
        {"result": {"content": [{"type": "text", "text": "ok status=ok"}], "structuredContent": {"message": "pong"}}},
        "pong"),
    reported("open-webui/open-webui#29879", "last", "last", {"text": "of the last page"}, "of the last page"),
]  # fmt: skip


@pytest.mark.report("sansan0/TrendRadar#1204")
@pytest.mark.report("1mcp-app/agent#411")
async def test_tools_of_a_server_of_odd_habits_are_called(tmp_path: Path) -> None:
    cases = [param.values for param in CALLS]
    tools = [tool(name) for name, *_ in cases]
    plan: dict[str, Any] = {
        "tools": [*tools[:3], tools[0], *tools[3:]],
        "page": 2,
        "calls": {name: call for name, _, call, _ in cases},
        "noise": ["=" * 60, "  Server 2.0", "{not json", ""],
    }
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(
        tmp_path, [*(tool_call(f"raw__{name}") for _, name, *_ in cases), text("done")]
    ) as rig:
        talk = await rig.talk("full", say="go")
        server = servers_of(talk).server("raw")
        assert server and [it.name for it in server.tools] == sorted(name for name, *_ in cases)
        for (*_, said), result in zip(cases, rig.results(), strict=True):
            assert said in str(result.content) and not result.is_error


@pytest.mark.report("smallmain/vscode-unify-chat-provider#162")
def test_a_property_that_is_no_schema_is_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "properties": {"type": "object"}, "type": "object"},
    }
    properties = provider_schema(schema)["properties"]
    assert (
        all(isinstance(it, dict) for it in properties.values())
        and {"path", "properties"} <= properties.keys()
    )


@pytest.mark.report("github/CopilotForXcode#282")
@pytest.mark.report("modelcontextprotocol/servers#64")
@pytest.mark.report("signerlabs/ShipSwift#61")
@pytest.mark.report("anthropics/claude-code#5597")
@pytest.mark.report("modelcontextprotocol/python-sdk#326")
async def test_paths_and_prompts_of_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    prompts = [{"name": "p", "arguments": [{"name": "a", "required": False}]}]
    plan: dict[str, Any] = {"prompts": prompts, "calls": {"echo": {"do": "env"}}, "log": str(log)}
    user_file(
        tmp_path / "state",
        raw={**raw_server(tmp_path / "plans", "raw", **plan), "env": {}},
        away={"command": "npx-that-is-nowhere", "args": ["-y", "x"]},
    )
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        assert f'"PATH": "{os.environ["PATH"]}' in str(rig.results()[0].content)
        assert "npx-that-is-nowhere" in " ".join(it.message for it in talk.of(Warning))
        assert "prompts/get" not in {it["method"] for it in sent(log)}
        assert "p {}" in await prompt_text(talk.live.servers, "raw:p", "")
