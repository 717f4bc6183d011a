"""Many tools: the model searches for them, and the prompt prefix stays identical in all requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import ApprovalRequested
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import running, servers_of
from tests.support.fake_provider import Piece, text, tool_call

pytestmark = pytest.mark.req("T11")

SERVERS, TOOLS = 30, 20


def many(number: int) -> list[dict[str, Any]]:
    long = "Does one of many things to rows of a table. " * 5
    return [tool(f"table_{number}_row_{it}", f"{long}It is number {it}.") for it in range(TOOLS)]


def beginning(request: Any) -> str:
    """Return the part of a request that a provider caches: the tools and the system prompt."""
    tools = [[it.name, it.description, it.parameters] for it in request.tools]
    return json.dumps([tools, request.messages[0].text], sort_keys=True)


async def test_600_tools_of_30_servers_stay_within_the_budget_with_an_identical_prompt_prefix(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "plans"
    user_file(
        tmp_path / "state",
        **{f"s{it:02}": raw_server(folder, f"s{it:02}", tools=many(it)) for it in range(SERVERS)},
    )
    script: list[Piece] = [
        tool_call("find_tools", '{"query": "row 7 of table 12", "server": "s12"}'),
        tool_call("call_tool", '{"name": "s12__table_12_row_7", "arguments": {"text": "x"}}'),
        text("done"),
        text("done"),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="go")
        await talk.say("again")

        names = [it.name for it in rig.model.requests[0].tools]
        assert names[-2:] == ["find_tools", "call_tool"] and not [it for it in names if "__" in it]
        assert len({beginning(it) for it in rig.model.requests}) == 1
        servers = rig.model.requests[0].messages[0].text.split("# MCP servers")[1]
        assert servers.count("20 tools") == SERVERS and len(servers) < 4_000
        found, called = rig.results()
        assert "s12__table_12_row_7:" in str(found.content)
        assert called.content == 'table_12_row_7 {"text": "x"}'
        [asked] = talk.of(ApprovalRequested)
        assert (asked.effect["server"], asked.effect["title"]) == ("s12", "table_12_row_7")
        [made] = talk.live.servers.made if talk.live.servers else []
        once, again = made.list_offered(), made.list_offered()
        assert len(once) == 600 and all(it.tool is other.tool for it, other in zip(once, again, strict=True))


async def test_call_tool_returns_the_schema_for_invalid_arguments_and_similar_names_for_an_unknown_tool(
    tmp_path: Path,
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    plan = raw_server(tmp_path / "plans", "raw", tools=[tool("add_row", schema=schema)])
    user_file(tmp_path / "state", raw=plan)
    script: list[Piece] = [
        tool_call("call_tool", '{"name": "raw__add_row", "arguments": {}}'),
        tool_call("call_tool", '{"name": "raw__add_rows"}'),
        tool_call("find_tools", '{"query": "weather"}'),
        text("done"),
    ]
    async with running(tmp_path, script, deferAtPercent=0) as rig:
        await rig.talk("full", say="go")

        wrong, unknown, none = (str(it.content) for it in rig.results())
        assert "n is missing" in wrong and '"integer"' in wrong
        assert "raw__add_row?" in unknown
        assert none == "No tool matches. Try other words."


async def test_tools_within_the_context_budget_are_listed_in_the_request(tmp_path: Path) -> None:
    tools = [tool(f"t{it}") for it in range(40)]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    async with running(tmp_path, [text("done")], deferAtPercent=100) as rig:
        await rig.talk(say="go")

        assert sum(it.name.startswith("raw__") for it in rig.model.requests[0].tools) == 40


async def test_long_and_equal_tool_names_become_distinct_names_valid_for_every_provider(
    tmp_path: Path,
) -> None:
    long = "a_very_long_name_of_a_tool_" * 4
    names = [f"{long}{it}" for it in range(150)] + ["get.row", "get/row", "get row"]
    user_file(
        tmp_path / "state",
        **{"the server": raw_server(tmp_path / "plans", "x", tools=list(map(tool, names)))},
    )
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        given = [it.tool.name for it in servers_of(talk).list_offered()]
        # Names with a slash or a space may be left out, because the protocol does not allow them; no name is given
        # twice.
        assert len(given) == len(set(given)) >= 151
        assert all(
            it.startswith("the_server__") and len(it) <= 64 and it.replace("_", "a").isalnum() for it in given
        )
