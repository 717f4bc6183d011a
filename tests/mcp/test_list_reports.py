"""Lists, schemas, names and results of MCP servers in public reports, each in its smallest form."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.names import tool_name
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import echoed, running, servers_of
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


def named(*names: str) -> list[dict[str, Any]]:
    return [tool(name) for name in names]


LISTS: list[Any] = [
    reported("github/copilot-cli#4006", {"tools": named("a", "b"), "cursors": ["AQICAHj+/="]}, "b"),
    reported("AltimateAI/altimate-code#986", {"tools": named("a", "b", "c"), "cursors": ["1", "2"]}, "c"),
    reported("anthropics/claude-ai-mcp#87", {"tools": named(*(f"t{n}" for n in range(21))), "page": 15}, "t20"),
    reported("anomalyco/opencode#49464",
        {"tools": [tool("a", schema={"type": "object", "properties": {"raw": True}}), tool("b")]}, "b"),
    reported("anthropics/claude-code#92900",
        {"tools": [tool("a", schema={"type": "object", "properties": {"p": True, "q": False}}), tool("b")]}, "a"),
    reported("NousResearch/hermes-agent#101669",
        {"tools": [*named("b"), tool("a", schema={"type": "object", "properties": {"refresh": True}})]}, "a"),
    reported("inxm-ai/inxm-local#20",
        {"tools": [tool("a", schema={"type": "object",
            "properties": {"v": {"type": ["string", "number", "boolean"]}}})]}, "a"),
    reported("baruchiro/paperless-mcp#138",
        {"tools": [tool("a", schema={"type": "object", "properties": {"c": {"type": ["number", "null"]}}})]}, "a"),
    reported("nolabs-ai/deepfabric#559",
        {"tools": [tool("a", schema={"type": "object", "properties": {"c": {"type": ["string", "null"]}}})]}, "a"),
    reported("modelcontextprotocol/servers#3051",
        {"tools": [tool("a", schema={"$schema": "http://json-schema.org/draft-07/schema#"})]}, "a"),
    reported("php-mcp/laravel#22", {"noise": ["   INFO  Starting MCP server with STDIO transport."],
        "tools": named("a")}, "a"),
    reported("editor-code-assistant/eca#298", {"before": "Service initialized\n", "tools": named("a")}, "a"),
    reported("Aas-ee/open-webSearch#23", {"noise": ["\U0001f680 Starting…", "\U0001f310"], "tools": named("a")}, "a"),
    reported("OpenCoworkAI/open-cowork#200", {"tools": named("my.tool", "ns:action")}, "ns:action"),
    reported("backstage/backstage#34634", {"tools": named("catalog.get-catalog-entity")}, "catalog.get-catalog-entity"),
    reported("sourcebot-dev/sourcebot#1423", {"tools": named("catalog.query", "catalog_query")}, "catalog_query"),
    reported("rsclarke/mcp-taskfile-server#35", {"tools": named("build:dev", "build_dev", "build/dev")}, "build/dev"),
    reported("ayunis-core/ayunis-core#973", {"tools": named("x" * 70 + ".a", "x" * 70 + "_a")}, "x" * 70 + "_a"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "wanted"), LISTS)
async def test_each_tool_of_a_list_is_offered_and_called_by_its_own_name(
    tmp_path: Path, plan: dict[str, Any], wanted: str
) -> None:
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", log=str(log), **plan))
    names: list[str] = []
    for item in sorted(plan["tools"], key=lambda it: str(it["name"])):
        names.append(tool_name("raw", item["name"], names))
    place = sorted(item["name"] for item in plan["tools"]).index(wanted)
    async with running(tmp_path, [tool_call(names[place]), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        assert {it.tool.name for it in servers_of(talk).list_offered()} == set(names)
        assert all(len(name) <= 64 for name in names)
    assert [it["params"]["name"] for it in sent(log) if it.get("method") == "tools/call"] == [wanted]


@pytest.mark.report("agentscope-ai/agentscope#2765")  # fmt: skip
async def test_a_filter_finds_a_tool_on_a_later_page(tmp_path: Path) -> None:
    entry = raw_server(tmp_path / "plans", "raw", tools=named("first", "second"), cursors=["2"])
    user_file(tmp_path / "state", raw={**entry, "enabledTools": ["second"]})
    async with running(tmp_path, [text("Hello.")]) as rig:
        talk = await rig.talk("full", say="go")
        assert [it.tool.name for it in servers_of(talk).list_offered()] == ["raw__second"]


@pytest.mark.report("agentscope-ai/QwenPaw#6561")  # fmt: skip
def test_names_of_servers_without_letters_are_different_and_begin_with_a_letter() -> None:
    taken: list[str] = []
    for server in ("123MCP", "-MCP", "MCP", "...", "@", "阿里巴巴"):
        taken.append(tool_name(server, "t", taken))
    assert len(set(taken)) == 6 and all(it[0].isalpha() and it.isascii() for it in taken)


LINK = {"type": "resource_link", "uri": "file:///out/report.pdf", "name": "report.pdf", "title": "Report",
    "description": "the quarter", "mimeType": "application/pdf", "size": 12}  # fmt: skip
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01").decode()
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
RESULTS: list[Any] = [
    reported("openai/codex#33404", {"content": [{"type": "text", "text": "1 found"}, LINK], "structuredContent": {}},
        ["1 found", "file:///out/report.pdf"], []),
    reported("stacklok/mecatl#223", {"content": [LINK]}, ["report.pdf", "the quarter", "application/pdf"], []),
    reported("agno-agi/agno#10010", {"content": [LINK]}, ["file:///out/report.pdf", "the quarter"], []),
    reported("anthropics/claude-code#58330", {"content": [{"type": "image", "data": SVG, "mimeType": "image/svg+xml"}]},
        ["svg"], []),
    reported("anthropics/claude-code#28279", {"content": [{"type": "text", "text": "drawn"},
        {"type": "image", "data": SVG, "mimeType": "image/svg+xml"}]}, ["drawn"], []),
    reported("microsoft/vscode#311732", {"content": [{"type": "image", "data": JPEG, "mimeType": "image/png"}]},
        [], ["image/jpeg"]),
]  # fmt: skip


@pytest.mark.parametrize(("result", "words", "images"), RESULTS)
async def test_links_and_images_of_a_result_do_no_harm(
    tmp_path: Path, result: dict[str, Any], words: list[str], images: list[str]
) -> None:
    got = await echoed(tmp_path, calls={"echo": {"result": result}})
    assert not got.is_error and all(word in str(got.content) for word in words), got
    assert [it.media_type for it in got.images] == images


@pytest.mark.report("browseros-ai/BrowserOS#1005")  # fmt: skip
async def test_notices_of_changes_that_never_end_do_not_list_the_tools_all_the_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = {"log": str(log), "calls": {"echo": {"do": "change", "times": 300}}}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    calls: list[Piece] = [tool_call("raw__echo"), tool_call("raw__echo"), text("done")]
    async with running(tmp_path, calls) as rig:
        await rig.talk("full", say="go")
        assert [it.is_error for it in rig.results()] == [False, False]
    assert [it.get("method") for it in sent(log)].count("tools/list") <= 8


@pytest.mark.report("maximhq/bifrost#6885")  # fmt: skip
@pytest.mark.report("anthropics/claude-code#13646")  # fmt: skip
@pytest.mark.report("aaif-goose/goose#10433")
async def test_a_changed_description_and_a_new_tool_reach_the_model(tmp_path: Path) -> None:
    entry = raw_server(tmp_path / "plans", "raw", calls={"echo": {"do": "change"}})
    user_file(tmp_path / "state", raw=entry)
    path = tmp_path / "plans/raw.json"
    async with running(tmp_path, [tool_call("raw__echo"), text("One."), text("Two.")]) as rig:
        talk = await rig.talk("full")
        plan = json.loads(path.read_text())
        new = [tool("echo", "Says it in new words."), tool("more")]
        path.with_suffix(".x").write_text(json.dumps({**plan, "tools": new}))
        path.with_suffix(".x").replace(path)
        await talk.say("go")
        await talk.say("again")
        descriptions = {it.name: it.description for it in rig.model.requests[-1].tools}
        assert "new words" in descriptions["raw__echo"] and "raw__more" in descriptions
