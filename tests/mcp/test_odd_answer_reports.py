"""MCP servers of public reports: odd answers by HTTP, odd lines, odd results, choices at the root of a schema."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.config import HttpTarget, StdioTarget, Target, VariableValues, fill_variables, parse_server
from agent_ls.mcp.schemas import is_object_schema, provider_schema
from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import running
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
ODD = {
    "noticed": Oddities(of_notice=(200, b"OK")),
    "refusing": Oddities(of_notice=(400, b"params are missing"), of_get=400),
    "charset": Oddities(kind="application/json;charset=utf-8"),
    "untyped": Oddities(kind="none"),
    "plain": Oddities(kind="text/plain; charset=utf-8"),
    "bytes": Oddities(kind="application/octet-stream"),
    "vendor": Oddities(kind="application/vnd.x+json"),
    "events": Oddities(form="sse", kind="application/json"),
    "json": Oddities(kind="text/event-stream"),
    "strict": Oddities(supports=VERSIONS),
    "only": Oddities(version="2024-11-05", supports=("2024-11-05",)),
    "older": Oddities(version="2024-11-05"),
    "unversioned": Oddities(version=None),
}


@pytest.mark.report("modelcontextprotocol/java-sdk#748")
@pytest.mark.report("hyperdxio/hyperdx#2686")
@pytest.mark.report("helidon-io/helidon-mcp#97")
@pytest.mark.report("ThinkInAIXYZ/go-mcp#136")
@pytest.mark.report("xpzouying/xiaohongshu-mcp#697")
@pytest.mark.report("just-every/code#611")
async def test_servers_by_http_are_understood_whatever_they_say_of_type_and_version(tmp_path: Path) -> None:
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in ODD.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        script: list[Piece] = [*(tool_call(f"{name}__echo") for name in ODD), text("done")]
        async with running(tmp_path, script) as rig:
            await (await rig.talk("full")).say("go")
            said = {name: it.content for name, it in zip(ODD, rig.results(), strict=True)}
    assert said == dict.fromkeys(ODD, "called 1")


AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
CONTENT: list[Any] = [
    reported("ElliotPadfield/unpaywall-mcp#4", [{"type": "json", "json": {"doi": "10.1"}}], "10.1"),
    reported(
        "QuantGeekDev/mcp-framework#130", [{"type": "error", "text": "Invalid number"}], "Invalid number"
    ),
    reported("agno-agi/agno#10033", [AUDIO], "audio/wav"),
    reported(
        "frontman-ai/frontman#1545",
        [
            AUDIO,
            {"type": "resource_link", "uri": "a:b", "name": "n"},
            {"type": "resource", "resource": {"uri": "c:d", "text": "in"}},
        ],
        "c:d",
    ),
    ([None, "just text", {"text": "untyped"}, {"type": "text", "text": 42}], "untyped"),
    ([{"type": "markdown", "content": "# Hi"}], "# Hi"),
]


async def test_content_of_any_form_reaches_the_model(tmp_path: Path) -> None:
    cases = [param.values if hasattr(param, "values") else param for param in CONTENT]
    tools = [tool(f"t{number}") for number in range(len(cases))]
    calls = {f"t{number}": {"result": {"content": content}} for number, (content, _) in enumerate(cases)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools, calls=calls))
    async with running(tmp_path, [*(tool_call(f"raw__{it}") for it in calls), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        for (_, said), result in zip(cases, rig.results(), strict=True):
            assert said in str(result.content)


STRING: dict[str, Any] = {"type": "string"}
ROOTS: list[Any] = [
    reported(
        "opentokenz/mcpx#28",
        {
            "type": "object",
            "oneOf": [{"properties": {"a": STRING}, "required": ["a"]}, {"properties": {"b": STRING}}],
        },
        (["a", "b"], []),
    ),
    reported(
        "anthropics/claude-code#95504",
        {
            "type": "object",
            "properties": {"m": STRING},
            "allOf": [
                {
                    "if": {"properties": {"m": {"const": "x"}}},
                    "then": {"required": ["size"], "properties": {"size": STRING}},
                }
            ],
        },
        (["m", "size"], []),
    ),
    reported(
        "dearlordylord/huly-mcp#66",
        {
            "type": "object",
            "required": ["p"],
            "properties": {"p": STRING, "t": STRING},
            "anyOf": [{"required": ["t"]}, {"required": ["p"]}],
        },
        (["p", "t"], ["p"]),
    ),
    reported(
        "vercel/eve#520",
        {
            "anyOf": [
                {"type": "object", "properties": {"a": STRING, "k": {"const": 1}}, "required": ["k"]},
                {"type": "object", "properties": {"b": STRING, "k": {"const": 2}}, "required": ["k", "b"]},
            ]
        },
        (["a", "b", "k"], ["k"]),
    ),
    ({"type": "object", "properties": {"a": STRING}, "not": {"required": ["a"]}}, (["a"], [])),
    (
        {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"allOf": [{"properties": {"x": STRING}}]}}},
        (["x"], []),
    ),
    ({"type": "object", "allOf": [{"required": ["a"]}, {"properties": {"a": STRING}}]}, (["a"], ["a"])),
    ({"type": "object", "anyOf": "odd", "allOf": [None, True], "properties": None}, ([], [])),
]


@pytest.mark.parametrize(("schema", "expected"), ROOTS)
def test_choices_at_the_root_of_a_schema_become_one_object(schema: dict[str, Any], expected: Any) -> None:
    assert is_object_schema(schema)
    found = provider_schema(schema)
    assert not found.keys() - {"type", "properties", "required"} and found["type"] == "object"
    assert (sorted(found["properties"]), found.get("required", [])) == expected


def test_each_form_of_a_property_that_differs_between_choices_is_allowed() -> None:
    branches = [{"properties": {"k": {"const": value}}} for value in ("a", "b", "a", "c")]
    found = provider_schema({"type": "object", "oneOf": branches})
    assert found["properties"]["k"] == {"anyOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]}


VALUES = VariableValues(
    {"TOKEN": "t-123456789", "PATH": "/bin", "HOME": "/home/u"}.get, lambda server, name: None, "/w/proj"
)
ENTRIES: list[Any] = [
    reported(
        "RooCodeInc/Roo-Code#4017",
        {"command": "x", "args": ["--id", "${workspaceFolder}"]},
        StdioTarget("x", ("--id", "/w/proj")),
    ),
    reported(
        "zai-org/feedback#24",
        {"command": "x", "env": {"WORKSPACE_ROOT": "${workspaceFolder}"}},
        StdioTarget("x", (), (("WORKSPACE_ROOT", "/w/proj"),)),
    ),
    reported(
        "microsoft/vscode#245905",
        {"type": "http", "url": "https://a.example/${workspaceFolderBasename}"},
        HttpTarget("https://a.example/proj"),
    ),
    reported(
        "langchain-ai/langchainjs-mcp-adapters#42",
        {"command": "/n/bin/npx", "env": {"PATH": "${PATH}"}},
        StdioTarget("/n/bin/npx", (), (("PATH", "/bin"),)),
    ),
    ({"command": "~/bin/x", "cwd": "~/y"}, StdioTarget("/home/u/bin/x", (), (), "/home/u/y")),
    ({"command": "npx -y 'a b'"}, StdioTarget("npx", ("-y", "a b"))),
    ({"command": "x", "args": "-y thing"}, StdioTarget("x", ("-y", "thing"))),
    ({"command": "/opt/My Tools/x"}, StdioTarget("/opt/My Tools/x")),
    ({"command": "x", "args": ["{env:TOKEN}", "${userHome}"]}, StdioTarget("x", ("t-123456789", "/home/u"))),
    ({"command": "${CLAUDE_PROJECT_DIR}/x"}, StdioTarget("/w/proj/x")),
]


@pytest.mark.parametrize(("raw", "target"), ENTRIES)
def test_variables_of_editors_and_whole_command_lines_are_filled_in(raw: Any, target: Target) -> None:
    assert fill_variables(parse_server("x", raw, "user"), VALUES).target == target


NAMES: list[Any] = [
    reported("anomalyco/opencode#20174", "raw", {"prompts": [], "refuse": "prompts/list"}, "raw__echo"),
    pytest.param(
        "raw",
        {"resources": [], "refuse": "resources/list"},
        "raw__echo",
        marks=[
            pytest.mark.report("colbymchenry/codegraph#621"),
            pytest.mark.report("QwenLM/qwen-code#12496"),
        ],
    ),
    reported("eclipse-theia/theia#18027", "My server", {}, "My_server__echo"),
    reported("Zoo-Code-Org/Zoo-Code#1731", "my__server", {}, "my__server__echo"),
    reported(
        "dcloudio/uni-app-x-ai-rules#4",
        "raw",
        {"tools": [tool("echo"), tool("Query all components")]},
        "raw__Query_all_components",
    ),
    ("io.github/x y", {}, "io_github_x_y__echo"),
]


@pytest.mark.parametrize(("server", "plan", "name"), NAMES)
async def test_a_server_with_tools_is_used_whatever_its_name_and_its_other_lists(
    tmp_path: Path, server: str, plan: dict[str, Any], name: str
) -> None:
    user_file(tmp_path / "state", **{server: raw_server(tmp_path / "plans", "raw", **plan)})
    async with running(tmp_path, [tool_call(name), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert str(rig.results()[0].content).endswith(" {}")
