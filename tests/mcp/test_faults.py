"""Faulty MCP servers that print noise, hang, crash, flood or ignore signals. Each is a real process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.loop.events.types import Warning
from agent_ls.mcp.session_servers import SessionServers
from tests.mcp.plans import change_plan, raw_server, sent, tool, user_file
from tests.mcp.rig import echoed, running, servers_of, until_state
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.processes import eventually
from tests.support.session_rig import Talk

pytestmark = pytest.mark.req("T11")


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def offered(talk: Talk) -> list[str]:
    return [it.tool.name for it in servers_of(talk).list_offered()]


async def test_a_tool_with_an_invalid_definition_is_left_out_with_a_warning(tmp_path: Path) -> None:
    tools = [
        {"name": "bare"},
        tool("good"),
        {**tool("list"), "inputSchema": {"type": "array"}},
        {**tool("bad"), "description": 3},
        {"inputSchema": {"type": "object"}},
        {**tool("task"), "execution": {"taskSupport": "required"}},
    ]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        assert offered(talk) == ["raw__bad", "raw__bare", "raw__good"]
        warnings = " ".join(it.message for it in talk.of(Warning))
        assert all(f"the tool {name} is left out" in warnings for name in ("list", "(no name)", "task"))


async def test_a_server_that_exits_at_once_is_reported_with_its_error_output(tmp_path: Path) -> None:
    plan = raw_server(tmp_path / "plans", "raw", exit=7, stderr="no database at /var/db")
    user_file(tmp_path / "state", raw=plan, good=raw_server(tmp_path / "plans", "good"))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        server = servers_of(talk).server("raw")
        assert server and server.state == "restarting" and "no database at /var/db" in server.error
        assert offered(talk) == ["good__echo"]


async def test_server_that_dies_in_a_call_fails_the_call_and_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    plan: dict[str, Any] = {
        "tools": [tool("die"), tool("echo")],
        "calls": {"die": {"do": "exit"}},
        "starts": str(starts),
    }
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    script: list[Piece] = [tool_call("raw__die"), tool_call("raw__echo"), text("done")]
    async with running(tmp_path, script) as rig:
        await rig.talk("full", say="go")

        died, echoed = rig.results()
        assert died.is_error and "closed the connection" in str(died.content)
        assert echoed.content == "echo {}"
        assert len(starts.read_text().split()) == 2


@pytest.mark.parametrize("request_name", ["server/discover", "initialize"])
async def test_server_that_hangs_at_the_first_request_does_not_hold_up_the_model(
    tmp_path: Path, request_name: str
) -> None:
    plan: dict[str, Any] = {"hang": request_name, "modern": request_name != "initialize"}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("done")], firstWaitMs=50) as rig:
        talk = await rig.talk(say="go")

        server = servers_of(talk).server("raw")
        assert server and server.state == "starting" and not offered(talk)


async def test_call_that_hangs_ends_at_its_time_limit(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"tools": [tool("wait")], "calls": {"wait": {"do": "hang"}}}
    entry = {**raw_server(tmp_path / "plans", "raw", **plan), "timeoutMs": 300}
    user_file(tmp_path / "state", raw=entry)
    async with running(tmp_path, [tool_call("raw__wait"), text("done")]) as rig:
        await rig.talk("full", say="go")

        assert "within 0.3 s" in str(rig.results()[0].content)


@pytest.mark.report("anomalyco/opencode#24312")
@pytest.mark.report("QwenLM/qwen-code#11272", "modelcontextprotocol/python-sdk#2507")
async def test_stopped_call_is_cancelled_at_the_server_which_goes_on(tmp_path: Path) -> None:
    log, starts = tmp_path / "log", tmp_path / "starts"
    plan: dict[str, Any] = {"tools": [tool("wait"), tool("echo")], "calls": {"wait": {"do": "hang"}}}
    plan |= {"log": str(log), "starts": str(starts)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    script: list[Piece] = [tool_call("raw__wait"), tool_call("raw__echo"), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full")
        with talk.live.session.subscribe() as events:
            talk.live.session.submit("go")
            with anyio.fail_after(240):
                async for item in events:
                    if item.envelope.kind == "tool_call_start":
                        break
                while "tools/call" not in [it["method"] for it in sent(log)]:
                    await anyio.lowlevel.checkpoint()
                talk.live.session.interrupt()
                async for item in events:
                    if item.envelope.kind == "processing_end":
                        break
                while "notifications/cancelled" not in [it["method"] for it in sent(log)]:
                    await anyio.lowlevel.checkpoint()
        await talk.say("go on")
        assert rig.results()[-1].content == "echo {}" and len(starts.read_text().split()) == 1

    call = next(it for it in sent(log) if it["method"] == "tools/call")
    cancelled = next(it for it in sent(log) if it["method"] == "notifications/cancelled")
    assert cancelled["params"]["requestId"] == call["id"]


async def test_a_flood_on_stderr_blocks_neither_the_server_nor_the_session(tmp_path: Path) -> None:
    found = await echoed(tmp_path, stderr="all is well\n", stderr_times=200_000)
    assert found.content == "echo {}"


@pytest.mark.report("web-infra-dev/midscene#2157")
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at the process table of Linux")
async def test_no_server_process_survives_the_session_even_if_it_ignores_signals(tmp_path: Path) -> None:
    starts, child = tmp_path / "starts", tmp_path / "child"
    plan = raw_server(tmp_path / "plans", "raw", ignore_term=True, starts=str(starts), child=str(child))
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        pids = [int(starts.read_text()), int(child.read_text())]
        assert all(map(is_alive, pids))

        await rig.manager.close_session(talk.session_id)
        assert not any(map(is_alive, pids))


async def test_a_changed_tool_list_applies_from_the_next_input(tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    plan: dict[str, Any] = {"tools": [tool("grow")], "calls": {"grow": {"do": "change"}}}
    user_file(tmp_path / "state", raw=raw_server(folder, "raw", **plan))
    script: list[Piece] = [text("done"), tool_call("raw__grow"), text("done"), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", say="hello")
        await until_listed(talk, folder, plan)

        _, first, second, third = rig.model.requests
        assert first.tools == second.tools and first.messages[0] == second.messages[0]
        assert [it.name for it in third.tools][-2:] == ["raw__grow", "raw__another"]


async def until_listed(talk: Talk, folder: Path, plan: dict[str, Any]) -> None:
    """Add a tool to the plan; the server reports the changed list during the call."""
    change_plan(folder / "raw.json", {**plan, "tools": [tool("grow"), tool("another")]})
    servers: list[SessionServers] = []
    talk.live.session.submit("go")
    with anyio.fail_after(240), talk.live.session.subscribe() as events:
        async for item in events:
            if item.envelope.kind == "processing_end":
                break
        servers.append(servers_of(talk))
        while "raw__another" not in offered(talk):
            await servers[0].news.wait()
    await talk.say("again")


async def test_server_that_is_configured_later_is_offered_with_the_next_input(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with running(tmp_path, [text("done"), text("done")]) as rig:
        talk = await rig.talk(say="hello")
        user_file(state, raw=raw_server(tmp_path / "plans", "raw"))
        await talk.say("again")

        assert [it.name for it in rig.model.requests[1].tools][-1] == "raw__echo"
        user_file(state)
        await talk.say("again")
        assert "raw__echo" not in [it.name for it in rig.model.requests[2].tools]


async def test_tools_known_from_an_earlier_session_are_offered_without_waiting(tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    user_file(tmp_path / "state", raw=raw_server(folder, "raw"))
    async with running(tmp_path, [text("done"), text("done")]) as rig:
        await rig.talk(say="hello")
        await eventually(lambda: len([*(tmp_path / "state" / "mcp-cache").glob("*.json")]) == 1)
        change_plan(folder / "raw.json", {"tools": [tool("echo")], "hang": "initialize"})

        second = await rig.talk(say="hello")
        assert [it.name for it in rig.model.requests[1].tools][-1] == "raw__echo"
        server = servers_of(second).server("raw")
        assert server and server.state == "starting"


async def test_without_the_sdk_the_session_continues_and_names_the_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)  # find_spec then finds no package `mcp`
    user_file(tmp_path / "state", gone={"command": "no-such-program-here"})
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        await until_state(talk, "gone", "failed")

        (warning,) = [it for it in talk.of(Warning) if "gone" in it.message]
        assert "installed without MCP" in warning.message and "mcp" in warning.message.rpartition(" ")[2]


async def test_a_failed_server_is_reported_in_one_warning(tmp_path: Path) -> None:
    user_file(tmp_path / "state", gone={"command": "no-such-program-here"})
    async with running(tmp_path, [text("done"), text("done")]) as rig:
        talk = await rig.talk(say="go")
        await until_state(talk, "gone", "failed")
        await talk.say("go")

        assert len([it for it in talk.of(Warning) if "gone" in it.message]) == 1
