"""Calls of tools of MCP servers from public reports: lists in pages, schemas, results, failures, ends of servers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.mcp.prompt_commands import prompt_commands, prompt_text
from agent_ls.services.errors import AppError
from tests.mcp.plans import change_plan, raw_server, sent, tool, user_file
from tests.mcp.rig import running, servers_of, until_state
from tests.support.fake_provider import text, tool_call
from tests.support.processes import eventually
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

Call = tuple[str, str]
ECHO = ("raw__echo", "{}")
STRING = {"type": "string"}


def schema(defs: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, **({"$defs": defs} if defs else {})}
    return {"tools": [tool("echo", schema=found)]}


def result(**members: Any) -> dict[str, Any]:
    return {"calls": {"echo": {"result": members}}}


def failure(**error: Any) -> dict[str, Any]:
    return {"calls": {"echo": {"error": error}}}


def read(uri: str = "") -> Call:
    return "read_resource", json.dumps({"server": "raw", "uri": uri})


NODE = {"node": {"type": "object", "properties": {"id": STRING, "kids": {"items": {"$ref": "#/$defs/node"}}}}}
REQUEST = {"R": {"type": "object", "properties": {"id": STRING}}}
AIRPORT = [{"uriTemplate": "airport://{iata}", "name": "by code", "description": "An airport"}]
NULLABLE = {"type": "string", "nullable": True}
UNTYPED = {"type": None}
LOGGING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"logging": {}, "tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
LONG = "x" * 70
LATE = {"tools": [tool("late"), tool("echo")], "calls": {"late": {"do": "late", "text": "too late"}}}
TOOLS = [tool(f"t{number}") for number in range(101)]
CASES: list[Any] = [
    reported("vercel/ai#19240", {"tools": TOOLS[:4], "page": 2}, [("raw__t3", "{}")], ["t3 {}"]),
    reported("Factory-AI/factory#7", {"tools": TOOLS, "page": 50},
        [("call_tool", '{"name": "raw__t100", "arguments": {}}')], ["t100 {}"]),
    reported("MCPJam/inspector#1298", result(structuredContent={"list": [7]}, nextCursor="at-9"), [ECHO], ["at-9"]),
    (result(content=[{"type": "text", "text": "first"}], total=12, page={"next": 2}), [ECHO], ['"total": 12']),
    (result(content=[], structuredContent={"a": 1}, warnings=["old index"]), [ECHO], ["old index"]),
    (result(content=[{"type": "text", "text": "kept"}], _meta={"x": "no"}, resultType="complete"), [ECHO], ["kept"]),
    reported("intent-hq/intent#3479", LATE, [("raw__late", "{}"), ECHO, ECHO], ["within 1 s", "echo {}", "echo {}"]),
    reported("langchain4j/langchain4j#6175",
        {"resources": [{"uri": "a:b", "name": "n"}], "hang": "resources/read"}, [read("a:b"), ECHO],
        ["within 1 s", "echo {}"]),
    reported("php-mcp/laravel#25",
        {"resources": [{"uri": "airport://YVR", "name": "y"}], "resourceTemplates": AIRPORT},
        [read(), read("airport://YYZ")], ["airport://{iata}", "text of airport://YYZ"]),
    reported("PrefectHQ/fastmcp#2023", {"resources": [], "resourceTemplates": AIRPORT}, [read()], ["An airport"]),
    ({"resources": [], "resourceTemplates": [*AIRPORT, {"name": "odd"}]}, [read()], ["airport://{iata}"]),
    ({"resourceTemplates": [{**it, "uriTemplate": f"a:{n}/{{x}}"} for n in range(3) for it in AIRPORT], "page": 1,
      "resources": []}, [read()], ["a:2/{x}"]),
    ({"resources": [{"uri": "a:b", "name": "n"}], "resourceTemplates": AIRPORT, "hang": "resources/templates/list"},
        [read()], ["a:b"]),
    reported("platformatic/mcp#130", {"resources": [{"uri": "a:b", "name": "n"}]}, [read("a:b")], ["text of a:b"]),
    reported("labring/FastGPT#6395", schema(REQUEST, request={"$ref": "#/$defs/R"}),
        [("raw__echo", '{"request": {"id": "1"}}')], ['{"request": {"id": "1"}}']),
    reported("agentscope-ai/QwenPaw#4191", schema(NODE, children={"type": "array", "items": {"$ref": "#/$defs/node"}}),
        [("raw__echo", '{"children": [{"id": "1", "kids": [{"id": "2"}]}]}')], ['"kids": [{"id": "2"}]']),
    reported("coder/xum#3821", {}, [("raw__echo", '{"text": "a", "more": {"x": 1}}')], ['"more": {"x": 1}']),
    reported("tadata-org/fastapi_mcp#218", schema(a={**NULLABLE, "example": "x"}), [("raw__echo", '{"a": null}')],
        ['{"a": null}']),
    (schema(REQUEST, a={"$ref": "#/$defs/R", "nullable": True}), [("raw__echo", '{"a": null}')], ['{"a": null}']),
    (schema(a={"type": "array", "items": NULLABLE}), [("raw__echo", '{"a": [null, "b"]}')], ['[null, "b"]']),
    (schema(a={"type": "string", "enum": ["b"], "x-nullable": True}), [("raw__echo", '{"a": null}')], ['{"a": null}']),
    (schema(nullable=STRING), [("raw__echo", '{"nullable": "yes"}')], ['"yes"']),
    reported("code-yeongyu/senpi#713",
        {"tools": [tool("echo", schema={"type": None, "properties": {"a": UNTYPED, "b": {"anyOf": [UNTYPED]}}})]},
        [("raw__echo", '{"a": 1, "b": 2}')], ['{"a": 1, "b": 2}']),
    reported("fr0ster/mcp-abap-adt#155", failure(code=-32603, message="ZFOO is locked\nby BAR"), [ECHO],
        ["ZFOO is locked\nby BAR"]),
    reported("spring-ai-community/mcp-annotations#94", failure(code=-32063, message="no", data="my object"), [ECHO],
        ["no: my object"]),
    reported("Quack6765/Eidon-AI#247", {"calls": {"echo": {"do": "stderr", "size": 262_144}}}, [ECHO], ["echo {}"]),
    reported("MoonshotAI/kimi-code#2109",
        {"tools": [tool("die"), tool("echo")], "calls": {"die": {"do": "killed"}}}, [("raw__die", "{}"), ECHO],
        ["closed the connection", "echo {}"]),
    reported("longbridge/longbridge-mcp#150", result(content=[], structuredContent=[{"a": 7}]), [ECHO], ['"a": 7']),
    reported("Azure/data-api-builder#3599",
        result(content=[{"type": "text", "text": "rows", "annotations": None, "_meta": None}]), [ECHO], ["rows"]),
    reported("openclaw/openclaw#96716", schema(a={"anyOf": [STRING, {"type": "null"}], "default": None}),
        [("raw__echo", '{"a": null}')], ["echo {"]),
    reported("ProfessionalWiki/MediaWiki-MCP-Server#532", schema(section={"type": "integer"}),
        [("raw__echo", '{"section": "5"}')], ['{"section": 5}']),
    reported("justrach/codedb#10", {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        [("raw__echo", "")], ["echo {}"]),
    reported("whiteducksoftware/flock#365", {"initialized": LOGGING, "hang": "logging/setLevel"}, [ECHO], ["echo {}"]),
    reported("TJC-LP/fast-mcp-scala#56", {"initialized": LOGGING}, [ECHO], ["echo {}"]),
    reported("tan-yong-sheng/triliumnext-mcp#4", {"noise": ["C:\\Users\\D is my home", "", "\""]}, [ECHO], ["echo {}"]),
    reported("phoityne/pty-mcp-server#4", {"tools": {"tools": [{"name": "echo"}]}}, [ECHO], ["echo {}"]),
    ({"tools": {"echo": {"description": "by name", "inputSchema": {"type": "object"}}}}, [ECHO], ["echo {}"]),
    ({"resources": {"a:b": {"name": "n"}}}, [read()], ["a:b"]),
    ({"resources": {"resources": [{"uri": "a:b", "name": "n"}]}}, [read()], ["a:b"]),
    reported("samihalawa/mcp-server-smtp#4", result(success=True, configs=[{"id": 7}]), [ECHO], ['"id": 7']),
    reported("anthropics/claude-code#25081",
        {"tools": [{**tool("echo"), "title": "E", "outputSchema": {"type": "object", "required": ["a"]},
                    "toolAnnotations": {"readOnlyHint": True}}]}, [ECHO], ["echo {}"]),
    reported("browseros-ai/BrowserOS#1560",
        result(content=[{"type": "text", "text": "# Domain"}], structuredContent={"page": 7}), [ECHO], ['"page": 7']),
    reported("erikdarlingdata/PerformanceMonitor#3870",
        {"tools": [tool("echo", schema={"type": "object", "properties": {}, "additionalProperties": False})]},
        [("raw__echo", '{"status_filter": "x"}')], ["status_filter is not known"]),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "calls", "said"), CASES)
async def test_the_model_reads_what_a_server_has_to_say(
    tmp_path: Path, plan: dict[str, Any], calls: list[Call], said: list[str]
) -> None:
    user_file(tmp_path / "state", raw={**raw_server(tmp_path / "plans", "raw", **plan), "timeoutMs": 1000})
    async with running(tmp_path, [*(tool_call(*it) for it in calls), text("done")]) as rig:
        await rig.talk("full", say="go")
        found = [str(it.content) for it in rig.results()]
        assert all(words in it for words, it in zip(said, found, strict=True)), found
        assert '"type": null' not in json.dumps([it.parameters for it in rig.model.requests[0].tools])


@pytest.mark.report(
    "modelcontextprotocol/modelcontextprotocol#418", "v0lka/c0wrk#53", "simonx1/ruby-mcp-client#178"
)
async def test_a_call_that_takes_too_long_is_sent_once_and_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = raw_server(tmp_path / "plans", "raw", log=str(log), calls={"echo": {"do": "hang"}})
    user_file(tmp_path / "state", raw={**plan, "timeoutMs": 300})
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk("full", say="go")
        await eventually(lambda: "notifications/cancelled" in [it["method"] for it in sent(log)])
    [call] = [it for it in sent(log) if it["method"] == "tools/call"]
    [cancelled] = [it for it in sent(log) if it["method"] == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == call["id"]


@pytest.mark.report("MarkusPfundstein/mcp-gsuite#21")
async def test_a_server_that_a_cancelled_call_ends_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    plan = {"tools": [tool("wait"), tool("echo")], "calls": {"wait": {"do": "hang"}}, "starts": str(starts)}
    entry = raw_server(tmp_path / "plans", "raw", exit_at="notifications/cancelled", **plan)
    user_file(tmp_path / "state", raw={**entry, "timeoutMs": 1000})
    async with running(
        tmp_path, [tool_call("raw__wait"), text("one"), tool_call("raw__echo"), text("two")]
    ) as rig:
        talk = await rig.talk("full", say="go")
        await eventually(lambda: len(starts.read_text().split()) == 2)
        await until_state(talk, "raw", "running")
        await talk.say("go on")
        assert rig.results()[-1].content == "echo {}"


@pytest.mark.report(
    "MCPJam/inspector#1073", "aws/amazon-q-developer-cli#3018", "anthropics/claude-code#57951"
)
async def test_prompts_and_resources_of_all_pages_are_known_and_a_missing_argument_is_named(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    prompts = [
        {"name": "greet"},
        {"name": "b"},
        {"name": "c", "arguments": [{"name": "repo", "required": True}]},
    ]
    resources = [{"uri": f"a:{number}", "name": "n"} for number in range(5)]
    plan = {"prompts": prompts, "resources": resources, "page": 2, "log": str(log)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        assert [it.name for it in prompt_commands(talk.live.servers)] == ["raw:greet", "raw:b", "raw:c"]
        assert "greet {}" in await prompt_text(talk.live.servers, "raw:greet", "")
        with pytest.raises(AppError, match="repo"):
            await prompt_text(talk.live.servers, "raw:c", "")
        server = servers_of(talk).server("raw")
        assert server and len(server.description.resources) == 5
    assert len([it for it in sent(log) if it["method"] == "prompts/get"]) == 1


@pytest.mark.report("nicobailon/pi-mcp-adapter#468")
async def test_a_subscription_that_ends_is_made_again_and_the_lists_are_read_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = raw_server(tmp_path / "plans", "raw", modern=True, unsubscribes=True, log=str(log))
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [text("done")]) as rig:
        await rig.talk(say="go")

        def made(method: str) -> int:
            return len([it for it in sent(log) if it["method"] == method])

        await eventually(lambda: made("subscriptions/listen") >= 2 and made("tools/list") >= 2)


CHANGES = [
    reported("BaseIntelligence/bounty-challenge#10990", "tools", ("raw__extra", "{}"), "extra {}"),
    reported("fiberplane/mcp-lite#31", "resources", read(), "a:2"),
]


@pytest.mark.parametrize(("kind", "call", "said"), CHANGES)
async def test_a_list_that_changes_outside_of_a_call_is_read_again(
    tmp_path: Path, kind: str, call: Call, said: str
) -> None:
    resources = [{"uri": "a:1", "name": "n"}, {"uri": "a:2", "name": "n"}]
    plan = {"prompts": [{"name": "p"}], "resources": resources[:1], "changes": {"prompts/get": kind}}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("one"), tool_call(*call), text("two")]) as rig:
        talk = await rig.talk("full", say="go")
        new = {**plan, "tools": [tool("echo"), tool("extra")], "resources": resources}
        change_plan(tmp_path / "plans" / "raw.json", new)
        await prompt_text(talk.live.servers, "raw:p", "")
        server = servers_of(talk).server("raw")
        assert server
        await eventually(lambda: len(server.description.resources) == 2)
        await talk.say("go on")
        assert said in str(rig.results()[-1].content)


@pytest.mark.report("Mintplex-Labs/anything-llm#3854", "anthropics/claude-code#35287")
async def test_a_server_that_cannot_start_is_named_with_the_reason_and_the_others_work(
    tmp_path: Path,
) -> None:
    ending = raw_server(tmp_path / "plans", "end", exit=1, stderr="no such file: db.sqlite\n")
    gone = {"command": "npx-that-is-nowhere", "args": ["-y", "x"]}
    user_file(tmp_path / "state", gone=gone, ending=ending, raw=raw_server(tmp_path / "plans", "raw"))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        assert "npx-that-is-nowhere" in (await until_state(talk, "gone", "failed")).error
        assert "db.sqlite" in (await until_state(talk, "ending", "restarting", "failed")).error
        assert [it.content for it in rig.results()] == ["echo {}"]


@pytest.mark.parametrize(
    ("server", "tools", "said"),
    [
        reported("GEMISIS/leviath#880", "raw", ["a.b", "a_b"], ["a.b {}", "a_b {}"]),
        ("raw", ["a_b", "a.b"], ["a.b {}", "a_b {}"]),
        reported("xorbitsai/xagent#1342", "raw", [f"{LONG}1", f"{LONG}2"], [f"{LONG}1 {{}}", f"{LONG}2 {{}}"]),
        reported("samanhappy/mcphub#1076", "高德 地图", ["echo"], ["echo {}"]),
        reported("CodebuffAI/freebuff#1306", "cua-driver", ["click"], ["click {}"]),
        reported("can1357/oh-my-pi#9830", "raw", ["drop-db", "echo"], ["echo {}"]),
    ],
)  # fmt: skip
async def test_each_tool_has_a_name_of_its_own(
    tmp_path: Path, server: str, tools: list[str], said: list[str]
) -> None:
    entry = raw_server(tmp_path / "plans", "raw", tools=[tool(it) for it in tools])
    user_file(tmp_path / "state", **{server: {**entry, "tools": {"deny": ["drop-*"]}}})
    async with running(tmp_path, [text("done")]) as rig:
        names = [it.tool.name for it in servers_of(await rig.talk("full", say="go")).list_offered()]
    async with running(tmp_path, [*map(tool_call, names), text("done")]) as rig:
        await rig.talk("full", say="go")
        assert sorted(str(it.content) for it in rig.results()) == said


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def image(kind: str, data: bytes | str, **more: Any) -> dict[str, Any]:
    plain = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "mimeType": kind, "data": plain, **more}


@pytest.mark.parametrize(
    ("block", "kinds"),
    [
        reported("nota/gyazo-mcp-server#129", image("image/png", f"data:image/png;base64,{PNG}"), ["image/png"]),
        reported("griffinwork40/agent-afk#1481", image("image/svg+xml", b"<svg/>"), []),
        (image("image/tiff", b"II*\0abcd"), []),
        reported("langgenius/dify-docs#439", image("image/png", PNG, annotations={"audience": []}), ["image/png"]),
        reported("Bevel-Software/Hexis#84", image("image/png", b"hello, I am text"), []),
        (image("image/png", b"\xff\xd8\xff\xe0JFIF"), ["image/jpeg"]),
        (image("image/jpeg", b""), []),
        (image("image/webp", b"RIFF1234WAVEfmt "), []),
        (image("image/gif", b"<html>502</html>"), []),
    ],
)  # fmt: skip
async def test_only_an_image_that_is_one_reaches_the_model(
    tmp_path: Path, block: Any, kinds: list[str]
) -> None:
    plan = raw_server(tmp_path / "plans", "raw", **result(content=[block]))
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk("full", say="go")
        [found] = rig.results()
        assert [it.media_type for it in found.images] == kinds
