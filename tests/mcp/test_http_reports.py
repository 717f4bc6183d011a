"""MCP servers over HTTP that broke other clients, each in its smallest form."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import user_file
from tests.mcp.rig import running, until_state
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

ODD = {
    "get404": Oddities(of_get=404),
    "get400": Oddities(of_get=400),
    "notice200": Oddities(of_notice=(200, b"null")),
    "bare": Oddities(form="bare"),
    "crlf": Oddities(form="crlf"),
    "unfinished": Oddities(form="unfinished"),
    "noticed": Oddities(form="noticed"),
    "gzip": Oddities(form="gzip"),
    "bom": Oddities(form="bom"),
    "beating": Oddities(form="beating"),
    "empty": Oddities(form="empty"),
    "pinged": Oddities(form="pinged"),
    "primed": Oddities(form="primed"),
    "zero": Oddities(form="zero"),
    "batch": Oddities(form="batch"),
    "batched": Oddities(form="batched"),
    "listed": Oddities(form="listed"),
    "nulled": Oddities(form="nulled"),
    "charset": Oddities(kind="Application/JSON; charset=utf-8"),
    "slash": Oddities(path="/mcp/"),
    "get406": Oddities(of_get=406),
    "stateless": Oddities(is_stateless=True),
    "constant": Oddities(version="2025-03-26"),
    "get200": Oddities(of_get=200, get_kind="application/json"),
}


@pytest.mark.report("cap-js/mcp#36")
@pytest.mark.report("Zoo-Code-Org/Zoo-Code#1080")
@pytest.mark.report("akutishevsky/withings-mcp#21")
@pytest.mark.report("PhilflowIO/dav-mcp#31")
@pytest.mark.report("modelcontextprotocol/python-sdk#1146")
@pytest.mark.report("yjacquin/fast-mcp#38")
@pytest.mark.report("tontinton/maki#657")
@pytest.mark.report(
    "open-webui/open-webui#27795", "f/prompts.chat#1117", "modelcontextprotocol/typescript-sdk#1637"
)
@pytest.mark.report("metoro-io/mcp-golang#90", "punkpeye/mcp-remote#215", "masumi-network/Citadel#45")
@pytest.mark.report("punkpeye/mcp-remote#66", "XS-MLVP/UCAgent#127")
@pytest.mark.report("gensecaihq/Wazuh-MCP-Server#59")
@pytest.mark.report("koala73/worldmonitor#4781")
@pytest.mark.report("modelcontextprotocol/rust-sdk#791")
async def test_servers_whose_answers_have_oddities_are_understood(tmp_path: Path) -> None:
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in ODD.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        script: list[Piece] = [*(tool_call(f"{name}__echo") for name in ODD), text("done")]
        async with running(tmp_path, script) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1"] * len(ODD)
    assert (
        max(odd.gets for odd in ODD.values()) <= 2
    )  # a stream that there is not is not asked for again and again


RPC_ERROR = (
    b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null}'
)
LOST = {
    "plain": Oddities(lost=404),
    "rpc404": Oddities(lost=404, lost_body=RPC_ERROR),
    "rpc400": Oddities(lost=400, lost_body=RPC_ERROR),
    "empty": Oddities(lost=404, lost_body=b""),
    "text": Oddities(lost=404, lost_body=b"Session expired"),
    "rpc": Oddities(
        lost=404, lost_body=b'{"error":{"code":-32000,"message":"Unknown Mcp-Session-Id header"}}'
    ),
    "coded": Oddities(lost=404, lost_body=b'{"error":{"code":-32001,"message":"Session not found"}}'),
    "denied": Oddities(lost=401, lost_body=b"Unauthorized: Session not found"),
    "invalid": Oddities(
        lost=200, lost_body=b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}'
    ),
    "events": Oddities(lost=200, lost_body=b'event: message\ndata: {"error":"Session not found"}\n\n'),
    "ok": Oddities(lost=200, lost_body=b'{"error": "Session not found"}'),
    "object": Oddities(lost=200, lost_body=b'{"error": {"message": "No valid session", "status": 404}}'),
    "unnumbered": Oddities(lost=200, lost_body=b"data: " + RPC_ERROR + b"\n\n"),
    "away": Oddities(lost=503, lost_body=b"Service Unavailable: unknown session"),
    "away_rpc": Oddities(lost=503, lost_body=RPC_ERROR.replace(b"Bad Request: No valid", b"Unknown")),
    "failed": Oddities(
        lost=500, lost_body=b'{"error": "Session not found or expired. Please reinitialize."}'
    ),
    "forbidden": Oddities(lost=403, lost_body=b'{"error": {"message": "Invalid session id"}}'),
}


async def check_new_sessions(tmp_path: Path, lost: Mapping[str, Oddities]) -> None:
    """Check that the second call to each server, which has forgotten the session by then, is made on a new one."""
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in lost.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        calls: list[Piece] = [tool_call(f"{name}__echo") for name in lost for _ in range(2)]
        async with running(tmp_path, [*calls, text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1", "called 2"] * len(lost)
    assert [odd.sessions for odd in lost.values()] == [2] * len(lost)


@pytest.mark.report("modelcontextprotocol/python-sdk#3556")
@pytest.mark.report("nloui/paperless-mcp#28")
@pytest.mark.report("modelcontextprotocol/rust-sdk#689")
@pytest.mark.report("aklivity/zilla#2525")
@pytest.mark.report(
    "modelcontextprotocol/rust-sdk#733", "diegosouzapw/OmniRoute#5957", "actionhero/keryx#503"
)
@pytest.mark.report("esengine/DeepSeek-Reasonix#4734")
@pytest.mark.report("modelcontextprotocol/rust-sdk#559")
@pytest.mark.report("markmhendrickson/neotoma#1923")
async def test_a_call_with_a_session_that_the_server_forgot_is_made_on_a_new_one(tmp_path: Path) -> None:
    await check_new_sessions(tmp_path, LOST)


@pytest.mark.report("sparfenyuk/mcp-proxy#149")
async def test_a_refused_call_is_told_with_status_and_reason_and_is_not_repeated(tmp_path: Path) -> None:
    odd = Oddities(lost=503, lost_body=b'{"error": {"message": "the database is away"}}')
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            said = str(rig.results()[1].content)
            assert "503" in said and "database" in said and len(odd.calls) == 1


EVENTS = {"content-type": "text/event-stream"}
PAGE = {"content-type": "text/html"}
BUSY = '{"error": "Too many requests"}'
Answers = list[tuple[int, dict[str, str], str]]


def busy(*waits: str, status: int = 429) -> Answers:
    return [(status, {"retry-after": wait} if wait else {}, BUSY) for wait in waits]


def refusal(code: int, message: str) -> Answers:
    return [(200, {}, f'{{"jsonrpc":"2.0","id":{{id}},"error":{{"code":{code},"message":"{message}"}}}}')]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        reported("basicmachines-co/basic-memory#1378", {"tools/call": busy("0")}, "called 1"),
        reported("agentscope-ai/QwenPaw#1096", {"initialize": busy("0")}, "called 1"),
        ({"tools/list": busy("0", "0"), "tools/call": busy("Wed, 21 Oct 2015 07:28:00 GMT")}, "called 1"),
        ({"tools/call": busy("0", status=503)}, "called 1"),
        ({"tools/call": busy("")}, "called 1"),
        reported("comet-ml/opik-mcp#96", {"tools/call": busy("600")}, "600 s"),
        ({"tools/call": busy("0", "0", "0", "0")}, "429"),
        reported(
            "cloudflare/agents#1923", {"tools/call": refusal(404, "document not found")}, "document not found"
        ),
        reported("profullstack/sh1pt#703", {"tools/call": refusal(-32601, "unknown tool")}, "unknown tool"),
        ({"tools/call": [(200, EVENTS, 'data: {"error": "the disk is full"}\n\n')]}, "the disk is full"),
        ({"tools/call": [(200, {}, '{"error": {"message": "the disk is full"}}')]}, "the disk is full"),
    ],
)
async def test_a_call_that_is_refused_is_made_again_or_told(
    tmp_path: Path, answers: dict[str, Answers], said: str
) -> None:
    odd = Oddities(of_post=answers)
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            first, second = rig.results()
            assert said in str(first.content) and str(second.content).startswith("called")
    assert odd.sessions == 1


@pytest.mark.parametrize(
    "odd",
    [
        reported("modelcontextprotocol/php-sdk#327", Oddities(is_cut=True, form="sse")),
        reported("modelcontextprotocol/typescript-sdk#2809", Oddities(is_cut=True, form="sse", cuts=2)),
    ],
)
async def test_a_result_that_a_cut_stream_lacks_is_fetched(tmp_path: Path, odd: Oddities) -> None:
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1"]


async def test_a_stream_that_ends_without_a_result_fails_its_call_only(tmp_path: Path) -> None:
    odd = Oddities(of_post={"tools/call": [(200, EVENTS, ": nothing\n\n")]})
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.is_error for it in rig.results()] == [True, False]


ENDPOINT = "event: endpoint\ndata: /messages?sessionId=1\n\n"


def obsolete(*answer: Any) -> Oddities:
    """Return a server of the obsolete transport that answers each POST like this."""
    methods = ("initialize", "server/discover")
    return Oddities(
        of_post={it: [answer] * 9 for it in methods},
        of_get=200,
        get_kind=EVENTS["content-type"],
        get_body=ENDPOINT,
    )


@pytest.mark.parametrize(
    "odd",
    [
        reported("microsoft/vscode#249914", obsolete(200, EVENTS, ENDPOINT)),
        reported("koala73/worldmonitor#1848", obsolete(405, PAGE, "<!DOCTYPE html><p>Not Allowed")),
        reported(
            "yjacquin/fast-mcp#160",
            obsolete(
                405, {}, '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not allowed"},"id":null}'
            ),
        ),
        obsolete(404, PAGE, "Not Found"),
        obsolete(400, {}, '{"detail": "sessionId is required"}'),
        obsolete(202, {"content-type": "text/plain"}, "Accepted"),
    ],
)
async def test_a_server_of_the_obsolete_transport_is_named_as_one(tmp_path: Path, odd: Oddities) -> None:
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("go")
            server = await until_state(talk, "odd", "restarting", "failed")
            assert "HTTP with SSE" in server.error


@pytest.mark.report("anthropics/claude-code#45368")
async def test_a_refused_handshake_is_told_with_its_reason(tmp_path: Path) -> None:
    error = (
        '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Acceptable: say more"}}'
    )
    odd = Oddities(of_post={it: [(406, {}, error)] * 9 for it in ("initialize", "server/discover")})
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk("full")
            await talk.say("go")
            assert (
                "Not Acceptable: say more" in (await until_state(talk, "odd", "restarting", "failed")).error
            )


@pytest.mark.report("mcp-hangar/mcp-hangar#876")
@pytest.mark.parametrize(("odd", "ended"), [(Oddities(), ["DELETE s1"]), (Oddities(is_stateless=True), [])])
async def test_a_session_begins_and_ends_as_the_protocol_says(
    tmp_path: Path, odd: Oddities, ended: list[str]
) -> None:
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk("full", say="go")
            await rig.manager.close_session(talk.session_id)
    assert "notifications/initialized" in odd.made
    assert [it for it in odd.made if it.startswith("DELETE")] == ended


@pytest.mark.report("anthropics/claude-code#69593")
async def test_a_call_by_http_that_is_never_answered_ends_at_its_time_limit(tmp_path: Path) -> None:
    odd = Oddities(hangs="tools/call")
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url, "timeoutMs": 300})
        async with running(tmp_path, [tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert "within 0.3 s" in str(rig.results()[0].content)
        odd.ended.set()
