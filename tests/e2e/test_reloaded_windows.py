"""A window of VS Code that is reloaded in the middle of work, in its chat without the editor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.vscode_chat import build, vscode_chat

pytestmark = pytest.mark.req("H9", "R4")


async def test_a_reload_while_an_approval_waits_shows_it_again_and_the_turn_goes_on(tmp_path: Path) -> None:
    project, program = tmp_path / "project", build(tmp_path / "program")
    project.mkdir()
    with AnthropicServer([[ToolCall("shell", {"command": "touch made"})], "Made."]) as server:
        home = {"AGENT_LS_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path), TRUST_VARIABLE: os.sep}
        variables = home | provider_variables(server)
        async with vscode_chat(program, project, variables, {"mode": "ask"}) as chat:
            await chat.say("go")
            before = await chat.until(lambda now: "Allow Once" in now.buttons)
        async with vscode_chat(program, project, variables, {"mode": "ask"}) as chat:
            await chat.open(before.session)
            again = await chat.until(lambda now: "Allow Once" in now.buttons)
            assert again.lines == before.lines and not (project / "made").exists()
            await chat.press("Allow Once")
            await chat.until(lambda now: "Made." in now.lines)
    assert (project / "made").exists()
