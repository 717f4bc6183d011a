"""The command agent-ls mcp: servers are listed, added, removed, imported and tested."""

from __future__ import annotations

import json
import shlex
import socket
import sys
from pathlib import Path

import pytest

from tests.mcp.oauth_server import LoginOddities, login_server
from tests.mcp.plans import project_file, raw_server, tool, user_file
from tests.support.commands import environment, run
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


def test_server_is_added_listed_tried_and_removed(tmp_path: Path) -> None:
    state, project = tmp_path / "state", tmp_path / "project"
    project.mkdir()
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(state))
    entry = raw_server(
        tmp_path / "plans", "raw", tools=[tool("echo"), {"name": "odd", "inputSchema": {"type": "string"}}]
    )
    words = ("mcp", "add", "--env", "A=1", "raw", "--", entry["command"], *entry["args"])
    assert run(*words, cwd=project, environ=environ).code == 0

    listed = run("mcp", "list", cwd=project, environ=environ)
    assert "raw  (on)" in listed.out and "raw_server.py" in listed.out

    tried = run("mcp", "test", "raw", cwd=project, environ=environ)
    assert tried.code == 0, tried
    assert "echo" in tried.out and "1 tools" in tried.out
    assert "tool odd" in tried.err

    assert run("mcp", "remove", "raw", cwd=project, environ=environ).code == 0
    assert "no MCP servers" in run("mcp", "list", cwd=project, environ=environ).out
    assert run("mcp", "remove", "raw", cwd=project, environ=environ).code == 1


@pytest.mark.report("knowsuchagency/mcp2cli#65")
def test_all_pages_of_a_list_are_listed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    user_file(
        state, raw=raw_server(tmp_path / "plans", "raw", tools=[tool(f"t{it}") for it in range(5)], page=2)
    )
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(state))
    tried = run("mcp", "test", "raw", cwd=state, environ=environ)
    assert "5 tools" in tried.out and "t4" in tried.out


URL = "https://a.example/mcp"
NODE = {"command": "node", "args": ["s.js"]}
AUTHORIZED = {"url": URL, "headers": {"Authorization": "Bearer a=b"}}


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        reported("QwenLM/qwen-code#5374", "--env T=a=b=c x -- node s.js", NODE | {"env": {"T": "a=b=c"}}),
        reported(
            "NousResearch/hermes-agent#37501",
            "--env A=1 --env B=2 --env C=3 x -- node s.js",
            NODE | {"env": {"A": "1", "B": "2", "C": "3"}},
        ),
        reported(
            "anthropics/claude-code#1944",
            "x -- uvx --from y -v -- -z",
            {"command": "uvx", "args": ["--from", "y", "-v", "--", "-z"]},
        ),
        reported("anthropics/claude-code#62332", "-e A=1 x -- node s.js", NODE | {"env": {"A": "1"}}),
        reported("CoderLuii/HolyClaude#22", "x -e A=1 node s.js", NODE | {"env": {"A": "1"}}),
        (f"--transport http x {URL} --header 'Authorization: Bearer a=b'", AUTHORIZED),
        (f"x -H Authorization='Bearer a=b' --url {URL}", AUTHORIZED),
        (f"x -- npx mcp-remote {URL}", {"command": "npx", "args": ["mcp-remote", URL]}),
    ],
)
def test_the_words_of_other_agents_add_a_server(tmp_path: Path, words: str, entry: object) -> None:
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    done = run("mcp", "add", *shlex.split(words), cwd=tmp_path, environ=environ)
    assert done.code == 0, done
    assert json.loads((tmp_path / "state" / "mcp.json").read_text("utf-8"))["mcpServers"] == {"x": entry}


@pytest.mark.report("openai/codex#4422")
def test_servers_of_other_agents_are_imported(tmp_path: Path) -> None:
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    claude, codex = tmp_path / "claude.json", tmp_path / "config.toml"
    claude.write_text(
        json.dumps({"mcpServers": {"a": {"command": "a"}, "b": {"type": "sse", "url": "https://b"}}})
    )
    codex.write_text('[mcp_servers.c]\ncommand = "c"\nargs = ["-x"]\n')

    one = run("mcp", "import", str(claude), cwd=tmp_path, environ=environ)
    two = run("mcp", "import", str(codex), cwd=tmp_path, environ=environ)

    assert one.code == 1 and "a is added" in one.out and "streamable HTTP" in one.err
    assert two.code == 0
    kept = json.loads((tmp_path / "state" / "mcp.json").read_text("utf-8"))
    assert kept["mcpServers"] == {"a": {"command": "a"}, "c": {"command": "c", "args": ["-x"]}}
    codex.write_text('[mcp_servers.figma]\nurl = "url = "http://127.0.0.1:3845/mcp""\n')
    assert "line 2" in run("mcp", "import", str(codex), cwd=tmp_path, environ=environ).err
    codex.write_text('[mcp_servers.a]\ncommand = "c"\n')
    assert "already have a" in run("mcp", "import", str(codex), cwd=tmp_path, environ=environ).err


def test_a_project_server_is_not_tested_without_confirmation(tmp_path: Path) -> None:
    project, starts = tmp_path / "project", tmp_path / "starts"
    environ = environment(
        tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"), AGENT_LS_TRUSTED_FOLDERS=str(project)
    )
    project_file(project, raw=raw_server(tmp_path / "plans", "raw", starts=str(starts)))

    done = run("mcp", "test", "raw", cwd=project, environ=environ)

    assert done.code == 1 and "raw_server.py" in done.out and "not approved" in done.err
    assert not starts.exists()
    assert "raw  (not approved yet)" in run("mcp", "list", cwd=project, environ=environ).out


def test_an_untrusted_project_adds_no_servers(tmp_path: Path) -> None:
    project = tmp_path / "project"
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"), AGENT_LS_TRUSTED_FOLDERS="")
    project_file(project, raw={"command": "raw"})

    listed = run("mcp", "list", cwd=project, environ=environ)

    assert "you trust" in listed.out and "(on)" not in listed.out
    assert "named raw" in run("mcp", "test", "raw", cwd=project, environ=environ).err


def test_a_missing_server_program_is_named(tmp_path: Path) -> None:
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    run("mcp", "add", "gone", "--", "no-such-program-here", cwd=tmp_path, environ=environ)

    done = run("mcp", "test", "gone", cwd=tmp_path, environ=environ)

    reason, step = done.err.splitlines()
    assert done.code == 1 and "no-such-program-here" in reason, done
    assert "command" in step and str(tmp_path / "state" / "mcp.json") in step, done


@pytest.mark.req("H13")
def test_an_address_at_which_no_server_listens_is_named_with_the_file_to_correct(tmp_path: Path) -> None:
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        run(
            "mcp",
            "add",
            "web",
            f"http://127.0.0.1:{free.getsockname()[1]}/mcp",
            cwd=tmp_path,
            environ=environ,
        )
        done = run("mcp", "test", "web", cwd=tmp_path, environ=environ)
    reason, step = done.err.splitlines()
    assert done.code == 1 and "cannot be reached" in reason, done
    assert "url" in step and str(tmp_path / "state" / "mcp.json") in step, done


@pytest.mark.req("H13")
def test_a_server_whose_entry_is_wrong_is_not_only_unknown_and_a_near_key_is_named(tmp_path: Path) -> None:
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(tmp_path / "state"))
    user_file(tmp_path / "state", raw={"comand": "x"})
    reason, step = run("mcp", "test", "raw", cwd=tmp_path, environ=environ).err.splitlines()
    assert "raw" in reason and "comand" in step and "did you mean command?" in step


def test_doctor_reports_invalid_entries_of_a_server_file(tmp_path: Path) -> None:
    state = tmp_path / "state"
    environ = environment(tmp_path, AGENT_LS_STATE_DIR=str(state))
    state.mkdir(mode=0o700)
    (state / "mcp.json").write_text('{"mcpServers": {"x": {"comand": "a"}, "y": {"command": "b"}}}')

    done = run("doctor", "--offline", cwd=tmp_path, environ=environ)

    assert "the server x" in done.out and "comand" in done.out


def test_the_user_logs_in_in_a_browser_and_a_denied_login_is_told_in_one_line(tmp_path: Path) -> None:
    visit = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
    script = tmp_path / "visit.py"
    script.write_text(visit, "utf-8")
    state, odd = tmp_path / "state", LoginOddities()
    environ = environment(
        tmp_path, AGENT_LS_STATE_DIR=str(state), BROWSER=shlex.join([sys.executable, str(script)])
    )
    with login_server(odd) as seen:
        user_file(state, closed={"url": seen.url})
        tried = run("mcp", "test", "closed", cwd=tmp_path, environ=environ)
        assert tried.code == 1 and "mcp login closed" in tried.err

        done = run("mcp", "login", "closed", cwd=tmp_path, environ=environ)
        assert done.code == 0 and "closed is ready: 1 tools" in done.out, done
        seen.expire()
        assert run("mcp", "test", "closed", cwd=tmp_path, environ=environ).code == 0

        odd.denied = "The user said no"
        denied = run("mcp", "login", "closed", cwd=tmp_path, environ=environ)
        assert denied.code == 1 and "The user said no" in denied.err and "Traceback" not in denied.err
        assert run("mcp", "test", "closed", cwd=tmp_path, environ=environ).code == 0
