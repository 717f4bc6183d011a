"""A session without MCP servers, skills, hooks and kinds of subagents neither imports nor sends anything of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.req("T11", "T12", "O6")

NEVER = (
    "mcp", "mcp_types", "httpx2", "starlette", "uvicorn", "jsonschema", "yaml", "agent_ls.features.skills.agents",
    "agent_ls.features.skills.agent_tool", "agent_ls.features.skills.tool", "agent_ls.features.mcp.confinement",
    "agent_ls.features.mcp.login", "agent_ls.mcp.config", "agent_ls.mcp.session_servers", "agent_ls.mcp.session",
    "agent_ls.mcp.sources", "agent_ls.mcp.visible",
)  # fmt: skip
"""Modules that a session without these features never imports. `agent_ls.mcp.entry` is missing here, because the
settings import it.
"""

SESSION = """
import json, sys
from pathlib import Path
import anyio
import agent_ls
from tests.support.fake_provider import FakeProvider, text

async def main() -> None:
    model = FakeProvider([[text("Done.")]])
    folder = Path(sys.argv[1])
    async with agent_ls.open_session(
        folder=folder / "project", provider="anthropic", state_dir=folder / "state",
        adapters={"anthropic": model}, trusted=True,
    ) as session:
        [event async for event in session.run("hello")]
    [request] = model.requests
    print(json.dumps({
        "modules": sorted(sys.modules), "tools": [tool.name for tool in request.tools],
        "spawn": next(tool.parameters for tool in request.tools if tool.name == "spawn_agent"),
        "system": request.messages[0].text,
    }))

anyio.run(main)
"""

SERVER = """
import json, sys
import agent_ls.server.backend, agent_ls.server.server, agent_ls.server.assembly, agent_ls.server.create_manager
print(json.dumps({"modules": sorted(sys.modules)}))
"""


def run_program(program: str, folder: Path) -> dict[str, object]:
    root = str(Path(__file__).resolve().parents[2])
    environ = {
        **os.environ,
        "HOME": str(folder),
        "PYTHONPATH": root,
        "AGENT_LS_STATE_DIR": str(folder / "state"),
    }
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def loaded(found: dict[str, object]) -> list[str]:
    modules = found["modules"]
    assert isinstance(modules, list) and "agent_ls.sessions.build.builder" in modules
    return [name for name in NEVER if name in modules]


def test_a_first_message_imports_and_sends_nothing_of_unused_features(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    found = run_program(SESSION, tmp_path)
    assert loaded(found) == []
    assert found["tools"] == [
        "read_file", "write_file", "edit_file", "shell", "grep", "glob", "processes", "plan", "ask_user",
        "spawn_agent", "send_input", "wait", "close_agent",
    ]  # fmt: skip
    assert "kind" not in json.dumps(found["spawn"])
    assert not [it for it in ("# MCP servers", "# Skills", "# Kinds of agents") if it in str(found["system"])]


def test_server_start_imports_no_modules_of_unused_features(tmp_path: Path) -> None:
    assert loaded(run_program(SERVER, tmp_path)) == []
