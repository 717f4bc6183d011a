"""MCP servers that do not come up, or come up slowly: which warnings there are, and when."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import Warning
from tests.mcp.plans import change_plan, raw_server, tool, user_file
from tests.mcp.rig import running, until_state
from tests.support.commands import Finished, command, environment, provider_variables, run
from tests.support.fake_provider import text
from tests.support.loopback import AnthropicServer, Script, ToolCall
from tests.support.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.req("T11")


def play(
    tmp_path: Path, script: Script, *arguments: str, server: Mapping[str, Any], **mcp: Any
) -> tuple[Finished, list[Any]]:
    """Run `agent-ls exec` with the MCP server `raw`, and return its end and the model's requests."""
    user_file(tmp_path / "state", raw=server)
    (tmp_path / "project").mkdir(exist_ok=True)
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"agentLs": {"mcp": mcp}}))
    with AnthropicServer(script) as model:
        environ = environment(tmp_path / "home", **provider_variables(model))
        environ |= {"AGENT_LS_STATE_DIR": str(tmp_path / "state"), "AGENT_LS_SETTINGS": str(settings)}
        done = run("exec", *arguments, cwd=tmp_path / "project", environ=environ)
    return done, [request.body for request in model.requests]


def refused_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/mcp"


FAILING: dict[str, dict[str, Any]] = {
    "exits": {"command": "sh", "args": ["-c", "echo no module named foo >&2; exit 3"]},
    "no-program": {"command": "/no/such/program"},
    "no-command": {"command": "uvx-that-is-not-installed", "args": ["mcp-server-git"]},
    "refused-address": {"url": refused_address()},
}


@pytest.mark.parametrize("kind", [*FAILING, "initialize", "tools/list"])
@pytest.mark.report("anthropics/claude-code#43968")
@pytest.mark.report("evalstate/fast-agent#289")
@pytest.mark.report("aws-samples/sample-collaborative-ai-dlc#227")
def test_exec_tells_of_a_server_that_does_not_come_up(kind: str, tmp_path: Path) -> None:
    server = FAILING.get(kind) or raw_server(tmp_path / "plans", "raw", refuse=kind)
    done, _ = play(tmp_path, ["Done."], "--json", "go", server=server)

    assert done.code == 0, done
    events = [json.loads(line) for line in done.out.splitlines()]
    warnings = [it for it in events if "MCP server raw" in json.dumps(it)]
    kinds = [it.get("kind") or it.get("type") for it in events]
    assert len(warnings) == 1 and events.index(warnings[0]) < kinds.index("assistant_text_start"), done
    assert "agent-ls mcp test raw" in json.dumps(warnings)
    if kind == "exits":
        assert "module named foo" in json.dumps(warnings)


def test_exec_prints_a_failed_server_on_standard_error(tmp_path: Path) -> None:
    done, _ = play(tmp_path, ["Done."], "go", server=FAILING["exits"])
    assert sum("MCP server raw is not available" in line for line in done.err.splitlines()) == 1, done
    assert "module named foo" in done.err.splitlines()[-2]


async def test_session_tells_of_a_failed_server_before_the_first_request(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=FAILING["exits"])
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        kinds = [envelope.kind for envelope in talk.envelopes]
        warnings = [it for it in talk.of(Warning) if "raw" in it.message]
        assert len(warnings) == 1 and kinds.index("warning") < kinds.index("assistant_text_start")


async def test_server_whose_tools_are_known_is_told_when_it_fails(tmp_path: Path) -> None:
    entry = raw_server(tmp_path / "plans", "raw")
    user_file(tmp_path / "state", raw=entry)
    async with running(tmp_path, [text("done")]) as rig:
        await (await rig.talk()).say("go")
    change_plan(Path(entry["args"][-1]), {"exit": 4})
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")
        await until_state(talk, "raw", "restarting")
        assert any("raw" in it.message for it in talk.of(Warning))


@pytest.mark.report("can1357/oh-my-pi#12188")
@pytest.mark.parametrize("name", ["raw__get-sum", "raw__get_sum"])
def test_exec_waits_for_a_slow_server_and_takes_its_name_with_a_hyphen(name: str, tmp_path: Path) -> None:
    # The server waits until more than the usual firstWaitMs has passed.
    entry = raw_server(tmp_path / "plans", "raw", tools=[tool("get-sum")], slow_s=4)
    script: Script = [[ToolCall(name, {"text": "a"})], "Done."]
    done, requests = play(tmp_path, script, "--allow", "raw__get-sum", "go", server=entry)

    assert done.code == 0, done
    assert "raw__get_sum" in [it["name"] for it in requests[0]["tools"]]
    assert "get-sum {" in json.dumps(requests[-1]["messages"][-1])


@pytest.mark.report("coder/xum#1555")
@pytest.mark.report("langchain-ai/deepagents#1776")
@pytest.mark.parametrize("is_address", [False, True])
def test_exec_says_which_server_was_not_ready(tmp_path: Path, is_address: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        entry = raw_server(tmp_path / "plans", "raw", hang="initialize")
        if is_address:
            entry = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"}
        done, _ = play(tmp_path, ["Done."], "go", server=entry, firstWaitMs=100, startTimeoutMs=3_000)
    assert done.code == 0 and "is still starting" in done.err and "agent-ls mcp test raw" in done.err, done


@pytest.mark.req("H13", "H28")
def test_exec_says_at_once_which_server_it_waits_for_and_ctrl_c_ends_the_wait(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", hang="initialize"))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"mcp": {"startTimeoutMs": 240_000}}))
    (tmp_path / "project").mkdir()
    with AnthropicServer(["Done."]) as model:
        environ = environment(tmp_path / "home", **provider_variables(model))
        environ |= {"AGENT_LS_STATE_DIR": str(tmp_path / "state"), "AGENT_LS_SETTINGS": str(settings)}
        with PseudoTerminal(command("exec", "go"), cwd=tmp_path / "project", environ=environ) as shown:
            shown.until("waiting for the MCP server raw, at most 240 s; `agent-ls mcp test raw`")
            shown.type("\x03")
            assert shown.exit_code() == 130
        assert not model.requests


def test_tools_of_a_tested_server_are_offered_without_a_wait(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    entry = raw_server(tmp_path / "plans", "raw")
    user_file(tmp_path / "state", raw=entry)
    environ = environment(tmp_path / "home", AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    assert run("mcp", "test", "raw", cwd=tmp_path / "project", environ=environ).code == 0

    _, requests = play(tmp_path, ["Done."], "go", server=entry, firstWaitMs=0)
    assert "raw__echo" in [it["name"] for it in requests[0]["tools"]]
