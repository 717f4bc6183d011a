"""exec runs the user's hooks, and leaves out the project's hooks that the user has not confirmed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = [
    pytest.mark.req("T15", "H13"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]


def write_hook(path: Path, event: str, command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    path.write_text(json.dumps({"hooks": hooks}))


def test_the_users_hooks_run_and_unconfirmed_project_hooks_are_left_out_with_a_warning(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    write_hook(tmp_path / "home/state/hooks.json", "PreToolUse", "echo 'not this' >&2; exit 2")
    write_hook(project / ".agent-ls/hooks.json", "UserPromptSubmit", f"touch {tmp_path}/ran; exit 2")
    with AnthropicServer([[ToolCall("shell", {"command": "touch made"})], "Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--mode", "full", "do it", cwd=project, environ=environ)
        result = json.dumps(server.requests[-1].body["messages"][-1])
    assert "not this" in result and not (project / "made").exists()
    assert "not confirmed" in done.out + done.err and not (tmp_path / "ran").exists()
    assert done.code == 3, "the exit code is that of a refused call, as without the project's hook"


def test_an_unconfirmed_hook_does_not_change_the_exit_code(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_hook(project / ".agent-ls/hooks.json", "UserPromptSubmit", f"touch {tmp_path}/ran; exit 2")
    with AnthropicServer(["Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "do it", cwd=project, environ=environ)
    assert done.code == 0 and "not confirmed" in done.out + done.err and not (tmp_path / "ran").exists(), done
