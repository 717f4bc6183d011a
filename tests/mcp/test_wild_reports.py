"""More MCP servers of public reports: their handshakes, results, forms and lists, and connections that end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.elicitation import fields_of, value_of
from agent_ls.mcp.session import excluded_host
from agent_ls.mcp.session_errors import MAX_EXTENDED, RequestLimit
from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import change_plan, raw_server, tool, user_file
from tests.mcp.rig import running, servers_of
from tests.support.fake_provider import text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

INFO = {"name": "x", "version": "1"}


def handshake(**members: Any) -> dict[str, Any]:
    return {"protocolVersion": "2025-06-18", "serverInfo": INFO, **members}


@pytest.mark.parametrize(
    "answer",
    [
        reported(
            "springfall2008/batpred#3501",
            handshake(capabilities={"tools": [tool("echo")]}),
            id="list of tools",
        ),
        reported("DeusData/codebase-memory-mcp#1185", handshake(capabilities={}), id="nothing announced"),
        pytest.param(handshake(), id="no announcement"),
        reported("ian-cowley/MCPSqlServer#3", {"capabilities": {"tools": {}}}, id="no version and name"),
        reported(
            "anthropics/claude-code#79849",
            handshake(capabilities={"tools": {}, "completions": {}, "logging": {}}),
            id="more",
        ),
        pytest.param(
            handshake(
                capabilities={"tools": True, "prompts": None, "logging": "x"}, serverInfo={"name": "x"}
            ),
            id="other values",
        ),
    ],
)
async def test_the_tools_of_a_server_with_an_odd_handshake_are_called(
    tmp_path: Path, answer: dict[str, Any]
) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", initialized=answer))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert rig.results()[0].content == "echo {}"


async def test_a_server_that_announces_nothing_and_has_no_tools_runs(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"initialized": handshake(capabilities={}), "refuse": "tools/list"}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        server = servers_of(talk).server("raw")
        assert server and server.state == "running"


@pytest.mark.report("zed-industries/zed#57361")
async def test_a_result_is_asked_for_again_when_its_connection_ends(tmp_path: Path) -> None:
    odd = Oddities(form="sse", is_cut=True)
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert rig.results()[0].content == "called 1" and len(odd.calls) == 1


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
URL = f"data:image/png;base64,{PNG}"


def image(**members: Any) -> dict[str, Any]:
    return {"type": "image", **members}


def resource(**members: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": members}


BLOCKS: list[Any] = [
    reported("laurent22/joplin#16141", image(data=URL, mimeType="image/png"), "", 1),
    (image(data=URL), "", 1),
    (image(data=PNG, mimeType="application/octet-stream"), "", 1),
    (image(data=PNG), "", 1),
    reported("openai/openai-agents-js#1070", image(data=PNG, mediaType="image/png"), "", 1),
    (image(data=PNG, mime_type="image/png"), "", 1),
    reported("open-webui/open-webui#29665", {"type": "text", "text": URL}, "", 1),
    reported("NVIDIA-NeMo/DataDesigner#689", image(data="not-base64!!!", mimeType="image/png"), "not displayed", 0),
    reported("modelcontextprotocol/modelcontextprotocol#793", image(uri="https://cdn.example/a.png"),
        "https://cdn.example/a.png", 0),
    reported("baruchiro/paperless-mcp#87",
        resource(uri="15 Vendor Co._Mobile.pdf", mimeType="application/pdf", blob="JVBERi0="),
        "Vendor Co._Mobile.pdf", 0),
    reported("microsoft/azure-devops-mcp#1540", resource(uri="/package.json", mimeType="text/plain", blob="e30K"),
        "{}", 0),
    reported("anthropics/claude-code#93946",
        resource(uri="a:b", mimeType="application/pdf", blob="JVBERi0=", _meta=None), "a:b", 0),
]  # fmt: skip


async def test_images_and_files_of_any_form_reach_the_model(tmp_path: Path) -> None:
    cases = [param.values if hasattr(param, "values") else param for param in BLOCKS]
    calls = {f"t{number}": {"result": {"content": [block]}} for number, (block, _, _) in enumerate(cases)}
    plan: dict[str, Any] = {"tools": [tool(name) for name in calls], "calls": calls}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [*(tool_call(f"raw__{it}") for it in calls), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        for (_, said, images), result in zip(cases, rig.results(), strict=True):
            assert said in str(result.content) and PNG not in str(result.content)
            assert [it.media_type for it in result.images] == ["image/png"] * images


STATUS = {"Status": {"enum": ["todo", "done"], "type": "string"}}
TITLED = [{"const": "a", "title": "The a"}, {"const": "b", "title": "The b"}]


@pytest.mark.parametrize(
    ("field", "answers", "value"),
    [
        reported("spring-projects/spring-ai#4993", {"type": "integer", "format": "int32"}, ("7",), 7),
        reported(
            "modelcontextprotocol/go-sdk#791",
            {"type": "array", "items": {"anyOf": TITLED}},
            ("The a", "b"),
            ["a", "b"],
        ),
        reported("PrefectHQ/fastmcp#1632", {"$ref": "#/$defs/Status"}, ("done",), "done"),
        ({"allOf": [{"$ref": "#/$defs/Status"}], "default": "todo"}, ("done",), "done"),
        reported("PrefectHQ/fastmcp#2774", {"oneOf": TITLED}, ("The a",), "a"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, ("7",), 7),
        ({"type": ["number", "null"]}, ("7.5",), 7.5),
        ({"type": "integer", "enum": [1, 2]}, ("2",), 2),
    ],
)
def test_a_field_of_any_form_is_asked_for(
    field: dict[str, Any], answers: tuple[str, ...], value: Any
) -> None:
    [found] = fields_of({"type": "object", "properties": {"f": field}, "$defs": STATUS})
    assert value_of(found, answers) == value
    assert bool(found.choices) is any(word in str(field) for word in ("enum", "const", "$ref"))


@pytest.mark.report("github/copilot-cli#3125")
@pytest.mark.report("MoonshotAI/kimi-code#1138")
async def test_a_tool_that_a_call_adds_is_called_in_the_same_turn(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"tools": [tool("load")], "calls": {"load": {"do": "change"}}}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(
        tmp_path, [text("hello"), tool_call("raw__load"), tool_call("raw__extra"), text("done")]
    ) as rig:
        talk = await rig.talk("full")
        await talk.say("hello")
        change_plan(tmp_path / "plans" / "raw.json", {**plan, "tools": [tool("load"), tool("extra")]})
        await talk.say("go")
        assert [it.content for it in rig.results()] == ["load {}", "extra {}"]


@pytest.mark.report("anthropics/claude-code#470")
@pytest.mark.report("NousResearch/hermes-agent#94723")
async def test_progress_begins_the_time_limit_of_a_call_again_but_not_for_ever() -> None:
    with RequestLimit(1000) as limit:
        first = limit.deadline
        limit.extend(at=first - 10)
        assert limit.deadline == first + 990
        limit.extend(at=first + 1000 * MAX_EXTENDED)
        assert limit.deadline < first + 1000 * MAX_EXTENDED


@pytest.mark.report("anthropics/claude-code#85833")
@pytest.mark.parametrize("data", ["User(#19704) expected", {"reason": "User(#19704) expected"}])
async def test_the_reason_of_a_failure_reaches_the_model_wherever_it_is(tmp_path: Path, data: Any) -> None:
    error = {"code": -32603, "message": "Internal error", "data": data}
    plan = raw_server(tmp_path / "plans", "raw", calls={"echo": {"error": error}})
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert "19704" in str(rig.results()[0].content)


@pytest.mark.report("slopus/happy#1021")
@pytest.mark.report("anthropics/claude-code#23344")
@pytest.mark.parametrize("excluded", ["", "localhost,127.0.0.1"])
async def test_a_server_of_this_machine_is_not_asked_through_a_proxy(
    tmp_path: Path, excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        value = excluded if name == "NO_PROXY" else "http://127.0.0.1:9"
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    with odd_server(Oddities()) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert rig.results()[0].content == "called 1"


def test_a_network_in_no_proxy_is_reached_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "fd00::/8, 10.0.0.0/8")
    found = [*excluded_host("http://10.1.2.3:80/mcp"), *excluded_host("http://[fd00::5]/mcp")]
    assert found == ["all://10.1.2.3", "all://[fd00::5]"] and not excluded_host("http://mcp.example/mcp")


async def test_a_proxy_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    user_file(tmp_path / "state", odd={"url": "https://mcp.example/mcp"})
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk("full")
        await talk.say("go")
        server = servers_of(talk).server("odd")
        assert server and "ALL_PROXY" in server.error
