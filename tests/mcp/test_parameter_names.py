"""Parameters of servers' tools have names that every provider accepts, and the server gets its own names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.requests import PARAMETER_NAME
from agent_ls.mcp.parameter_names import sent_names, with_own_names, with_sent_names
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import running
from tests.support.fake_provider import Piece, text, tool_call

pytestmark = pytest.mark.req("T11")


@pytest.mark.report("rootlyhq/rootly-mcp-server#15")
@pytest.mark.report("twilio-labs/mcp#55")
@pytest.mark.report("freee/freee-mcp#15")
@pytest.mark.report("anthropics/claude-code#92648")
def test_a_schema_has_names_that_every_provider_accepts() -> None:
    schema = {
        "type": "object",
        "properties": {
            "StartTime<": {"type": "string"},
            "StartTime>": {"type": "string", "description": "The end."},
            "StartTime_": {"type": "string"},
            "größe": True,
            "page.size": {"type": "integer"},
            "x" * 70: {"type": "integer"},
        },
        "required": ["StartTime>", "page.size"],
    }
    names = sent_names(schema)
    sent = with_sent_names(schema, names)
    assert list(sent["properties"]) == [
        "StartTime__2", "StartTime__3", "StartTime_", "gr__e", "page.size", "x" * 64,
    ]  # fmt: skip
    assert sent["required"] == ["StartTime__3", "page.size"]
    assert sent["properties"]["StartTime__3"]["description"] == "StartTime>: The end."
    given = {"StartTime__3": "now", "page.size": 3, "other": 1}
    assert with_own_names(given, names) == {"StartTime>": "now", "page.size": 3, "other": 1}


def test_a_schema_with_plain_names_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a-b": {}, "c_d.e": {}}}
    assert with_sent_names(schema, sent_names(schema)) is schema and with_own_names({"a-b": 1}, {}) == {
        "a-b": 1
    }


async def test_the_server_gets_its_own_names(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"filter[name]": {"type": "string"}},
        "required": ["filter[name]"],
    }
    user_file(
        tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=[tool("echo", schema=schema)])
    )
    script: list[Piece] = [tool_call("raw__echo", '{"filter_name_": "a"}'), text("done")]
    async with running(tmp_path, script) as rig:
        await (await rig.talk("full")).say("go")
        assert rig.results()[0].content == 'echo {"filter[name]": "a"}'


@given(st.lists(st.text(max_size=70), unique=True, max_size=9))
def test_each_name_is_sent_under_one_accepted_name_of_its_own(names: list[str]) -> None:
    schema = {"type": "object", "properties": {name: {} for name in names}}
    renamed = sent_names(schema)
    sent = list(with_sent_names(schema, renamed)["properties"])
    assert len(set(sent)) == len(names) and all(PARAMETER_NAME.fullmatch(name) for name in sent)
    values = dict(zip(sent, names, strict=True))
    assert with_own_names(values, renamed) == {name: name for name in names}
    assert not set(renamed) & set(sent)
