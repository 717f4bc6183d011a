"""The server is ended in an orderly way while turns run: no process survives, the log is complete, the exit code is
right.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.store.sessions import SessionStore
from tests.durability.story import environment
from tests.support.editor import Editor
from tests.support.framed_client import ServerProcess, server_process
from tests.support.loopback import Answer, AnthropicServer, Gate, Text, ToolCall
from tests.support.processes import eventually, new_token, processes_with

pytestmark = pytest.mark.req("R2", "R4", "L16")


async def hang_up(editor: Editor, server: ServerProcess) -> None:
    await editor.client.hang_up()


async def terminate(editor: Editor, server: ServerProcess) -> None:
    server.process.send_signal(signal.SIGTERM)


async def lose_terminal(editor: Editor, server: ServerProcess) -> None:
    server.process.send_signal(signal.SIGHUP)


async def exit_at_once(editor: Editor, server: ServerProcess) -> None:
    await editor.client.notify("exit")


async def shut_down(editor: Editor, server: ServerProcess) -> None:
    await editor.client.shut_down()


Ending = Callable[[Editor, ServerProcess], Awaitable[None]]
ENDINGS = [
    pytest.param(hang_up, 1, id="stdin closed"),
    pytest.param(terminate, 0, id="SIGTERM"),
    pytest.param(lose_terminal, 0, id="SIGHUP"),
    pytest.param(exit_at_once, 1, id="exit without shutdown"),
    pytest.param(shut_down, 0, id="shutdown and exit"),
]


async def asked(editor: Editor, session_id: str) -> dict[str, Any]:
    """Return the first approval request of this session."""
    message = await editor.client.wait_for(
        lambda m: (
            m.get("params", {}).get("kind") == "approval_requested" and m["params"]["sessionId"] == session_id
        )
    )
    found: dict[str, Any] = message["params"]
    return found


@pytest.mark.parametrize(("end", "code"), ENDINGS)
async def test_a_server_shutdown_interrupts_or_suspends_all_running_turns(
    end: Ending, code: int, tmp_path: Path
) -> None:
    """One session streams, one waits for an approval, and one runs commands that ignore SIGTERM."""
    token = new_token()
    stubborn = f"trap '' TERM; LEFT={token} sleep 600 & setsid env LEFT={token} sleep 600 & wait; wait"
    answers: dict[str, Answer] = {
        "Stream.": [Text("Half a sen", Gate())],
        "Ask.": [ToolCall("shell", {"command": "touch made"})],
        "Run.": [ToolCall("shell", {"command": stubborn, "timeout_ms": 600_000})],
        "The user said no": "So be it.",
        "Go on.": "Fine.",
    }

    def script(body: object) -> Answer:
        return next(answer for text, answer in reversed(answers.items()) if text in str(body))

    with AnthropicServer(script) as provider:
        env = environment(provider, tmp_path / "state")
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(tmp_path)
            ids = {
                text: await editor.new_session(provider="anthropic", mode=mode)
                for text, mode in (("Stream.", "ask"), ("Ask.", "ask"), ("Run.", "full"))
            }
            for text, session_id in ids.items():
                await editor.submit(session_id, text)
            await editor.client.event("assistant_text_delta")
            await asked(editor, ids["Ask."])
            # the policy cannot inspect this command, so it needs approval in every mode
            await editor.approve(await asked(editor, ids["Run."]))
            await eventually(lambda: len(processes_with(token)) >= 2)
            await end(editor, server)
            assert await server.exit_code() == code
            assert processes_with(token) == {}
            assert "Traceback" not in server.log
        store = SessionStore(tmp_path / "state", on_failure=lambda _, error: pytest.fail(str(error)))
        for session_id in ids.values():
            stored = store.read(session_id)
            kinds = [event.encoded.split(b'"kind":"')[1].split(b'"')[0] for event in stored.events]
            assert stored.problems == ()
            assert kinds[-1] == b"session_end"
            waits = session_id == ids["Ask."]
            assert kinds.count(b"processing_end") == (0 if waits else 1)
            assert kinds.count(b"tool_call_start") == kinds.count(b"tool_call_end") + waits
            assert kinds.count(b"approval_resolved") == (session_id == ids["Run."])
            assert (bool(stored.state.turn_id), len(stored.state.approvals)) == (waits, waits)
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(tmp_path)
            waiting = await editor.subscribe(ids["Ask."])
            assert waiting["session"]["state"] == "AWAITING_INPUT"
            (request,) = waiting["pending"]["approvals"]
            await editor.approve({"sessionId": ids["Ask."], "data": request}, "deny")
            await editor.client.event("processing_end", reason="refused")
            for session_id in (ids["Stream."], ids["Run."]):
                resumed = await editor.subscribe(session_id)
                ends = [e["data"]["reason"] for e in resumed["events"] if e["kind"] == "processing_end"]
                assert ends == ["interrupted"]
                assert resumed["session"]["state"] == "IDLE"
                await editor.say(session_id, "Go on.")
        assert len(provider.requests) == 6
