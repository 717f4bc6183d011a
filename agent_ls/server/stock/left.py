"""Sessions whose chat was closed: they go on, their changes are marked, and what they ask is asked."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, Envelope, FileChange, HunkStateChanged
from agent_ls.server.seams import Live
from agent_ls.server.stock.marks import Marks
from agent_ls.server.stock.means import Start
from agent_ls.server.stock.prompts import ApprovalPrompts


async def _nothing_to_show() -> None:
    """The chat will say it when it is opened again."""


class LeftSessions:
    """`is_shown`: an open chat document has this session, and asks by itself."""

    def __init__(
        self, marks: Marks, prompts: ApprovalPrompts, start: Start, is_shown: Callable[[Live], bool]
    ) -> None:
        self._marks = marks
        self._prompts = prompts
        self._start = start
        self._is_shown = is_shown
        self._by_path: dict[str, Live] = {}
        self._followed: set[str] = set()

    def last_of(self, path: str) -> Live | None:
        """The session of a chat document that is not open any more."""
        live = self._by_path.get(path)
        return None if live is None or live.session.is_closing else live

    def add(self, path: str, live: Live) -> None:
        self._by_path[path] = live
        self._marks.refresh(live)
        session_id = live.session.id
        if session_id in self._followed:
            return
        self._followed.add(session_id)
        subscription = live.session.subscribe()

        async def listen() -> None:
            with subscription:
                async for item in subscription:
                    self._tell(item.envelope, live)
            self._followed.discard(session_id)

        self._start(listen)

    def _tell(self, envelope: Envelope, live: Live) -> None:
        """What a chat that is open again tells as well, is told once."""
        match envelope.event:
            case FileChange(path=path) | HunkStateChanged(path=path):
                self._marks.changed(path)
            case ApprovalRequested() as request if not self._is_shown(live):
                self._prompts.ask(request, live.desk, _nothing_to_show)
            case ApprovalResolved(request_id=request_id):
                self._prompts.resolved(request_id)
            case _:
                pass
