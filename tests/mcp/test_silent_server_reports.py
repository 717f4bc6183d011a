"""Public reports of MCP servers: schemas of results, long lines, dying and silent servers."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import echoed, running, servers_of
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

NODE = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}}}
SCHEMAS: list[Any] = [
    reported("anthropics/claude-code#77106",
        {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}}),
    {"type": "object", "properties": {"root": {"$ref": "#/$defs/None"}}},
    {"$ref": "#"},
    {"$ref": "#/$defs/Node", "$defs": {"Node": {"$ref": "#/$defs/Node"}}},
    {"type": "object", "properties": {"root": {"$ref": "https://127.0.0.1:9/schema.json"}}},
    {"type": "array"},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_an_odd_schema_of_results_loses_neither_the_tools_nor_the_result(
    tmp_path: Path, schema: dict[str, Any]
) -> None:
    result = {"content": [], "structuredContent": {"root": {"value": 7, "next": {"value": 8}}}}
    found = await echoed(
        tmp_path, tools=[tool("echo", outputSchema=schema), tool("other")], calls={"echo": {"result": result}}
    )
    assert '"value": 8' in str(found.content) and not found.is_error


@pytest.mark.parametrize(("size", "id_last"), [(12 << 20, False), (20 << 20, False), (20 << 20, True)])
@pytest.mark.report("Consiliency/pmcp#82")
async def test_a_result_of_many_megabytes_in_a_line_ends_no_server(
    tmp_path: Path, size: int, id_last: bool
) -> None:
    starts = tmp_path / "starts"
    plan: dict[str, Any] = {"calls": {"big": {"do": "flood", "size": size}}, "starts": str(starts)}
    plan = raw_server(tmp_path / "plans", "raw", tools=[tool("big"), tool("echo")], id_last=id_last, **plan)
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__big"), tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk("full", say="go")
        big, small = rig.results()
        assert len(str(big.content)) < 200_000 and small.content == "echo {}"
    assert len(starts.read_text().split()) == 1


async def test_a_server_that_closes_its_output_and_goes_on_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    plan: dict[str, Any] = {"calls": {"close": {"do": "close"}}, "starts": str(starts)}
    plan = raw_server(tmp_path / "plans", "raw", tools=[tool("close"), tool("echo")], **plan)
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__close"), tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk("full", say="go")
        assert [it.is_error for it in rig.results()] == [True, False]
    assert len(starts.read_text().split()) == 2


@pytest.mark.report("launchdarkly/mcp-server#82")
@pytest.mark.parametrize("code", [0, 1])
async def test_a_program_that_prints_its_usage_and_ends_is_quoted(tmp_path: Path, code: int) -> None:
    noise = ["USAGE", "  mcp start", "", "FLAGS", *(f"  --flag-{n}" for n in range(30))]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", exit=code, noise=noise))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        server = servers_of(talk).server("raw")
        assert server and server.state == "restarting"
        assert "mcp start" in server.error, server.error


@pytest.mark.report("NousResearch/hermes-agent#88661")
async def test_a_call_that_ran_into_its_limit_leaves_the_server_and_its_tools(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    calls = {"wait": {"do": "hang"}}
    plan = raw_server(
        tmp_path / "plans", "raw", tools=[tool("wait"), tool("echo")], calls=calls, starts=str(starts)
    )
    user_file(tmp_path / "state", raw={**plan, "timeoutMs": 300})
    script: list[Any] = [tool_call("raw__wait"), tool_call("raw__echo", id="c2"), text("done"), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", say="go")
        limited, echo = rig.results()
        assert limited.is_error and echo.content == "echo {}"
        await talk.say("and now")
        assert [it.name for it in rig.model.requests[-1].tools] == [
            it.name for it in rig.model.requests[0].tools
        ]
    assert len(starts.read_text().split()) == 1


@pytest.mark.report("strands-agents/harness-sdk#4403")
async def test_a_call_by_http_without_an_answer_ends_when_the_user_stops(tmp_path: Path) -> None:
    odd = Oddities(hangs="tools/call")
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        script: list[Piece] = [tool_call("odd__echo"), text("done")]
        async with running(tmp_path, script) as rig:
            talk = await rig.talk("full")
            talk.live.session.submit("go")
            with anyio.fail_after(240):
                while "tools/call" not in odd.made:
                    await anyio.lowlevel.checkpoint()
                talk.live.session.interrupt()
                await talk.until("processing_end")
            odd.hangs = ""
            odd.ended.set()
            await talk.say("again")
            assert [it.is_error for it in rig.results()] == [True]


BYTES = b"%PDF-1.7\n\xff\xfe\0"
BLOBS: list[Any] = [
    reported("langchain-ai/langchain#40186", BYTES, ["report:///1"]),
    (b"plain words", ["report:///1"]),
    (b"", []),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), BLOBS)
async def test_a_file_without_a_type_fails_no_call(tmp_path: Path, data: bytes, words: list[str]) -> None:
    resource = {"uri": "report:///1", "blob": base64.b64encode(data).decode()}
    content = [{"type": "text", "text": "one file"}, {"type": "resource", "resource": resource}]
    found = await echoed(tmp_path, calls={"echo": {"content": content}})
    assert not found.is_error and all(word in str(found.content) for word in ["one file", *words])


@pytest.mark.report("MoonshotAI/kimi-code#1991")
async def test_two_calls_at_once_start_a_dead_server_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    plan = raw_server(
        tmp_path / "plans",
        "raw",
        tools=[tool("die"), tool("echo")],
        calls={"die": {"do": "killed"}},
        starts=str(starts),
    )
    user_file(tmp_path / "state", raw=plan)
    both = [tool_call("raw__echo", id=f"c{n}") for n in range(4)]
    script: list[Any] = [
        tool_call("raw__die"),
        both,
        [tool_call("raw__die", id="d2"), *both],
        both,
        text("done"),
    ]
    async with running(tmp_path, script) as rig:
        await rig.talk("full", say="go")
        results = rig.results()
        assert [it.content for it in results[1:5]] == [it.content for it in results[-4:]] == ["echo {}"] * 4
    assert len(starts.read_text().split()) == 3


@pytest.mark.report("radareorg/radare2-mcp#68")
async def test_a_server_whose_answers_belong_to_no_request_is_named_and_the_others_work(
    tmp_path: Path,
) -> None:
    zero, other = (raw_server(tmp_path / "plans", name, ids=name) for name in ("zero", "own"))
    user_file(tmp_path / "state", zero=zero, other=other)
    async with running(tmp_path, [tool_call("other__echo"), text("done")], startTimeoutMs=4_000) as rig:
        talk = await rig.talk("full", say="go")
        server = servers_of(talk).server("zero")
        assert server and server.state != "running" and "did not answer" in server.error
        assert [it.content for it in rig.results()] == ["echo {}"]


@pytest.mark.report("GEMISIS/leviath#830")
async def test_a_late_answer_is_none_of_the_next_call(tmp_path: Path) -> None:
    tools, calls = [tool("late"), tool("echo")], {"late": {"do": "late", "text": "too late"}}
    plan = raw_server(tmp_path / "plans", "raw", tools=tools, calls=calls)
    user_file(tmp_path / "state", raw={**plan, "timeoutMs": 400})
    script: list[Any] = [
        tool_call("raw__late"),
        *(tool_call("raw__echo", id=it) for it in ("c2", "c3")),
        text("done"),
    ]
    async with running(tmp_path, script) as rig:
        await rig.talk("full", say="go")
        late, *rest = rig.results()
        assert late.is_error and [it.content for it in rest] == ["echo {}", "echo {}"]
