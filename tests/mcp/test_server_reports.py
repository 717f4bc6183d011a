"""MCP servers that broke other clients, each as its smallest form, with real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import Warning
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import running, servers_of
from tests.support.fake_provider import text, tool_call

pytestmark = pytest.mark.req("T11")


NOISE = [
    pytest.param(
        {"noise": ["Azure DevOps MCP Server version : 1.0"]},
        marks=pytest.mark.report(
            "microsoft/azure-devops-mcp#147",
            "a server prints its version to stdout, and the client gives up",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"noise": ["[db] Connected to /var/db", "", "{'a': 1}", "\x1b[32mready\x1b[0m"]},
        marks=pytest.mark.report(
            "hurttlocker/o8#1541",
            "lines of a log on stdout break the connection",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"noise": ["-----", "Starting MCP server"]},
        marks=pytest.mark.report(
            "php-mcp/laravel#33",
            "a line of hyphens is read as a number and breaks the connection",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"line_end": "\r\n"},
        marks=pytest.mark.report(
            "bunkerlab-net/mempalace#19",
            "lines that end with CR and LF cannot be parsed",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"noise": ["\ufeff"]},
        marks=pytest.mark.report(
            "kagan-sh/kagan-legacy#148",
            "output before the first message, on Windows, is not JSON",
            area="mcp",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize("plan", NOISE)
async def test_a_server_that_prints_other_lines_works(tmp_path: Path, plan: dict[str, Any]) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert rig.results()[0].content == "echo {}"


SCHEMAS = [
    pytest.param(
        {"type": "object"},
        marks=pytest.mark.report(
            "xpzouying/xiaohongshu-mcp#677",
            "a tool without parameters has no properties, and is refused",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"type": "object", "properties": None},
        marks=pytest.mark.report(
            "MrNeRF/LichtFeld-Studio#1430",
            "properties are null for one tool, and all 136 tools are lost",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"type": "object", "properties": {}, "required": None},
        marks=pytest.mark.report(
            "anthropics/claude-code#44364",
            "required is null for one tool, and all tools are lost",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        marks=pytest.mark.report(
            "kerlenton/mcpsnoop#199",
            "a schema with only its dialect loses all tools without a word",
            area="mcp",
            before="failed",
        ),
    ),
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
    pytest.param(
        {"anyOf": [{"type": "string"}]},
        marks=pytest.mark.report(
            "anthropics/claude-code#88049",
            "one schema that is no object loses all tools of a server, without a message",
            area="mcp",
            before="failed",
        ),
    ),
    pytest.param(
        {"type": "string", "description": "the document title"},
        marks=pytest.mark.report(
            "sandialabs/atlas-ui-3#727",
            "a schema that is no object breaks each request of the session",
            area="mcp",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize("schema", ODD)
async def test_a_schema_of_another_type_loses_its_own_tool_only_and_is_told(
    tmp_path: Path, schema: Any
) -> None:
    tools = [{**tool("odd"), "inputSchema": schema}, tool("echo")]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        assert [it.content for it in rig.results()] == ["echo {}"]
        assert "odd" in " ".join(it.message for it in talk.of(Warning))


CURSORS = [
    pytest.param(
        "",
        marks=pytest.mark.report(
            "modelcontextprotocol/java-sdk#628",
            "an empty cursor counts as another page, for ever",
            area="mcp",
            before="failed",
        ),
    ),
    pytest.param(
        "same",
        marks=pytest.mark.report(
            "DeusData/codebase-memory-mcp#1247",
            "a cursor that never changes gives each tool twenty times",
            area="mcp",
            before="failed",
        ),
    ),
]


@pytest.mark.parametrize("cursor", CURSORS)
async def test_a_list_that_never_ends_is_read_once(tmp_path: Path, cursor: str) -> None:
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", cursor=cursor, log=str(log)))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        assert [it.tool.name for it in servers_of(talk).list_offered()] == ["raw__echo"]
        assert len([it for it in sent(log) if it.get("method") == "tools/list"]) <= 2


NAMES = [
    pytest.param(
        "raw",
        "run_selection_stream_endpoint_run_selection_stream_get_with_a_very_long_name",
        marks=pytest.mark.report(
            "hanlulong/stata-mcp#48",
            "a name of more than 64 characters makes each request a 400",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "raw",
        "admin.tools/list",
        marks=pytest.mark.report(
            "github/copilot-cli#1879",
            "a name with a dot or a slash makes each request a 400",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "AzureMCP-AllTools",
        "azmcp_managedlustre_filesystem_subnetsize_validate",
        marks=pytest.mark.report(
            "microsoft/mcp#842",
            "server and tool together are longer than 64 characters",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "plugin.cloudflare/workers observability",
        "query_worker_observability",
        marks=pytest.mark.report(
            "cloudflare/skills#11",
            "the prefix of a server makes the names of its tools too long",
            area="mcp",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("server", "name"), NAMES)
async def test_any_name_becomes_one_that_providers_accept_and_calls_the_right_tool(
    tmp_path: Path, server: str, name: str
) -> None:
    user_file(tmp_path / "state", **{server: raw_server(tmp_path / "plans", "raw", tools=[tool(name)])})
    async with running(tmp_path, [text("first"), text("done")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        (offered,) = [it.tool.name for it in servers_of(talk).list_offered()]
        assert len(offered) <= 64 and offered.isidentifier() and offered.isascii()


RESULTS = [
    pytest.param(
        {"content": [{"type": "resource_link", "uri": "https://x.example/a.png", "name": "a"}]},
        "https://x.example/a.png",
        marks=pytest.mark.report(
            "kirodotdev/Kiro#8960",
            "a link to a resource makes the whole result an error",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"content": [], "isError": True},
        "(no output)",
        marks=pytest.mark.report(
            "dapr/dapr-agents#83", "an error without content has no text at all", area="mcp", before="passed"
        ),
    ),
    pytest.param(
        {"toolResult": {"content": [{"type": "text", "text": "of the old form"}]}},
        "of the old form",
        marks=pytest.mark.report(
            "cloudflare/mcp-server-cloudflare#12",
            "a result in the form of an old version is refused",
            area="mcp",
            before="failed",
        ),
    ),
    pytest.param(
        {"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]},
        "audio/wav",
        marks=pytest.mark.report(
            "praxis-proxy/ai#807",
            "content that is not text is dropped, and the model reads nothing",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}]},
        "inside",
        marks=pytest.mark.report(
            "Gitlawb/zero#823", "an embedded resource becomes an empty result", area="mcp", before="passed"
        ),
    ),
]


@pytest.mark.parametrize(("result", "said"), RESULTS)
async def test_something_of_each_result_reaches_the_model(
    tmp_path: Path, result: dict[str, Any], said: str
) -> None:
    plan = raw_server(tmp_path / "plans", "raw", calls={"echo": {"result": result}})
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        (found,) = rig.results()
        assert said in str(found.content) and found.is_error is bool(result.get("isError"))


@pytest.mark.report(
    "anthropics/claude-ai-mcp#969",
    "an image in a result is replaced by a sentence, and the model never sees it",
    area="mcp",
    before="passed",
)
@pytest.mark.parametrize("media_type", ["image/png", "image/jpg", "image/PNG; a=b"])
async def test_an_image_in_a_result_reaches_the_model(tmp_path: Path, media_type: str) -> None:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    result = {"content": [{"type": "image", "data": data, "mimeType": media_type}]}
    user_file(
        tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", calls={"echo": {"result": result}})
    )
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert [it.media_type for it in rig.results()[0].images] == ["image/png"]


ASKED = [
    pytest.param(
        "ping",
        '"result": {}',
        marks=pytest.mark.report(
            "vercel/ai#15701",
            "a ping of the server is refused, and the server ends the session",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "ping",
        '"id": "asked"',
        marks=pytest.mark.report(
            "modelcontextprotocol/csharp-sdk#1390",
            "a ping with a text as its id is answered as an unknown method",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "roots/list",
        "file://",
        marks=pytest.mark.report(
            "KlaatAI/klaatcode#59",
            "folders are announced, and the server waits for the answer for ever",
            area="mcp",
            before="passed",
        ),
    ),
    pytest.param(
        "sampling/createMessage",
        '"error"',
        marks=pytest.mark.report(
            "modelcontextprotocol/python-sdk#1097",
            "a request of the server during a call hangs both sides",
            area="mcp",
            before="passed",
        ),
    ),
]


@pytest.mark.parametrize(("method", "answer"), ASKED)
async def test_a_request_of_the_server_during_a_call_is_answered(
    tmp_path: Path, method: str, answer: str
) -> None:
    plan = raw_server(tmp_path / "plans", "raw", calls={"echo": {"do": "ask", "method": method}})
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert answer in str(rig.results()[0].content)


@pytest.mark.report(
    "NousResearch/hermes-agent#115502",
    "200 messages that the tools have changed cause 200 requests for the list",
    area="mcp",
    before="passed",
)
@pytest.mark.report(
    "microsoft/aspire#14494",
    "each list causes a message that it has changed, without end",
    area="mcp",
    before="passed",
)
async def test_a_storm_of_changes_causes_few_requests(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = {"calls": {"echo": {"do": "change", "times": 200}}, "log": str(log)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__echo"), text("one"), text("two")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        await talk.say("again")
        assert len([it for it in sent(log) if it.get("method") == "tools/list"]) <= 5
