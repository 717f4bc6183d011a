"""Background commands that a killed server has left running are ended when their session is opened again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.processes import eventually, new_token, processes_with
from tests.support.served import served

pytestmark = [
    pytest.mark.req("R4", "T5"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are found in /proc"),
]


def background(token: str) -> ToolCall:
    return ToolCall("shell", {"command": f"setsid --wait env LEFT={token} sleep 600", "background": True})


async def test_background_processes_of_a_killed_server_are_ended_on_resume_and_the_model_is_informed(
    tmp_path: Path,
) -> None:
    mine, other = new_token(), new_token()
    script: list[Answer] = [[background(mine)], "Started.", [background(other)], "Started.", "I see."]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            ids = [await found.editor.new_session(provider="anthropic", mode="full") for _ in range(2)]
            for session_id in ids:
                await found.editor.say(session_id, "Start it.")
            await eventually(lambda: bool(processes_with(mine) and processes_with(other)))
            found.server.process.kill()
            await found.server.exit_code()
            assert processes_with(mine) and processes_with(other)
            async with served(tmp_path, provider=provider) as found:
                await found.editor.subscribe(ids[0])
                assert processes_with(mine) == {}
                assert processes_with(other)  # belongs to a session that is not open
                await found.editor.say(ids[0], "And now?")
                assert "processes have ended" in str(provider.requests[-1].body)
                await found.editor.subscribe(ids[1])
                assert processes_with(other) == {}
