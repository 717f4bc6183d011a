"""MCP servers over HTTP: calls, logins, redirects, and that credentials reach only their own server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.http_servers import answering, counting_server, served
from tests.mcp.plans import user_file
from tests.mcp.rig import running, servers_of, until_state
from tests.support.fake_provider import text, tool_call

pytestmark = pytest.mark.req("T11")


async def test_a_tool_of_a_modern_protocol_server_is_called_over_http(tmp_path: Path) -> None:
    with served(counting_server()) as url:
        user_file(tmp_path / "state", counting={"url": url})
        async with running(
            tmp_path, [tool_call("counting__count", '{"words": "a b c"}'), text("done")]
        ) as rig:
            talk = await rig.talk("full", say="go")

            assert rig.results()[0].content == "3 words"
            assert servers_of(talk).servers[0].description.era == "modern"


async def test_a_server_that_requires_a_login_is_reported_with_the_login_command(tmp_path: Path) -> None:
    seen: list[object] = []
    with answering(401, {"WWW-Authenticate": "Bearer"}, seen) as url:  # type: ignore[arg-type]
        user_file(tmp_path / "state", closed={"url": url})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk(say="go")

            server = servers_of(talk).server("closed")
            assert server and (server.state, "mcp login closed" in server.error) == ("login", True)


async def test_redirect_to_another_origin_is_not_followed_with_the_servers_headers(tmp_path: Path) -> None:
    thief: list[object] = []
    with answering(200, {}, thief) as other, answering(307, {"Location": other}, []) as url:  # type: ignore[arg-type]
        user_file(
            tmp_path / "state", moved={"url": url, "headers": {"Authorization": "Bearer secret-of-moved"}}
        )
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk(say="go")
            await until_state(talk, "moved", "restarting", "failed")

    assert not thief


async def test_headers_are_filled_in_and_sent_to_their_own_server_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRST_TOKEN", "token-of-the-first")
    one: list[tuple[str, dict[str, str]]] = []
    two: list[tuple[str, dict[str, str]]] = []
    with answering(404, {}, one) as first, answering(404, {}, two) as second:  # type: ignore[arg-type]
        headers = {"Authorization": "Bearer ${FIRST_TOKEN}"}
        user_file(tmp_path / "state", first={"url": first, "headers": headers}, second={"url": second})
        async with running(tmp_path, [text("done")]) as rig:
            talk = await rig.talk(say="go")
            await until_state(talk, "first", "restarting", "failed")
            await until_state(talk, "second", "restarting", "failed")

    assert one and all(it["Authorization"] == "Bearer token-of-the-first" for _, it in one)
    assert two and not any("token-of-the-first" in str(it) for _, it in two)
