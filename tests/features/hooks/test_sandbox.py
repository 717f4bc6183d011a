"""Hooks in the sandbox: they get their input, act inside the sandbox, and cannot leave it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import ToolCallEnd, Warning
from agent_ls.services.settings.model import Settings
from tests.support.fake_provider import text, tool_call
from tests.support.sandboxes import needs_bubblewrap, needs_landlock
from tests.support.session_rig import allow, running

pytestmark = pytest.mark.req("T15", "X7")

SANDBOXES = [
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("landlock", marks=needs_landlock),
]


def confined(kind: str) -> Settings:
    return Settings.model_validate({"sandbox": {"enabled": True, "use": kind}, "walkthroughPauseMs": 0})


def write_hook(state: Path, event: str, command: str) -> None:
    state.mkdir(mode=0o700, exist_ok=True)
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    (state / "hooks.json").write_text(json.dumps({"hooks": hooks}))


def shell(line: str) -> Any:
    return tool_call("shell", json.dumps({"command": line}))


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_a_sandboxed_hook_reads_its_input_and_can_block_a_tool_call(tmp_path: Path, kind: str) -> None:
    command = "grep -q forbidden && { echo 'not this one' >&2; exit 2; }; echo seen >> heard"
    write_hook(tmp_path / "state", "PreToolUse", command)
    script = [shell("touch made"), shell("touch forbidden"), text("done")]
    async with running(tmp_path, script, settings=confined(kind)) as sessions:
        talk = await sessions.talk("full", allow, say="go")
        first, second = talk.of(ToolCallEnd)
    assert not first.is_error and (tmp_path / "project/made").exists()
    assert second.is_error and "not this one" in second.output
    assert not (tmp_path / "project/forbidden").exists()
    assert (tmp_path / "project/heard").read_text() == "seen\n"


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_a_sandboxed_hook_is_never_run_again_without_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    home = tmp_path / "someone"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    write_hook(tmp_path / "state", "PreToolUse", f"touch {home}/escaped || exit 2")
    async with running(tmp_path, [shell("touch made"), text("done")], settings=confined(kind)) as sessions:
        talk = await sessions.talk("full", allow, say="go")
        [end] = talk.of(ToolCallEnd)
    assert end.is_error and not (home / "escaped").exists()
    assert not (tmp_path / "project/made").exists()


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_a_hook_in_the_sandbox_does_not_see_the_state_folder(tmp_path: Path, kind: str) -> None:
    state = tmp_path / "state"
    write_hook(state, "UserPromptSubmit", f"cat {state}/hooks.json && exit 2; exit 0")
    async with running(tmp_path, [text("done")], settings=confined(kind)) as sessions:
        talk = await sessions.talk("full", allow, say="go")
        assert len(sessions.model.requests) == 1
        assert not [it for it in talk.of(Warning) if it.code == "hook"]


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_the_temporary_input_file_of_a_sandboxed_hook_is_deleted_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = tmp_path / "given"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    write_hook(tmp_path / "state", "UserPromptSubmit", "cat > got")
    async with running(tmp_path, [text("done")], settings=confined(kind)) as sessions:
        await (await sessions.talk("full", allow)).say("my words")
    assert json.loads((tmp_path / "project/got").read_text())["prompt"] == "my words"
    assert not [name for name in os.listdir(place) if name.startswith("agent-ls-hook-")]
