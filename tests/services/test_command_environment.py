"""The setting for the environment variables of commands decides which variables a real command gets (X5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.llm.credentials import Credentials
from agent_ls.services.settings.model import parse_settings
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import running

KEY = "sk-test-never-shown"


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ({}, ["MINE"]),
        ({"inherit": "none"}, []),
        ({"inherit": "core"}, []),
        ({"inherit": "minimal", "keep": ["MINE"]}, ["MINE"]),
        ({"inherit": "all"}, ["MINE", "MY_TOKEN"]),
        ({"inherit": "all", "deny": ["M*"]}, []),
        ({"keep": ["MY_TOKEN"]}, ["MINE", "MY_TOKEN"]),
        ({"inherit": "all", "keep": ["ANTHROPIC_API_KEY"]}, ["MINE", "MY_TOKEN"]),
    ],
)
async def test_a_command_gets_the_variables_that_the_setting_permits(
    chosen: dict[str, object], seen: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("MY_TOKEN", "2")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings, problems = parse_settings({"commandEnvironment": chosen})
    assert problems == []
    look = {
        "command": 'for name in MINE MY_TOKEN ANTHROPIC_API_KEY; do [ -n "${!name}" ] && echo $name; done; true'
    }
    script: list[Piece] = [tool_call("shell", json.dumps(look)), text("Done.")]
    credentials = Credentials.from_environment()
    async with running(tmp_path, script, settings=settings, credentials=credentials) as rig:
        await rig.talk("full", say="look")
        (result,) = rig.results()
    names = [
        line for line in result.content.splitlines() if line in ("MINE", "MY_TOKEN", "ANTHROPIC_API_KEY")
    ]
    assert names == seen
    assert KEY not in result.content
