"""Arguments that models write in another form than the schema of a server's tool wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.argument_forms import in_wanted_form
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import running
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

TEXTS = {"type": "array", "items": {"type": "string"}}
CASES: list[Any] = [
    reported("punkpeye/mcp-remote#319", TEXTS, '["Purpose"]', ["Purpose"]),
    reported(
        "anthropics/claude-code#73137",
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "[1271, 2106]",
        [1271, 2106],
    ),
    reported(
        "github/copilot-cli#4301",
        {"anyOf": [TEXTS, {"type": "string"}, {"type": "null"}]},
        ["Top", "Child"],
        ["Top", "Child"],
    ),
    reported(
        "anomalyco/opencode#32812",
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        '{"a": "1"}',
        {"a": 1},
    ),
    reported("anthropics/claude-code#86459", {}, '["u1"]', '["u1"]'),
    reported("lmstudio-ai/lmstudio-bug-tracker#1644", {"type": "array"}, "[1, 2, 3]", [1, 2, 3]),
    pytest.param({"type": "object"}, "", {}, id="empty object"),
    pytest.param(TEXTS, " ", [], id="empty list"),
    pytest.param({"anyOf": [TEXTS, {"type": "string"}]}, '["Top"]', '["Top"]', id="a text is allowed"),
    pytest.param({"type": "integer"}, "5", 5, id="integer"),
    pytest.param({"type": "number"}, "1.5", 1.5, id="number"),
    pytest.param({"type": "number"}, "NaN", "NaN", id="no number of JSON"),
    pytest.param({"type": "boolean"}, "True", True, id="boolean of Python"),
    pytest.param({"type": "integer"}, "five", "five", id="no number"),
    pytest.param({"type": "array", "items": {"type": "object"}}, ['{"a":1}'], [{"a": 1}], id="inside"),
    pytest.param({"$ref": "#/$defs/Texts"}, '["x"]', ["x"], id="reference"),
    pytest.param({"$ref": "#/properties/other"}, '["x"]', '["x"]', id="unknown reference"),
    pytest.param(TEXTS, "Purpose", "Purpose", id="a bare text is not guessed"),
    pytest.param(TEXTS, "['a', \"b\"]", ["a", "b"], id="a list of Python"),
    pytest.param(
        {"type": "object"},
        "{'a': None, 'b': True, 'c': (1, 2)}",
        {"a": None, "b": True, "c": [1, 2]},
        id="a dict of Python",
    ),
    pytest.param(TEXTS, "[x for x in y]", "[x for x in y]", id="code is not run"),
    pytest.param({"type": "array"}, "[{1, 2}]", "[{1, 2}]", id="a set is nothing of JSON"),
    pytest.param({"type": "array", "items": {"type": "object"}}, {"a": 1}, [{"a": 1}], id="one object"),
    pytest.param(TEXTS, {"a": 1}, {"a": 1}, id="an object where texts are wanted"),
    pytest.param({"type": "array", "items": {"type": "integer"}}, '["x", 1]', ["x", 1], id="wrong within"),
    pytest.param(TEXTS, {"v": ["a"]}, ["a"], id="in an object of its own name"),
    pytest.param({"type": "object"}, {"v": ["a"]}, {"v": ["a"]}, id="an object is wanted"),
]


@pytest.mark.parametrize(("schema", "written", "read"), CASES)
def test_a_text_becomes_what_the_schema_wants_only_where_it_forbids_a_text(
    schema: Any, written: Any, read: Any
) -> None:
    whole = {"type": "object", "properties": {"v": schema}, "$defs": {"Texts": TEXTS}}
    assert in_wanted_form({"v": written, "w": "1"}, whole) == {"v": read, "w": "1"}


async def test_the_server_gets_the_list_and_not_its_text(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"v": TEXTS}}
    user_file(
        tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=[tool("echo", schema=schema)])
    )
    async with running(tmp_path, [tool_call("raw__echo", '{"v": "[\\"a\\"]"}'), text("done")]) as rig:
        await (await rig.talk("full")).say("go")
        assert rig.results()[0].content == 'echo {"v": ["a"]}'


OUTPUT = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
SAID = [{"type": "text", "text": "said"}]
RESULTS: list[Any] = [
    {"content": SAID, "isError": True, "structuredContent": {"error": "x"}},
    {"content": SAID},
    {"content": SAID, "structuredContent": {"wrong": 1}},
    {"content": SAID, "structuredContent": "deleted"},
    {"content": SAID, "structuredContent": [1, 2]},
    {"content": SAID, "_meta": []},
]


@pytest.mark.report("yamadashy/repomix#833")
@pytest.mark.report("cristianuibar/bricks-mcp#45")
@pytest.mark.report("cyanheads/obsidian-mcp-server#108")
@pytest.mark.report("agentmail-to/agentmail-toolkit#13")
async def test_a_result_that_does_not_match_its_declaration_is_read(tmp_path: Path) -> None:
    results = {f"t{number}": {"result": case} for number, case in enumerate(RESULTS)}
    tools = [tool(name, outputSchema=OUTPUT) for name in results]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools, calls=results))
    script: list[Piece] = [*(tool_call(f"raw__{name}") for name in results), text("done")]
    async with running(tmp_path, script) as rig:
        await (await rig.talk("full")).say("go")
        assert [str(it.content).startswith("said") for it in rig.results()] == [True] * len(RESULTS)
