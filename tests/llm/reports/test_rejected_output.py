"""Reports of users about servers that refuse what their own model wrote, with the answer in the error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.providers.base import ReplyHead
from tests.llm.reports.chat import ASK, codec
from tests.llm.test_end_to_end import ask, connected, failure, streamed
from tests.support.loopback import ChatServer, ErrorReply
from tests.support.reports import reported

# the text of an error of a server that could not read what its model wrote, and the calls or the text in it
RESCUED: list[Any] = [
    reported(
        "huggingface/smolagents#1119",
        400,
        {"failed_generation": 'read_file{"path": "a.py"}</function>', "code": "tool_use_failed"},
        [("read_file", {"path": "a.py"})],
        "",
        id="name and arguments",
    ),
    reported(
        "tashfeenahmed/freellmapi#264",
        400,
        {"failed_generation": '<function=read_file={"path": "a.py"}</function>', "code": "tool_use_failed"},
        [("read_file", {"path": "a.py"})],
        "",
        id="function tag",
    ),
    reported(
        "groq/groq-typescript#28",
        400,
        {
            "failed_generation": '```\n{"tool_calls": [{"name": "read_file", "parameters": {"path": "a.py"}}]}\n```',
            "code": "tool_use_failed",
        },
        [("read_file", {"path": "a.py"})],
        "",
        id="fence",
    ),
    reported(
        "agno-agi/agno#4090",
        400,
        {"failed_generation": "### Top stories\nOne.", "code": "tool_use_failed"},
        [],
        "### Top stories\nOne.",
        id="text",
    ),
    reported(
        "ggml-org/llama.cpp#24644",
        500,
        {
            "message": "Failed to parse input at pos 1360: <tool_call>\n<function=read_file>\n<parameter=path>\na.py\n"
            "</parameter>\n</function>\n</tool_call>"
        },
        [("read_file", {"path": "a.py"})],
        "",
        id="llama.cpp",
    ),
    reported(
        "ggml-org/llama.cpp#20260",
        500,
        {
            "message": "Failed to parse input at pos 8: I look at it.\n"
            '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
        },
        [("read_file", {"path": "a.py"})],
        "",
        id="llama.cpp, text before",
    ),
]


@pytest.mark.req("P5")
@pytest.mark.parametrize(("status", "error", "calls", "text"), RESCUED)
async def test_an_answer_within_an_error_is_used(
    status: int, error: Any, calls: list[Any], text: str
) -> None:
    body = json.dumps({"error": {"message": "Failed to call a function.", **error}})
    async with connected(ChatServer, "openrouter", [ErrorReply(status, body)]) as (client, _):
        response = await streamed(client, ask("openrouter"))
    assert [(one.name, json.loads(one.arguments)) for one in response.tool_calls] == calls
    assert response.text == text


MALFORMED: list[Any] = [
    reported(
        "HunorLaczko/ha-groq-cloud-api#20",
        400,
        {
            "message": "tool call validation failed: parameters for tool ls did not match schema: errors: "
            "[`/domain`: expected array, but got string]",
            "type": "invalid_request_error",
            "code": "tool_use_failed",
        },
        id="Groq, schema",
    ),
    reported(
        "pwilkin/llama.cpp#5",
        500,
        {"message": "Failed to parse input at pos 491: <tool_call> <function=glob_search", "code": 500},
        id="llama.cpp",
    ),
    reported(
        "ollama/ollama#11781",
        500,
        {"message": "error parsing tool call: raw='{\"a\"', err=unexpected end of JSON input"},
        id="Ollama",
    ),
]


@pytest.mark.parametrize(("status", "error"), MALFORMED)
async def test_a_call_that_the_server_could_not_read_is_tried_again(status: int, error: Any) -> None:
    body = json.dumps({"error": error})
    async with connected(ChatServer, "openrouter", [ErrorReply(status, body)]) as (client, _):
        failed = await failure(client, ask("openrouter"))
    assert failed.retryable and "toolCalls" in failed.hint


def test_a_rescued_answer_needs_an_error_that_has_one() -> None:
    assert codec().rescue(ASK, ReplyHead(400), b'{"error": {"message": "no"}}') is None
    assert codec().rescue(ASK, ReplyHead(502), b"<html>Bad Gateway</html>") is None
