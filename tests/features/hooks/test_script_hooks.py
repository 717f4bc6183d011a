"""Hooks in the form of Cline: files that are named after an event, with an input and an answer of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.hooks.confirmed import ConfirmedHooks
from agent_ls.services.settings.model import HookSettings
from tests.features.hooks.test_session import played
from tests.library.sessions import call
from tests.support.fake_provider import FakeProvider, text
from tests.support.reports import reported

pytestmark = [
    pytest.mark.req("T15"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX scripts"),
]


FOREIGN = HookSettings(foreign=True)


def confirm(tmp_path: Path) -> dict[str, Any]:
    """Confirm the hooks of the project, and return the settings with which they run."""
    (tmp_path / "state").mkdir()
    project = str(tmp_path / "project")
    found = load_hooks(FOREIGN, str(tmp_path / "state"), project)
    ConfirmedHooks(tmp_path / "state").confirm(found.hooks, project, "2026-01-01T00:00:00Z")
    return {"hooks": {"foreign": True}}


def write(path: Path, body: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)


PLACES = [
    reported("cline/cline#13277", "project/.clinerules/hooks/PreToolUse"),
    reported(
        "cline/cline#7479",
        "project/.clinerules/hooks/PreToolUse.sh",
    ),
    reported("dyoshikawa/rulesync#2405", "project/.cline/hooks/PreToolUse"),
    reported("rtk-ai/rtk#3841", "home/.cline/hooks/PreToolUse.sh"),
    "home/Documents/Cline/Hooks/pretooluse",
    reported("cline/cline#6846", "home/Documents/Cline/Rules/Hooks/PreToolUse"),
]


@pytest.mark.parametrize("name", PLACES)
async def test_a_file_named_after_an_event_is_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(
        tmp_path / name,
        'grep -q \'"preToolUse": {"toolName": "execute_command", "parameters": {"command": "touch made"\' '
        '&& echo \'{"cancel": true, "errorMessage": "not here"}\'',
    )
    (tmp_path / "project").mkdir(exist_ok=True)
    settings = confirm(tmp_path)
    model = FakeProvider([call("shell", command="touch made"), [text("Done.")]])
    ends, _ = await played(tmp_path, model, settings=settings)
    assert "not here" in ends[0].output and not (tmp_path / "project/made").exists()


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_script_gets_the_path_in_the_project(tmp_path: Path, provider: str) -> None:
    write(
        tmp_path / "project/.clinerules/hooks/PreToolUse",
        'grep -q \'"path": "sub/a.js"\' && echo \'{"cancel": true, "errorMessage": "no JavaScript"}\'',
    )
    settings = confirm(tmp_path)
    patch = "*** Begin Patch\n*** Add File: sub/a.js\n+x\n*** End Patch"
    made = {
        "anthropic": call("write_file", file_path="./sub/a.js", content="x"),
        "openai": call("apply_patch", patch=patch),
    }[provider]
    model = FakeProvider([made, [text("Done.")]])
    ends, _ = await played(tmp_path, model, settings=settings, provider=provider, adapters={provider: model})
    assert "no JavaScript" in ends[0].output and not (tmp_path / "project/sub/a.js").exists()


@pytest.mark.report("vectorize-io/hindsight#2711")
@pytest.mark.report("cline/cline#13554")
async def test_scripts_add_context_at_the_start_and_at_a_message(tmp_path: Path) -> None:
    folder = tmp_path / "project/.clinerules/hooks"
    write(folder / "TaskStart", 'echo \'{"cancel": false, "contextModification": "SAID-START"}\'')
    write(folder / "TaskResume", 'echo \'{"contextModification": "SAID-RESUME"}\'')
    write(
        folder / "UserPromptSubmit",
        'grep -q \'"userPromptSubmit": {"prompt": "Do it."\' && echo \'{"contextModification": "SAID-PROMPT"}\'',
    )
    settings = confirm(tmp_path)
    model = FakeProvider([[text("Done.")]])
    await played(tmp_path, model, settings=settings)
    sent = str(model.requests[0].messages)
    assert [name for name in ("START", "RESUME", "PROMPT") if f"SAID-{name}" in sent] == ["START", "PROMPT"]


@pytest.mark.report("cline/cline#6755")
@pytest.mark.report("cline/cline#6962")
def test_other_files_beside_scripts_are_no_hooks(tmp_path: Path) -> None:
    folder = tmp_path / "project/.clinerules/hooks"
    write(folder / "PreToolUse", "true", 0o644)  # switched off
    for name in ("PostToolUse.example", "README.md", "lib/PreToolUse", "helper.sh"):
        write(folder / name, "true")
    write(folder / "Stop.ts", "true")
    write(folder / "TaskCancel", "true")
    found = load_hooks(FOREIGN, str(tmp_path / "state"), str(tmp_path / "project"))
    assert not found.hooks and len(found.problems) == 2
    write(folder / "PreToolUse", "true")
    off = load_hooks(HookSettings(), str(tmp_path / "state"), str(tmp_path / "project"))
    on = load_hooks(FOREIGN, str(tmp_path / "state"), str(tmp_path / "project"))
    assert (len(off.hooks), len(on.hooks)) == (0, 1)
