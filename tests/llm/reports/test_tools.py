"""Reports of users about names and schemas of tools that a service refuses, on every wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.mcp.schemas import provider_schema
from tests.llm.providers.test_chat_stream import call, chunk
from tests.llm.reports.chat import answer
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, body_of
from tests.support.reports import reported

TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}


def declared(**properties: Any) -> dict[str, Any]:
    """Return how a tool of an MCP server with these parameters is declared to Gemini."""
    schema = provider_schema({"type": "object", "properties": properties})
    request = Request("gemini-4-argon", (user("hi"),), tools=(ToolDefinition("f", "", schema),))
    body = body_of(GEMINI.encode(request, stream=True))
    found: dict[str, Any] = body["tools"][0]["functionDeclarations"][0]
    return found


def refused(node: dict[str, Any], place: str = "parameters") -> Iterator[str]:
    """Yield what the service refuses in a schema of its own form, according to the reports."""
    if "anyOf" in node:
        for at, one in enumerate(node["anyOf"]):
            yield from refused(one, f"{place}.any_of[{at}]")
        return
    if node.get("type") not in TYPES:
        yield f"{place}.type"
    if node.get("type") == "OBJECT" and not node.get("properties"):
        yield f"{place}.properties: should be non-empty"
    if "enum" in node and (
        node["type"] != "STRING" or not all(isinstance(it, str) and it for it in node["enum"])
    ):
        yield f"{place}.enum"
    for name, inner in node.get("properties", {}).items():
        yield from refused(inner, f"{place}.{name}")
    if "items" in node:
        yield from refused(node["items"], f"{place}.items")


SCHEMAS: list[Any] = [
    reported(
        "agno-agi/agno#3298", {"anyOf": [{"type": "string"}, {"const": 1}, {}]}, id="branches without type"
    ),
    reported("zed-industries/zed#44875", {"type": ["string", "number", "null"]}, id="list of types"),
    reported("MarkusPfundstein/mcp-obsidian#21", {"type": "object"}, id="object without properties"),
    reported(
        "sbroenne/mcp-server-excel#607", {"type": "string", "enum": ["list", "open", ""]}, id="empty value"
    ),
    reported("microsoft/azure-devops-mcp#139", {"type": "integer", "enum": [0, 2, 4]}, id="numbers"),
    reported(
        "browser-use/browser-use#7",
        {"type": "object", "properties": {"go_back": {"type": "object", "properties": {}}}},
        id="empty object inside",
    ),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_schema_has_what_gemini_refuses(schema: dict[str, Any]) -> None:
    found = declared(value=schema, other={"type": "string"})
    assert "parametersJsonSchema" in found or not list(refused(found["parameters"]))


LONG = "x" * 300
NAMES: list[Any] = [
    reported("anthropics/claude-code#7370", LONG, id="long"),
    reported("strands-agents/harness-sdk#1069", "invalid tool", id="blank"),
    pytest.param("", id="empty"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_old_calls_are_accepted_on_every_wire(name: str) -> None:
    messages = (
        user("a"),
        Message(Role.ASSISTANT, (ToolCallPart("c1", name, "{}"),)),
        tool_results([ToolResultPart("c1", name, "Unknown tool", is_error=True)]),
    )
    request = Request("m", messages, tools=(ToolDefinition("f", "", {"type": "object"}),))
    sent = [
        body_of(ANTHROPIC.encode(request, stream=True))["messages"][1]["content"][0]["name"],
        next(it for it in body_of(OPENAI.encode(request, stream=True))["input"] if it.get("call_id"))["name"],
        body_of(CHAT.encode(request, stream=True))["messages"][1]["tool_calls"][0]["function"]["name"],
        body_of(GEMINI.encode(request, stream=True))["contents"][1]["parts"][0]["functionCall"]["name"],
    ]
    assert all(0 < len(one) <= 64 and " " not in one for one in sent), sent


@pytest.mark.report("earendil-works/pi#3108")
def test_a_call_without_a_name_is_dropped_with_a_warning() -> None:
    response = answer(chunk({"content": "Hi"}), chunk(call(0, "c", "", "{}")), chunk(finish="tool_calls"))
    assert not response.tool_calls and response.warnings and response.text == "Hi"


@pytest.mark.report("SAIL-Research-Lab/cheetahclaws#57")
def test_results_without_their_call_are_not_sent_to_chat_servers() -> None:
    orphan = tool_results([ToolResultPart("c9", "f", "x")])
    sent = body_of(CHAT.encode(Request("m", (user("a"), orphan, user("b"))), stream=True))["messages"]
    roles = [message["role"] for message in sent]
    assert all(roles[at - 1] in ("assistant", "tool") for at, role in enumerate(roles) if role == "tool")
