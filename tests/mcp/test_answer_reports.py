"""Answers of MCP servers in public reports: noise, lists, results, prompts, sessions and logins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.mcp.prompt_commands import prompt_text
from agent_ls.mcp.config import parse_server
from agent_ls.services.errors import AppError
from tests.mcp.logins import asked_for, entry_of, logged_in, tried
from tests.mcp.oauth_server import METADATA, PRM, LoginOddities, login_server
from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import echoed, running
from tests.mcp.test_start_failures import play
from tests.support.fake_provider import text, tool_call
from tests.support.loopback import Script, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

BOX = "[09/15/25 00:30:17] INFO     mcp.run: starting\n┌────────┐\n│ a tool │\n└────────┘\n"
BANNER = ["Mail server 3.4", "=" * 20, "2026-05-16 [INFO] ready", '{"level": "info"}', "[1, 2", ""]
NOISE: list[Any] = [
    reported(
        "pathintegral-institute/mcpm.sh#264",
        {"before": BOX},
    ),
    reported(
        "azizmazrou/ews-mcp#133",
        {"noise": BANNER},
    ),
    reported(
        "Kapeli/dash-mcp-server#10",
        {"before": "\n  \nProcessing request of type ListToolsRequest\n\n"},
    ),
    pytest.param({"before": '{"jsonrpc": "2.0", "method": 5}\n"a text"\nnull\n\x1b[32mok\x1b[0m\n'}),
]


@pytest.mark.parametrize("plan", NOISE)
async def test_lines_of_a_server_that_are_no_messages_do_not_matter(
    tmp_path: Path, plan: dict[str, Any]
) -> None:
    assert (await echoed(tmp_path, **plan)).content == "echo {}"


@pytest.mark.parametrize(
    "cursors",
    [
        reported("PrefectHQ/fastmcp#5025", [""]),
        ["a", ""],
        ["0", "1"],
    ],
)
async def test_each_page_of_a_list_is_read_whatever_its_cursor(tmp_path: Path, cursors: list[str]) -> None:
    tools = [tool(f"t{number}") for number in range(len(cursors) + 1)]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools, cursors=cursors))
    async with running(tmp_path, [tool_call(f"raw__{tools[-1]['name']}"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert rig.results()[0].content == f"{tools[-1]['name']} {{}}"


SETS = {"datasets": [{"id": "a_set"}]}
PDF = {
    "type": "resource",
    "resource": {"uri": "file:///r/rate%20card.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="},
}
RESULTS: list[Any] = [
    reported(
        "IBM/mcp-context-forge#4042",
        {"content": [{"type": "text", "text": json.dumps(SETS)}], "structuredContent": SETS},
        "a_set",
    ),
    ({"content": [], "structuredContent": SETS}, "a_set"),
    reported(
        "NousResearch/hermes-agent#64061",
        {"content": [{"type": "text", "text": "one file"}, PDF]},
        "card.pdf",
    ),
    ({"content": [PDF]}, "application/pdf"),
]


@pytest.mark.parametrize(("result", "said"), RESULTS)
async def test_what_a_result_has_is_named(tmp_path: Path, result: dict[str, Any], said: str) -> None:
    schema = {"type": "object", "properties": {"datasets": {"type": "array"}}, "required": ["datasets"]}
    found = await echoed(
        tmp_path, tools=[tool("echo", outputSchema=schema)], calls={"echo": {"result": result}}
    )
    assert said in str(found.content) and not found.is_error


@pytest.mark.report("mastra-ai/mastra#19189")
def test_a_question_of_a_server_is_answered_where_there_is_no_user(tmp_path: Path) -> None:
    form = {
        "message": "Sure?",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
    }
    calls = {"echo": {"do": "ask", "method": "elicitation/create", "params": form}}
    server = raw_server(tmp_path / "plans", "raw", calls=calls)
    script: Script = [[ToolCall("raw__echo", {})], "Done."]
    done, requests = play(tmp_path, script, "--allow", "raw__echo", "go", server=server)
    assert done.code == 0 and "cancel" in json.dumps(requests[-1]["messages"][-1])


PROMPTED: list[Any] = [
    reported(
        "run-llama/llama_index#22297",
        {"type": "resource", "resource": {"uri": "a:b", "text": "words of it"}},
        "words of it",
    ),
    ({"type": "resource_link", "uri": "a:c", "name": "the link"}, "a:c"),
    ({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}, "audio/wav"),
    (PDF, "card.pdf"),
    ({"type": "later", "of": "a version"}, "later"),
]


@pytest.mark.parametrize(("content", "said"), PROMPTED)
async def test_the_parts_of_a_prompt_are_named(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    plan = {"prompts": [{"name": "p"}], "prompted": content}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        assert said in await prompt_text(talk.live.servers, "raw:p", "")


ONCE = '{"jsonrpc":"2.0","id":{id},"error":{"code":-32600,"message":"Server is already initialized"}}'
STREAM = ("text/event-stream", "event: endpoint\ndata: http://other.example/messages/?sessionId=1\n\n")


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        reported(
            "modelcontextprotocol/swift-sdk#219",
            Oddities(of_post={"initialize": [(200, {}, ONCE)] * 9}),
            "already initialized",
        ),
        reported(
            "idosal/git-mcp#43",
            Oddities(
                of_post={it: [(405, {}, "")] * 9 for it in ("initialize", "server/discover")},
                of_get=200,
                get_kind=STREAM[0],
                get_body=STREAM[1],
            ),
            "SSE",
        ),
    ],
)
async def test_a_server_that_cannot_be_used_says_why(tmp_path: Path, odd: Oddities, said: str) -> None:
    with odd_server(odd) as url, pytest.raises(AppError, match=said):
        await tried(tmp_path, parse_server("odd", {"url": url}, "user"))


@pytest.mark.report("DAWNCR0W/affine-mcp-server#301")
async def test_a_session_that_is_gone_is_begun_again_at_any_status(tmp_path: Path) -> None:
    said = "Bad Request: No valid session ID or not an initialize request"
    body = json.dumps({"jsonrpc": "2.0", "error": {"code": -32000, "message": said}, "id": None})
    with odd_server(Oddities(lost=400, lost_body=body.encode())) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1", "called 2"]


BEHIND = f"/mcp{PRM}"
LOGINS: list[Any] = [
    reported(
        "modelcontextprotocol/python-sdk#1636",
        LoginOddities(challenges=["Bearer"], resource={"scopes_supported": ["read"]}),
        "read",
    ),
    reported(
        "Agent-Hellboy/mcp-server-fuzzer#169",
        LoginOddities(
            challenges=["Bearer"],
            resource_at=[BEHIND],
            metadata_at=[METADATA],
            resource={"scopes_supported": ["read"]},
        ),
        "read",
    ),
    (LoginOddities(registers_scopes=False, resource={"scopes_supported": ["read"]}), "read"),
    reported(
        "aws/amazon-q-developer-cli#3638",
        LoginOddities(challenges=['Bearer realm="OAuth", error="invalid_token"'], resource_at=[]),
        None,
    ),
    reported(
        "Zomato/mcp-server-manifest#39",
        LoginOddities(
            challenges=['Bearer error="invalid_token", error_description="Authentication required"'],
            resource_at=[],
            metadata_at=[],
        ),
        None,
    ),
]


@pytest.mark.parametrize(("odd", "scope"), LOGINS)
async def test_a_login_finds_its_server_and_asks_for_its_scopes(
    tmp_path: Path, odd: LoginOddities, scope: str | None
) -> None:
    with login_server(odd) as seen:
        await logged_in(tmp_path, entry_of(seen))
        assert [it.name for it in await tried(tmp_path, entry_of(seen))] == ["echo"]
        assert asked_for(seen).get("scope") == scope


OBJECT = {"type": "object"}
SCHEMAS: list[Any] = [
    OBJECT,
    reported(
        "cognizant-ai-lab/neuro-san#1341",
        {"$ref": "#/components/A", "components": {"A": OBJECT}},
    ),
    {"properties": None, **OBJECT},
    reported(
        "MervinPraison/PraisonAI#3111",
        {"required": None, "properties": {}, **OBJECT},
    ),
]


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_tool_with_a_poor_schema_is_called(tmp_path: Path, schema: dict[str, Any]) -> None:
    assert (await echoed(tmp_path, tools=[None, tool("echo", schema=schema)])).content == "echo {}"


@pytest.mark.report("f/mcptools#69")
@pytest.mark.parametrize(
    "odd",
    [
        Oddities(of_get=404, get_kind="text/html", get_body="Cannot GET /mcp"),
        reported(
            "asciimoo/hister#691",
            Oddities(of_get=200, get_kind="text/html", get_body="<html></html>"),
        ),
        reported(
            "danny-avila/LibreChat#13202",
            Oddities(of_get=406),
        ),
        reported(
            "metorial/metorial-platform#509",
            Oddities(form="sse", of_notice=(200, b"\n")),
        ),
    ],
)
async def test_a_server_that_has_no_stream_is_called(tmp_path: Path, odd: Oddities) -> None:
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert rig.results()[0].content == "called 1"
    both = ("application/json", "text/event-stream")
    assert all(kind in accepted for accepted in odd.accepted for kind in both)
