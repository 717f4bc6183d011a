"""The environment of a session with a ledger: what a call changes is filed as hunks, wherever it was written."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio

from agent_ls.app.background_changes import BackgroundChanges
from agent_ls.app.filed_changes import CommandFiles, Filed, Filing
from agent_ls.app.journal import Journal
from agent_ls.app.proposals import links_of
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.loop.editor_events import SaveRequested


@dataclass(frozen=True, slots=True)
class _Commands:
    """How what commands change is found."""

    files: CommandFiles
    filing: Filing
    background: BackgroundChanges


class ReviewedEnvironment(ForwardingEnvironment):
    """Open documents are told by the editor host as they change; this tells of all other files.

    `is_reviewed_first` says of a call whether its changes are shown before they are made, and wait for verdicts.
    `commands` None: what commands do to files is not looked for.
    """

    def __init__(
        self,
        inner: ExecutionEnvironment,
        desk: ReviewDesk,
        journal: Journal,
        is_reviewed_first: Callable[[str], bool] = lambda call_id: False,
        commands: CommandFiles | None = None,
    ) -> None:
        super().__init__(inner)
        self._desk = desk
        self._journal = journal
        self._is_reviewed_first = is_reviewed_first
        self._commands: _Commands | None = None
        if commands:
            filing = Filing(desk, journal, commands)
            self._commands = _Commands(
                commands, filing, BackgroundChanges(filing, self._tell, desk.under_way)
            )

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        audience = self._desk.audience(attribution.session_id)
        if audience and self._is_reviewed_first(attribution.call_id):
            named = [replace(write, path=self._absolute(write.path)) for write in writes]
            await self._journal.propose(named, attribution)
            return await self._desk.proposals.review_first(named, attribution, audience)
        meant = [self._meant(write) for write in writes]
        await self._journal.announce(meant, attribution)
        links = links_of([replace(write, path=self._absolute(write.path)) for write in writes])
        states: Sequence[FileState] = ()
        with self._desk.writing([state.path for state in meant], links):
            try:
                states = await self.inner.commit(writes, attribution)
                # No await in between: what is written is told, also when the call is cancelled by now.
                for state in states:
                    self._desk.committed(state, attribution)
            finally:
                await self._journal.changed(states, attribution)
        return states

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        self._journal.demand_ours()
        if not (self._commands and options.attribution.call_id):
            return await self.inner.exec_command(command, options, on_output)
        watched = self._commands
        await watched.files.save(partial(self._tell_of_save, options.attribution))
        before = await watched.background.pause()
        filed = Filed()
        with self._desk.under_way.waiting():
            try:
                result = await self.inner.exec_command(command, options, on_output)
            finally:
                # Also of a command that was stopped: what it did to files stands there.
                with anyio.CancelScope(shield=True):
                    filed, before = await watched.filing.advance(before, options.attribution)
                    watched.background.resume(before)
        return replace(result, note=" ".join(filter(None, (result.note, filed.words("by the command")))))

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        self._journal.demand_ours()
        if not (self._commands and options.attribution.call_id):
            return await self.inner.start_process(command, options)
        watched = self._commands
        await watched.files.save(partial(self._tell_of_save, options.attribution))
        before = await watched.background.pause()
        try:
            process = await self.inner.start_process(command, options)
        except BaseException:
            watched.background.resume(before)
            raise
        watched.background.began(process.id, options.attribution, before)
        return process

    async def wait_process(self, process_id: str) -> ProcessInfo:
        process = await self.inner.wait_process(process_id)
        if self._commands:
            await self._commands.background.ended(process_id)
        return process

    async def apply(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        through: ExecutionEnvironment | None = None,
    ) -> Sequence[FileState]:
        """Commits what a person kept of proposals; the desk, which asks for it, files it itself."""
        meant = [self._meant(write) for write in writes]
        await self._journal.announce(meant, attribution)
        with self._desk.writing([state.path for state in meant]):
            states: Sequence[FileState] = ()
            try:
                states = await (through or self.inner).commit(writes, attribution)
            finally:
                await self._journal.changed(states, attribution)
            return states

    def _tell_of_save(self, attribution: Attribution, paths: Sequence[str]) -> None:
        self._desk.tell(attribution.session_id, SaveRequested(attribution.call_id, tuple(paths)))

    def _tell(self, attribution: Attribution, words: str) -> None:
        if audience := self._desk.audience(attribution.session_id):
            audience.notice(words)

    def _meant(self, write: FileWrite) -> FileState:
        return FileState(self._absolute(write.path), write.base, write.content)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))
