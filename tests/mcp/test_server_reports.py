"""MCP servers that broke other clients, each as its smallest form, with real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import Warning
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import echoed, running, servers_of
from tests.support.fake_provider import text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


NOTICE = '{"jsonrpc":"2.0","method":"%s","params":%s}'
NOISE: list[Any] = [
    reported("microsoft/azure-devops-mcp#147", {"noise": ["Azure DevOps MCP Server version : 1.0"]}),
    reported(
        "hurttlocker/o8#1541",
        {"noise": ["[db] Connected to /var/db", "", "{'a': 1}", "\x1b[32mready\x1b[0m"]},
    ),
    reported("php-mcp/laravel#33", {"noise": ["-----", "Starting MCP server"]}),
    reported("bunkerlab-net/mempalace#19", {"line_end": "\r\n"}),
    reported("kagan-sh/kagan-legacy#148", {"noise": ["\ufeff"]}),
    {"noise": ["Welcome to raw 1.0!", "{", "[1, 2]", '{"jsonrpc": "1.0"}']},
    reported("mcp-use/mcp-use#114", {"noise": [NOTICE % ("window/logMessage", '{"type":3,"message":"x"}')]}),
    reported(
        "HatriGt/hana-mcp-server#22",
        {"noise": ['{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}']},
    ),
    reported(
        "anthropics/claude-code#67482",
        {"noise": [NOTICE % ("notifications/claude/channel", '{"content":"hi","meta":{"x":false}}')]},
    ),
    reported("vercel/ai#16353", {"noise": [NOTICE % ("notifications/message", '{"level":"loud","data":1}')]}),
    {"noise": [NOTICE % ("notifications/progress", '{"progressToken":{},"progress":"x"}')]},
    {"noise": ['{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}']},
    {"noise": ['[{"jsonrpc":"2.0","method":"notifications/x"}]']},
    {"noise": ["x" * 300_000]},
    {"noise": ["\0\0"]},
    reported("cognizant-ai-lab/neuro-san#526", {"ids": "text"}),
    reported("modelcontextprotocol/python-sdk#924", {"before": "[50] Add handler {x} "}),
    reported(
        "anomalyco/opencode#12094",
        {"tools": [tool("echo", annotations={"readOnlyHint": True, "title": "Echo"})]},
    ),
    {"tools": [tool("echo", annotations={"readOnlyHint": "yes"}, title=5)]},
    {"tools": [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": [], "description": ["a"]}]},
]


@pytest.mark.parametrize("plan", NOISE)
async def test_a_server_that_prints_other_lines_works(tmp_path: Path, plan: dict[str, Any]) -> None:
    assert (await echoed(tmp_path, **plan)).content == "echo {}"


@pytest.mark.report("MemPalace/mempalace#929")
@pytest.mark.report("simonlin1212/Vibe-Research#27")
@pytest.mark.parametrize(("encoding", "word"), [("cp1252", "Messgerät"), ("gbk", "中文内容")])
async def test_a_server_that_reads_and_writes_in_another_encoding_works(
    tmp_path: Path, encoding: str, word: str
) -> None:
    plan = {"encoding": encoding, "tools": [tool("echo"), tool("say")], "calls": {"say": {"text": word}}}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    given = json.dumps({"text": word}, ensure_ascii=False)
    async with running(tmp_path, [tool_call("raw__echo", given), tool_call("raw__say"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        echoed, said = (str(it.content) for it in rig.results())
        assert json.loads(echoed.removeprefix("echo ")) == {"text": word} and said == word


SCHEMAS = [
    reported("xpzouying/xiaohongshu-mcp#677", {"type": "object"}),
    reported("MrNeRF/LichtFeld-Studio#1430", {"type": "object", "properties": None}),
    reported("anthropics/claude-code#44364", {"type": "object", "properties": {}, "required": None}),
    reported("kerlenton/mcpsnoop#199", {"$schema": "http://json-schema.org/draft-07/schema#"}),
]


@pytest.mark.parametrize(
    "schema",
    [
        *SCHEMAS,
        None,
        True,
        {"type": ["object", "null"]},
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "object", "properties": {}}}},
    ],
)
async def test_a_tool_with_an_odd_schema_for_no_parameters_can_be_called(tmp_path: Path, schema: Any) -> None:
    tools = [{**tool("odd"), "inputSchema": schema}, tool("echo")]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    async with running(tmp_path, [tool_call("raw__odd"), tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert [it.content for it in rig.results()] == ["odd {}", "echo {}"]


ODD = [
    reported("anthropics/claude-code#88049", {"anyOf": [{"type": "string"}]}),
    reported("sandialabs/atlas-ui-3#727", {"type": "string", "description": "the document title"}),
]


@pytest.mark.parametrize("schema", ODD)
async def test_a_schema_of_another_type_loses_its_own_tool_only_and_is_told(
    tmp_path: Path, schema: Any
) -> None:
    tools = [{**tool("odd"), "inputSchema": schema}, tool("echo")]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        assert [it.content for it in rig.results()] == ["echo {}"]
        assert "odd" in " ".join(it.message for it in talk.of(Warning))


CURSORS = [
    reported("modelcontextprotocol/java-sdk#628", ""),
    reported("DeusData/codebase-memory-mcp#1247", "same"),
]


@pytest.mark.parametrize("cursor", CURSORS)
async def test_a_list_that_never_ends_is_read_once(tmp_path: Path, cursor: str) -> None:
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", cursor=cursor, log=str(log)))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        assert [it.tool.name for it in servers_of(talk).list_offered()] == ["raw__echo"]
        assert len([it for it in sent(log) if it.get("method") == "tools/list"]) <= 2


NAMES = [
    reported(
        "hanlulong/stata-mcp#48",
        "raw",
        "run_selection_stream_endpoint_run_selection_stream_get_with_a_very_long_name",
    ),
    reported("github/copilot-cli#1879", "raw", "admin.tools/list"),
    reported("microsoft/mcp#842", "AzureMCP-AllTools", "azmcp_managedlustre_filesystem_subnetsize_validate"),
    reported("cloudflare/skills#11", "plugin.cloudflare/workers observability", "query_worker_observability"),
]


@pytest.mark.parametrize(("server", "name"), NAMES)
async def test_any_name_becomes_one_that_providers_accept_and_calls_the_right_tool(
    tmp_path: Path, server: str, name: str
) -> None:
    user_file(tmp_path / "state", **{server: raw_server(tmp_path / "plans", "raw", tools=[tool(name)])})
    async with running(tmp_path, [text("first"), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        (offered,) = [it.tool.name for it in servers_of(talk).list_offered()]
        assert len(offered) <= 64 and offered.isidentifier() and offered.isascii()


RESULTS = [
    reported(
        "kirodotdev/Kiro#8960",
        {"content": [{"type": "resource_link", "uri": "https://x.example/a.png", "name": "a"}]},
        "https://x.example/a.png",
    ),
    reported("dapr/dapr-agents#83", {"content": [], "isError": True}, "(no output)"),
    reported(
        "cloudflare/mcp-server-cloudflare#12",
        {"toolResult": {"content": [{"type": "text", "text": "of the old form"}]}},
        "of the old form",
    ),
    reported(
        "praxis-proxy/ai#807",
        {"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]},
        "audio/wav",
    ),
    reported(
        "Gitlawb/zero#823",
        {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}]},
        "inside",
    ),
]


@pytest.mark.parametrize(("result", "said"), RESULTS)
async def test_something_of_each_result_reaches_the_model(
    tmp_path: Path, result: dict[str, Any], said: str
) -> None:
    found = await echoed(tmp_path, calls={"echo": {"result": result}})
    assert said in str(found.content) and found.is_error is bool(result.get("isError"))


@pytest.mark.report("anthropics/claude-ai-mcp#969")
@pytest.mark.parametrize("media_type", ["image/png", "image/jpg", "image/PNG; a=b"])
async def test_an_image_in_a_result_reaches_the_model(tmp_path: Path, media_type: str) -> None:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    result = {"content": [{"type": "image", "data": data, "mimeType": media_type}]}
    found = await echoed(tmp_path, calls={"echo": {"result": result}})
    assert [it.media_type for it in found.images] == ["image/png"]


ASKED = [
    reported("vercel/ai#15701", "ping", '"result": {}'),
    reported("modelcontextprotocol/csharp-sdk#1390", "ping", '"id": "asked"'),
    reported("KlaatAI/klaatcode#59", "roots/list", "file://"),
    reported("modelcontextprotocol/python-sdk#1097", "sampling/createMessage", '"error"'),
]


@pytest.mark.parametrize(("method", "answer"), ASKED)
async def test_a_request_of_the_server_during_a_call_is_answered(
    tmp_path: Path, method: str, answer: str
) -> None:
    found = await echoed(tmp_path, calls={"echo": {"do": "ask", "method": method}})
    assert answer in str(found.content)


@pytest.mark.report("NousResearch/hermes-agent#115502", "microsoft/aspire#14494")
async def test_a_storm_of_changes_causes_few_requests(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = {"calls": {"echo": {"do": "change", "times": 200}}, "log": str(log)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__echo"), text("one"), text("two")]) as rig:
        talk = await rig.talk("full", say="go")
        await talk.say("again")
        assert len([it for it in sent(log) if it.get("method") == "tools/list"]) <= 5
