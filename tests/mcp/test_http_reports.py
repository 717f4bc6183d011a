"""MCP servers over HTTP that broke other clients, each in its smallest form."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import user_file
from tests.mcp.rig import running
from tests.support.fake_provider import Piece, text, tool_call

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
    "batch": Oddities(form="batch"),
    "batched": Oddities(form="batched"),
    "charset": Oddities(kind="Application/JSON; charset=utf-8"),
    "slash": Oddities(path="/mcp/"),
}


@pytest.mark.report("cap-js/mcp#36")
@pytest.mark.report("akutishevsky/withings-mcp#21")
@pytest.mark.report("PhilflowIO/dav-mcp#31")
@pytest.mark.report("modelcontextprotocol/python-sdk#1146")
@pytest.mark.report("yjacquin/fast-mcp#38")
@pytest.mark.report("tontinton/maki#657")
async def test_servers_whose_answers_have_oddities_are_understood(tmp_path: Path) -> None:
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in ODD.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        script: list[Piece] = [*(tool_call(f"{name}__echo") for name in ODD), text("done")]
        async with running(tmp_path, script) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1"] * len(ODD)


RPC_ERROR = (
    b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null}'
)
LOST = {
    "plain": Oddities(lost=404),
    "rpc404": Oddities(lost=404, lost_body=RPC_ERROR),
    "rpc400": Oddities(lost=400, lost_body=RPC_ERROR),
    "empty": Oddities(lost=404, lost_body=b""),
}


@pytest.mark.report("modelcontextprotocol/python-sdk#3556")
@pytest.mark.report("nloui/paperless-mcp#28")
async def test_a_call_with_a_session_that_the_server_forgot_is_made_on_a_new_one(tmp_path: Path) -> None:
    with ExitStack() as open_servers:
        urls = {name: open_servers.enter_context(odd_server(odd)) for name, odd in LOST.items()}
        user_file(tmp_path / "state", **{name: {"url": url} for name, url in urls.items()})
        calls: list[Piece] = [tool_call(f"{name}__echo") for name in LOST for _ in range(2)]
        async with running(tmp_path, [*calls, text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            assert [it.content for it in rig.results()] == ["called 1", "called 2"] * len(LOST)
    assert [odd.sessions for odd in LOST.values()] == [2] * len(LOST)


@pytest.mark.report("sparfenyuk/mcp-proxy#149")
async def test_a_refused_call_is_told_with_status_and_reason_and_is_not_repeated(tmp_path: Path) -> None:
    odd = Oddities(lost=503, lost_body=b'{"error": {"message": "the database is away"}}')
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await (await rig.talk("full")).say("go")
            said = str(rig.results()[1].content)
            assert "503" in said and "database" in said and len(odd.calls) == 1
