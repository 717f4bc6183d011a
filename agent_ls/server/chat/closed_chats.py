"""Serve running sessions whose chat document was closed: mark their changes by diagnostics, and ask the user
for approvals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_ls.background import TaskStarter
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    FileChange,
    HunkStateChanged,
)
from agent_ls.server.chat.diagnostics import ChatDiagnostics
from agent_ls.server.chat.dialogs import ApprovalPrompts

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession


async def _nothing_to_show() -> None:
    """Return at once: no chat document is open, so no text has to be written before the prompt is shown."""


class ClosedChats:
    """Sessions of closed chats. `has_open_document` returns whether an open chat document shows the session
    and asks for its approvals.
    """

    def __init__(
        self,
        diagnostics: ChatDiagnostics,
        prompts: ApprovalPrompts,
        start: TaskStarter,
        has_open_document: Callable[[LiveSession], bool],
    ) -> None:
        self._diagnostics = diagnostics
        self._prompts = prompts
        self._start = start
        self._has_open_document = has_open_document
        self._by_path: dict[str, LiveSession] = {}
        self._followed: set[str] = set()

    def last_of(self, path: str) -> LiveSession | None:
        """Return the session that the chat document at `path` had when it was closed; None if it had none, or
        the session is closing.
        """
        live = self._by_path.get(path)
        return None if live is None or live.session.is_closing else live

    def add(self, path: str, live: LiveSession) -> None:
        self._by_path[path] = live
        self._diagnostics.refresh(live)
        session_id = live.session.id
        if session_id in self._followed:
            return
        self._followed.add(session_id)
        subscription = live.session.subscribe()

        async def listen() -> None:
            with subscription:
                async for item in subscription:
                    self._handle_event(item.envelope, live)
            self._followed.discard(session_id)

        self._start(listen)

    def _handle_event(self, envelope: Envelope, live: LiveSession) -> None:
        """Handle an event of the session: update diagnostics, show or withdraw the prompt for an approval.

        If the chat was opened again, the chat itself asks for approvals, so no prompt is shown here.
        """
        match envelope.event:
            case FileChange(path=path) | HunkStateChanged(path=path):
                self._diagnostics.handle_change(path)
            case ApprovalRequested() as request if not self._has_open_document(live):
                self._prompts.ask(request, live.approver, _nothing_to_show)
            case ApprovalResolved(request_id=request_id):
                self._prompts.withdraw(request_id)
            case _:
                pass
