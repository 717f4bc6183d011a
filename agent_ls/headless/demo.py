"""The walkthrough as a transcript: a scripted model and a scripted user, the real loop between them.

The user allows the first edit for the session and each command once, and steers after the first edit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import anyio

from agent_ls.app.live_session import LiveSession
from agent_ls.app.settings import Settings
from agent_ls.app.workbench import Workbench
from agent_ls.headless.exec import Outcome
from agent_ls.headless.transcript import COLOURED, PLAIN, Transcript
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.providers.walkthrough.moves import script
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested, Envelope, FileChange

STEER = "Please also note the fix in CHANGES.md."


class ScriptedUser:
    """Answers as a newcomer might, and says so."""

    def __init__(self, live: LiveSession) -> None:
        self._live = live
        self._steered = False

    def see(self, envelope: Envelope) -> None:
        match envelope.event:
            case ApprovalRequested(request_id=request_id, rules=rules, effect=effect):
                session = next((rule for rule in rules if rule.scope == "session"), None)
                if session and effect.get("type") == "WriteEffect":
                    answer = Answer(
                        "allow", "session", session.id, decided_by="the demo's user, for this session"
                    )
                else:
                    answer = Answer("allow", decided_by="the demo's user, once")
                self._live.desk.answer(request_id, answer)
            case FileChange() if not self._steered:
                self._steered = True
                self._live.session.steer(STEER, client_key="demo-steer")


async def play(folder: Path, state: Path, out: TextIO) -> int:
    """Plays the session in `folder`; 0 when it ended well."""
    bench = Workbench(settings=Settings(walkthrough_pause_ms=0), credentials=Credentials.from_environment({}),
                      state_dir=state)  # fmt: skip
    outcome = Outcome()
    async with anyio.create_task_group() as group:
        await group.start(bench.run)
        live = await bench.new_session(workspace_folder=str(folder), provider="walkthrough")
        user = ScriptedUser(live)
        transcript = Transcript(COLOURED if out.isatty() else PLAIN)
        with live.session.subscribe() as events:
            live.session.submit(script()["task"], client_key="demo")
            async for item in events:
                out.write(transcript.feed(item.envelope))
                user.see(item.envelope)
                if outcome.see(item.envelope):
                    break
        group.cancel_scope.cancel()
    return outcome.exit_code


def main(folder: Path, state: Path) -> int:
    return anyio.run(play, folder, state, sys.stdout)
