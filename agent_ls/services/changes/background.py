"""Find changes made by running background processes: check before each model call and when a process ends.

A change found between two checks is attributed to the running process that was started last, unless its
author is known (services/changes/commands.py). A change by an unrelated program between the checks looks the same,
so messages to the user do not name a process as the cause. While a foreground command runs, changes are
attributed to that command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import Attribution
from agent_ls.services.changes.commands import ChangeBaseline, CommandChangeRecorder, RecordedChanges
from agent_ls.services.changes.snapshot import Unkept
from agent_ls.services.review.running_commands import RunningCommands


@dataclass(frozen=True, slots=True)
class _Running:
    process_id: str
    attribution: Attribution


class BackgroundChanges:
    """Records the changes by background processes of one session. `tell` posts a notice to the session's model."""

    def __init__(
        self,
        recorder: CommandChangeRecorder,
        tell: Callable[[Attribution, str], None],
        under_way: RunningCommands,
    ) -> None:
        self._recorder = recorder
        self._tell = tell
        self._under_way = under_way
        self._running: list[_Running] = []
        self._before: ChangeBaseline | None = None
        self._pauses = 0
        self._lock = anyio.Lock()
        self._last_note = ""

    async def record_changes(self) -> None:
        """Record the changes since the last check."""
        if self._running:
            async with self._lock:
                await self._record_unless_paused()

    async def pause(self) -> ChangeBaseline:
        """Record the changes since the last check, and return the current state.

        Until `resume` is called, changes are attributed to a foreground command.
        """
        async with self._lock:
            await self._record_unless_paused()
            before = (self._before if self._running else None) or await self._recorder.take_baseline()
            self._pauses += 1
            return before

    async def list_unkept(self) -> Unkept:
        """Return the uncommitted work that cannot be kept now, and keep the rest."""
        async with self._lock:
            if self._pauses or self._running:  # a later copy would replace what a running command may change
                return self._before.snapshot.unkept if self._before else Unkept()
            return (await self._recorder.take_baseline()).snapshot.unkept

    def resume(self, now: ChangeBaseline) -> None:
        self._pauses -= 1
        self._before = now if self._running else None

    def register_process(self, process_id: str, attribution: Attribution, before: ChangeBaseline) -> None:
        """Register a background process that a command has started, and call `resume`.

        `before` is the state that `pause` returned before the command.
        """
        self._running.append(_Running(process_id, attribution))
        self._under_way.add_background(self.record_changes)
        self.resume(before)

    async def record_end(self, process_id: str) -> None:
        """Record the last changes of a process that has ended. Does nothing if it is called again."""
        found = next((it for it in self._running if it.process_id == process_id), None)
        if found is None:
            return
        async with self._lock:
            if found in self._running:
                await self._record_unless_paused(found)
                self._running.remove(found)
                self._under_way.remove_background(self.record_changes)

    async def _record_unless_paused(self, ended: _Running | None = None) -> None:
        if self._pauses or not self._running or self._before is None:
            return
        who = ended or self._running[-1]
        recorded, self._before = await self._recorder.record_changes(self._before, who.attribution)
        if words := self._format_notice(who, recorded):
            self._tell(who.attribution, words)
        await self._recorder.reload_files(recorded)

    def _format_notice(self, who: _Running, recorded: RecordedChanges) -> str:
        """Return the notice for the model. A note that files cannot be checked is not repeated."""
        words = recorded.format_notice(f"while the background process {who.process_id} ran")
        if words != recorded.note:
            return words
        last_note, self._last_note = self._last_note, words
        return "" if words == last_note else words
