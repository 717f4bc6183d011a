"""Print the walkthrough as a transcript: a scripted model, a scripted user, and the real loop between them.

The user allows the first edit for the session and each command once, and steers after the first edit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread

from agent_ls.headless.outcome import RunOutcome
from agent_ls.headless.style import style_for
from agent_ls.headless.transcript import Transcript
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.providers.walkthrough.script import load_script
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import ApprovalRequested, Envelope, FileChange
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import ClientState
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec

STEER = "Please also note the fix in CHANGES.md."
PAUSE_MS = 15
"""Pause between words on a terminal: readers do not have to wait, but see that the text is streamed.
"""


class ScriptedUser:
    """A simulated user, who answers approval requests and sends one steering message."""

    NAME = "the demo's user"

    def __init__(self, live: LiveSession) -> None:
        self._live = live
        self._steered = False

    def see(self, envelope: Envelope) -> None:
        match envelope.event:
            case ApprovalRequested() as request:
                self._live.approver.answer(request.request_id, self.answer(request))
            case FileChange() if not self._steered:
                self._steered = True
                self._live.session.steer(STEER, client_key="demo-steer")

    def answer(self, request: ApprovalRequested) -> ApprovalAnswer:
        session = next((rule for rule in request.rules if rule.scope == "session"), None)
        if session and request.effect.get("type") == "WriteEffect":
            return ApprovalAnswer("allow", "session", session.id, decided_by=self.NAME)
        return ApprovalAnswer("allow", decided_by=self.NAME)


async def play(
    folder: Path, state: Path, out: TextIO, user: Callable[[LiveSession], ScriptedUser] = ScriptedUser
) -> int:
    """Run the demo session in `folder`. Returns the same exit codes as exec."""
    settings = Settings(walkthrough_pause_ms=PAUSE_MS if out.isatty() else 0)
    manager = SessionManager(
        settings=settings,
        credentials=Credentials(),
        state_dir=state,
        client=ClientState(trusting="trusted"),
    )
    outcome = RunOutcome()
    async with anyio.create_task_group() as group:
        await group.start(manager.run)
        live = await manager.new_session(SessionSpec(workspace_folder=str(folder), provider="walkthrough"))
        person = user(live)
        transcript = Transcript(style_for(is_terminal=out.isatty(), environ=os.environ))
        with live.session.subscribe() as events:
            known = live.session.last_seq  # the session may have begun before the subscription
            for line in await anyio.to_thread.run_sync(live.events_since, 0, known):
                if envelope := event_codec.decode(line):
                    out.write(transcript.feed(envelope))
            live.session.submit(load_script()["task"], client_key="demo")
            async for item in events:
                out.write(transcript.feed(item.envelope))
                out.flush()
                person.see(item.envelope)
                if outcome.see(item.envelope):
                    break
        group.cancel_scope.cancel()
    return outcome.exit_code


def main(folder: Path, state: Path) -> int:
    return anyio.run(play, folder, state, sys.stdout)
