"""What background processes change while they run: looked for at each safe boundary, and when they end.

All that is found between two looks is filed as the latest started process's that runs, unless somebody else is known
to have done it (app/filed_changes.py): what another program did meanwhile cannot be told from it, and the words say no
more than that. While another command is waited for, what changes is that command's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from agent_ls.app.filed_changes import Before, Filed, Filing
from agent_ls.app.under_way import UnderWay
from agent_ls.environments.base import Attribution


@dataclass(frozen=True, slots=True)
class _Running:
    process_id: str
    attribution: Attribution


class BackgroundChanges:
    """Of one session. `tell` posts a note to its model."""

    def __init__(self, filing: Filing, tell: Callable[[Attribution, str], None], under_way: UnderWay) -> None:
        self._filing = filing
        self._tell = tell
        self._under_way = under_way
        self._running: list[_Running] = []
        self._before: Before | None = None
        self._pauses = 0
        self._lock = anyio.Lock()
        self._told_note = ""

    async def look(self) -> None:
        """Files what changed since the last look."""
        if self._running:
            async with self._lock:
                await self._settle()

    async def pause(self) -> Before:
        """From here on changes are another command's, until `resume`; how things are now."""
        async with self._lock:
            await self._settle()
            before = (self._before if self._running else None) or await self._filing.look()
            self._pauses += 1
            return before

    def resume(self, now: Before) -> None:
        self._pauses -= 1
        self._before = now if self._running else None

    def began(self, process_id: str, attribution: Attribution, before: Before) -> None:
        """The other command was the start of this process."""
        self._running.append(_Running(process_id, attribution))
        self._under_way.began(self.look)
        self.resume(before)

    async def ended(self, process_id: str) -> None:
        """Called again for the same process, it does nothing."""
        found = next((it for it in self._running if it.process_id == process_id), None)
        if found is None:
            return
        async with self._lock:
            if found in self._running:
                await self._settle(found)
                self._running.remove(found)
                self._under_way.ended(self.look)

    async def _settle(self, ended: _Running | None = None) -> None:
        if self._pauses or not self._running or self._before is None:
            return
        who = ended or self._running[-1]
        filed, self._before = await self._filing.advance(self._before, who.attribution)
        if words := self._words(who, filed):
            self._tell(who.attribution, words)
        await self._filing.reload(filed)

    def _words(self, who: _Running, filed: Filed) -> str:
        """That it cannot be looked is told once."""
        words = filed.words(f"while the background process {who.process_id} ran")
        if words != filed.note:
            return words
        was_told, self._told_note = self._told_note, words
        return "" if words == was_told else words
