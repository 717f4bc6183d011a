"""Values that the user declares for a tool or an MCP server are redacted wherever text leaves the session."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import agent_ls
from agent_ls.cli.main import main
from agent_ls.mcp.config import VariableValues, fill_variables, parse_server, secret_values
from tests.features.hooks.test_session import write_hooks
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("T10", "X9")
VALUE = "declared-value-4711"


@pytest.mark.parametrize(
    "env",
    [
        {"DEPLOY_TOKEN": "${DECLARED}"},
        {"DSN": "postgres://me:${DECLARED}@db"},
        {"PLAIN": "${DECLARED}"},
        {"A_SECRET": VALUE},
        {"A_SECRET": f"{VALUE}${{HOME}}"},
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the tool runs a POSIX program")
async def test_a_value_declared_for_a_tool_is_neither_sent_nor_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    monkeypatch.setenv("DECLARED", VALUE)
    tool = {
        "name": "show",
        "description": "Show.",
        "category": "read",
        "cmd": "env",
        "env": {**env, "P": "${PATH}"},
    }
    (tmp_path / "state").mkdir()
    (tmp_path / "state/tools.yaml").write_text(yaml.safe_dump({"tools": [tool]}))
    model = FakeProvider(
        [call("show"), call("shell", command=f"echo {VALUE[:9]}{VALUE[9:]}"), [text("Done.")]]
    )
    chosen = options(tmp_path, model, trusted=True, mode="full", approve=lambda request: True, personal=True)
    async with agent_ls.open_session(**chosen) as session:
        events = [str(event.data) async for event in session.run("Do it.")]
    assert "DECLARED" in str(os.environ) and "[secret removed]" in str(events)
    assert os.environ["PATH"].split(os.pathsep)[0] in str(model.requests[-1].messages), "PATH is no secret"
    leaks = [event for event in events if VALUE in event and "echo" not in event]
    logs = [path.read_text() for path in (tmp_path / "state").rglob("*.jsonl")]
    assert not leaks and logs and not [log for log in logs if VALUE in log]


DECLARED: dict[str, dict[str, Any]] = {
    "variable of a tool": {"tool": {"PLAIN": "${DECLARED}"}},
    "part of a value of a tool": {"tool": {"DSN": "postgres://me:${DECLARED}@db"}},
    "secret name of a tool": {"tool": {"MY_TOKEN": VALUE}},
    "variable of a server": {"server": {"command": "false", "env": {"DATABASE": "${DECLARED}"}}},
    "secret name of a server": {"server": {"command": "false", "env": {"MY_TOKEN": VALUE}}},
    "argument of a server": {"server": {"command": "false", "args": ["-e", "X=${DECLARED}"]}},
    "option of a server": {"server": {"command": "false", "args": ["--api-key", VALUE]}},
    "option of a server with =": {"server": {"command": "false", "args": [f"--token={VALUE}"]}},
    "header of a server": {"server": {"url": "http://127.0.0.1:9/", "headers": {"X-Data": f"v1 {VALUE}"}}},
    "variable in a header of a server": {
        "server": {"url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer ${DECLARED}"}}
    },
    "address of a server": {"server": {"url": "http://127.0.0.1:9/${DECLARED}"}},
    "header of a provider": {"settings": {"providers": {"anthropic": {"headers": {"X-Api-Key": VALUE}}}}},
    "scheme in a header of a provider": {
        "settings": {"providers": {"anthropic": {"headers": {"Authorization": f"Bearer {VALUE}"}}}}
    },
}


@pytest.mark.parametrize("declared", DECLARED.values(), ids=DECLARED.keys())
@pytest.mark.skipif(os.name == "nt", reason="the hook and the tool are POSIX commands")
async def test_no_output_has_a_value_that_is_declared_anywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    declared: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The value comes back from a command, a tool and a hook, in parts that only the programs join."""
    monkeypatch.setenv("DECLARED", VALUE)
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    state, joined = tmp_path / "state", f"printf '%s%s\\\\n' {VALUE[:9]} {VALUE[9:]}"
    write_hooks(state / "hooks.json", PostToolUse=f"{joined} >&2; exit 2")
    tool = {
        "name": "show",
        "description": "Show.",
        "category": "read",
        "cmd": "env",
        "env": declared.get("tool", {}),
    }
    (state / "tools.yaml").write_text(yaml.safe_dump({"tools": [tool]}))
    if "server" in declared:
        (state / "mcp.json").write_text(json.dumps({"mcpServers": {"one": declared["server"]}}))
    given = {path: path.read_text() for path in state.rglob("*") if path.is_file()}
    model = FakeProvider([call("show"), call("shell", command=joined), [text("Done.")]])
    chosen = options(
        tmp_path, model, trusted=True, mode="full", personal=True, settings=declared.get("settings")
    )
    async with agent_ls.open_session(**chosen) as session:
        events = [str(event.data) async for event in session.run("Do it.")]
        session_id = session.id
    outputs = {f"event {number}": event for number, event in enumerate(events)}
    outputs |= {f"request {number}": str(it.messages) for number, it in enumerate(model.requests)}
    outputs |= {
        str(path): path.read_bytes().decode("utf-8", "replace")
        for path in state.rglob("*")
        if path.is_file() and path not in given
    }
    outputs["log"] = caplog.text
    for kind in ("markdown", "html", "jsonl", "calls"):
        capsys.readouterr()
        with contextlib.chdir(tmp_path / "project"):
            assert main(["sessions", "export", "--format", kind, session_id]) == 0
        outputs[kind] = "".join(capsys.readouterr())
    assert "[secret removed]" in outputs["markdown"] and any(path.endswith(".jsonl") for path in outputs)
    assert not [name for name, shown in outputs.items() if VALUE in shown]


async def test_a_declared_value_is_hidden_before_its_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DECLARED", VALUE)
    monkeypatch.setitem(sys.modules, "mcp", None)  # the server never starts
    (tmp_path / "state").mkdir()
    servers = {"one": {"command": "run", "env": {"DATABASE": "${DECLARED}"}}}
    (tmp_path / "state/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    model = FakeProvider([[text(f"It is {VALUE}.")]])
    async with agent_ls.open_session(**options(tmp_path, model, trusted=True, personal=True)) as session:
        assert await session.ask("What is it?") == "It is [secret removed]."


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "a", "env": {"DATABASE": "${DECLARED}"}},
        {"command": "a", "args": ["-e", "TFE=${DECLARED}"]},
        {"url": "https://a.example/${env:DECLARED}"},
        {"url": "https://a.example", "headers": {"X-Data": "v1 ${DECLARED}"}},
        {"command": "a", "env": {"X": "${input:DECLARED}"}},
    ],
)
def test_a_value_declared_for_a_server_is_a_secret(entry: dict[str, object]) -> None:
    values = VariableValues({"DECLARED": VALUE}.get, lambda server, name: VALUE, "/w")
    config = parse_server("x", entry, "user")
    assert VALUE in set(secret_values(config, fill_variables(config, values), values))


def test_usual_variables_are_no_secrets(tmp_path: Path) -> None:
    environ = {"HOME": "/anywhere/somebody", "DATA": str(tmp_path)}
    values = VariableValues(environ.get, lambda server, name: None, "/w")
    config = parse_server(
        "x", {"command": "a", "args": ["${HOME}", "${DATA}", "${MODE:-development}"]}, "user"
    )
    assert not set(secret_values(config, fill_variables(config, values), values))


@pytest.mark.report("anthropics/claude-code#62705", "anthropics/claude-code#87838")
def test_the_list_of_servers_does_not_display_declared_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("DECLARED", VALUE)

    def mcp(*words: str) -> str:
        command = [sys.executable, "-m", "agent_ls", "mcp", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout + done.stderr

    mcp("add", "one", "--", "run", "-e", "T=${DECLARED}")
    mcp("add", "--env", f"TOKEN={VALUE}", "two", "--", "run")
    mcp("add", "--url", "https://a.example", "--header", f"Authorization=Bearer {VALUE}", "three")
    shown = mcp("list")
    assert all(name in shown for name in ("one", "two", "three")) and VALUE not in shown
