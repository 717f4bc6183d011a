"""Results and transports of MCP servers in public reports, each in its smallest form."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import echoed, running
from tests.support.fake_provider import text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

LINK = {
    "type": "resource_link", "uri": "reports://quarterly/q3", "name": "q3", "title": "Third quarter",
    "description": "Revenue by country", "mimeType": "application/pdf",
}  # fmt: skip
FILE = {
    "uri": "/Services/Check.cs",
    "mimeType": "text/plain",
    "blob": base64.b64encode(b"class Check {}").decode(),
}
RESULTS: list[Any] = [
    reported("langchain-ai/langchain-mcp-adapters#619",
        {"content": [], "structuredContent": {"code": "RATE_LIMITED", "retry_after": 30}, "isError": True},
        ["RATE_LIMITED", "30"], True),
    reported("HexSleeves/tailscale-mcp#101",
        {"content": [{"type": "text", "text": "needs the admin role"}], "structuredContent": {"error": {"code": 403}},
            "isError": True},
        ["needs the admin role", "403"], True),
    reported("NousResearch/hermes-agent#101330",
        {"content": [{"type": "text", "text": "not built"}], "structuredContent": {"output": "a.c:121: error"},
            "isError": True}, ["not built", "a.c:121: error"], True),
    reported("agno-agi/agno#10009",
        {"content": [{"type": "text", "text": "Found:"}, LINK], "structuredContent": {"count": 1}},
        ["Found:", "reports://quarterly/q3", "q3", "Revenue by country", '"count": 1'], False),
    reported("danny-avila/LibreChat#15601", {"content": [{"type": "resource", "resource": FILE}]}, ["class Check {}"],
        False),
    reported("open-webui/open-webui#25249", {"content": [{"type": "resource", "resource": {"uri": "doc://a/b"}}]},
        ["doc://a/b"], False),
    reported("NousResearch/hermes-agent#47081",
        {"content": [{"type": "audio", "data": "QUJD" * 500, "mimeType": "audio/ogg"},
            {"type": "hologram", "data": "QUJD" * 500, "note": "seen"}]}, ["audio/ogg", "hologram", "seen"], False),
]  # fmt: skip


@pytest.mark.parametrize(("result", "words", "is_error"), RESULTS)
async def test_what_a_result_has_reaches_the_model(
    tmp_path: Path, result: dict[str, Any], words: list[str], is_error: bool
) -> None:
    found = await echoed(tmp_path, calls={"echo": {"result": result}})
    assert all(word in str(found.content) for word in words) and found.is_error is is_error
    assert "QUJDQUJD" not in str(found.content)


@pytest.mark.report("modelcontextprotocol/php-sdk#295")  # fmt: skip
async def test_an_empty_stream_may_answer_a_notification(tmp_path: Path) -> None:
    with odd_server(Oddities(of_notice=(202, b""), notice_kind="text/event-stream")) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1"]


@pytest.mark.report("esengine/DeepSeek-Reasonix#7525")
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
async def test_messages_with_headers_are_read(tmp_path: Path, end: str) -> None:
    assert (await echoed(tmp_path, is_framed=True, line_end=end)).content == "echo {}"


@pytest.mark.report("softwaremill/sttp-ai#520")
async def test_a_tool_that_is_listed_again_hides_no_later_one(tmp_path: Path) -> None:
    tools = [tool("more"), tool("more", _meta={"a": 1}), tool("more", _meta={"a": 2}), tool("echo")]
    assert (await echoed(tmp_path, tools=tools, page=1)).content == "echo {}"


@pytest.mark.report("ChromeDevTools/chrome-devtools-mcp#2476")
async def test_a_call_that_asks_for_the_folders_gets_them(tmp_path: Path) -> None:
    found = await echoed(tmp_path, calls={"echo": {"do": "ask", "method": "roots/list"}})
    assert (tmp_path / "project").as_uri() in str(found.content)


@pytest.mark.report("ggg123124/vrchat-assistant#37")
async def test_a_server_need_not_answer_pings(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert (await echoed(tmp_path, log=str(log))).content == "echo {}"
    assert "ping" not in [message.get("method") for message in sent(log)]


@pytest.mark.report("BaseIntelligence/bounty-challenge#4400")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", '{\n  "level": "info"\n}\n', "{\n", "log\n}\n"])
async def test_messages_on_several_lines_are_read(tmp_path: Path, before: str, line_end: str) -> None:
    assert (await echoed(tmp_path, indent=2, before=before, line_end=line_end)).content == "echo {}"


FAILED = {"code": -32000, "message": "the database is away"}


async def test_a_failure_with_the_code_of_a_lost_connection_is_named_and_the_connection_stays(
    tmp_path: Path,
) -> None:
    passed_on = {"code": -32000, "message": "Connection closed"}
    errors = {"echo": FAILED, "more": {**FAILED, "data": "at 10:00"}, "last": passed_on}
    calls = {name: {"error": error} for name, error in errors.items()}
    tools = [tool(name) for name in (*errors, "other")]
    starts = tmp_path / "starts"
    raw = raw_server(tmp_path / "plans", "raw", tools=tools, calls=calls, starts=str(starts))
    odd = Oddities(lost=500, lost_body=json.dumps({"jsonrpc": "2.0", "id": None, "error": FAILED}).encode())
    with odd_server(odd) as url:
        user_file(tmp_path / "state", raw=raw, odd={"url": url})
        named = ("raw__echo", "raw__more", "raw__last", "raw__other", "odd__echo", "odd__echo")
        async with running(tmp_path, [*map(tool_call, named), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            said = [str(it.content) for it in rig.results()]
    assert all("the database is away" in said[at] for at in (0, 1, 5)) and "at 10:00" in said[1], said
    assert said[3:5] == ["other {}", "called 1"] and len(starts.read_text().split()) == 1


NOISE = [
    '{"level": "info", "msg": "client initialized", "time": "2026-04-17"}',
    '{"level": "error", "error": "x", "id": 7}',
    '{"jsonrpc": "2.0"}',
    "[1, 2]",
    "null",
]


@pytest.mark.report("kud/mcp-jenkins#6")
async def test_lines_of_json_that_are_no_messages_are_no_fault(tmp_path: Path) -> None:
    assert (await echoed(tmp_path, before="\n".join([*NOISE, ""]))).content == "echo {}"


@pytest.mark.report("ThinkInAIXYZ/go-mcp#170")
async def test_an_empty_cursor_and_flags_of_required_properties_hide_no_tool(tmp_path: Path) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string", "required": True}}}
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "inner": inner}}
    found = await echoed(tmp_path, tools=[tool("echo", schema=schema)], cursor="")
    assert found.content == "echo {}"


@pytest.mark.report("modelcontextprotocol/python-sdk#192")
async def test_ids_as_texts_and_notices_before_answers_stop_no_call(tmp_path: Path) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}
    assert (await echoed(tmp_path, ids="text", before=f"{json.dumps(notice)}\n")).content == "echo {}"
