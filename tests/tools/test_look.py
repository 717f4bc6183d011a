"""How clients show the calls of each tool: every built-in tool says it, and ACP clients get it."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.acp.client import ClientFacts
from agent_ls.acp.updates import UpdateMapper
from agent_ls.features.packs.catalog import PACKS
from agent_ls.features.packs.load import pack_tools
from agent_ls.loop.events import codec
from agent_ls.loop.events.types import Envelope, ToolCallEnd, ToolCallStart
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool
from agent_ls.tools.cli_tool import CliTool, cli_tool

EVERY = ProfileOptions(plan=True, ask_user=True, think=True, submit=True, subagents=True)


def tools() -> dict[str, Tool[Any]]:
    found: dict[str, Tool[Any]] = {}
    for family in ("anthropic", "openai", "gemini", "compatible"):
        registry = create_profile(family, "any", options=EVERY).registry
        found |= {f"{family}-{name}": tool for name in registry.names() if (tool := registry.lookup(name))}
    for pack in PACKS:
        for each in pack_tools(pack):
            made = each.definition
            found[f"{pack}-{each.name}"] = (
                cli_tool(made, lambda name: None) if isinstance(made, CliTool) else made
            )
    return found


def test_every_builtin_tool_and_every_tool_of_a_pack_has_verbs() -> None:
    assert [name for name, tool in tools().items() if not (tool.look.doing and tool.look.done)] == []


def test_only_tools_that_write_look_like_changes() -> None:
    changing = ("edit", "move", "delete")
    wrong = [
        name for name, tool in tools().items() if tool.look.kind in changing and tool.category != "write"
    ]

    assert wrong == []


def announced(name: str, tool: Tool[Any] | None) -> tuple[str, str, str]:
    """Return kind and title of a call in ACP, and its title after it has ended."""
    mapper = UpdateMapper("s", lambda name: name, ClientFacts())
    look = (tool.look.kind, tool.look.doing, tool.look.done) if tool else ()
    (begun,) = mapper.announce(ToolCallStart("c", 0, name, "{}", "a.py", *look))
    end = ToolCallEnd("c", name, "", "", False, "", 1, 0)
    (ended,) = mapper.feed(Envelope("s", 2, "2026-01-02T03:04:05.678Z", end))
    return begun["kind"], begun["title"], str(ended.get("title", ""))


@pytest.mark.parametrize(
    ("name", "kind", "title", "after"),
    [
        ("files-delete_file", "delete", "Deleting a.py", "Deleted a.py"),
        ("files-move_file", "move", "Moving a.py", "Moved a.py"),
        ("compatible-edit_file", "edit", "Editing a.py", "Edited a.py"),
        ("compatible-shell", "execute", "a.py", "a.py"),
    ],
)
def test_an_acp_client_gets_kind_and_words_of_a_call(name: str, kind: str, title: str, after: str) -> None:
    found = {key.partition("-")[2]: tool for key, tool in tools().items()}

    assert announced(name, found[name.partition("-")[2]]) == (kind, title, after)


def test_a_call_of_a_tool_without_a_look_has_its_summary_as_title() -> None:
    assert announced("deploy", None) == ("other", "a.py", "a.py")


def test_an_event_of_an_older_log_has_no_verbs() -> None:
    line = (
        b'{"sessionId":"s","seq":1,"kind":"tool_call_start","timestamp":"2026-01-02T03:04:05.678Z","turnId":"t",'
        b'"data":{"callId":"c","index":0,"name":"read_file","arguments":"{}","summary":"a.py"}}'
    )
    envelope = codec.decode(line)
    assert envelope
    event = envelope.event

    assert isinstance(event, ToolCallStart) and (event.look, event.doing, event.done) == ("other", "", "")
