"""The environment of a session with review: records the changes of a call as hunks."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio

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
from agent_ls.environments.errors import EnvError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.loop.events.editor import SaveRequested
from agent_ls.services.changes.background import BackgroundChanges
from agent_ls.services.changes.commands import (
    CommandChangeRecorder,
    CommandFiles,
    RecordedChanges,
    format_unkept,
)
from agent_ls.services.changes.failed_commits import find_writes
from agent_ls.services.review.journal import Journal
from agent_ls.services.review.proposals import links_of
from agent_ls.services.review.service import ReviewService


@dataclass(frozen=True, slots=True)
class _Commands:
    """The objects that find the files which commands change."""

    files: CommandFiles
    recorder: CommandChangeRecorder
    background: BackgroundChanges


class ReviewedEnvironment(ForwardingEnvironment):
    """Environment wrapper that reports writes to the review. The editor reports writes to open documents itself.

    `is_reviewed_first` returns whether the user decides about the changes of a call before they are written.
    `commands` None: changes by commands are not recorded. `may_fail_late`: the code of a program writes the files, and
    may raise after it has written.
    """

    def __init__(
        self,
        inner: ExecutionEnvironment,
        review: ReviewService,
        journal: Journal,
        is_reviewed_first: Callable[[str], bool] = lambda call_id: False,
        commands: CommandFiles | None = None,
        *,
        may_fail_late: bool = False,
    ) -> None:
        super().__init__(inner)
        self._may_fail_late = may_fail_late
        self._review = review
        self._journal = journal
        self._is_reviewed_first = is_reviewed_first
        self._commands: _Commands | None = None
        if commands:
            recorder = CommandChangeRecorder(review, journal, commands)
            self._commands = _Commands(
                commands, recorder, BackgroundChanges(recorder, self._notify_model, review.under_way)
            )

    async def cleanup(self) -> None:
        await super().cleanup()
        if self._commands:
            self._commands.files.changes.close()

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        session = self._review.state.find_session(attribution.session_id)
        if session and self._is_reviewed_first(attribution.call_id):
            named = [replace(write, path=self._absolute(write.path)) for write in writes]
            await self._journal.propose(named, attribution)
            return await self._review.proposals.review_first(named, attribution, session)
        meant = [self._resolve_write(write) for write in writes]
        await self._journal.announce(meant, attribution)
        links = links_of([replace(write, path=self._absolute(write.path)) for write in writes])
        states: Sequence[FileState] = ()
        with self._review.writing([state.path for state in meant], links):
            try:
                states = await self.inner.commit(writes, attribution)
            except BaseException as error:
                states = await self._find_writes(meant, attribution.session_id, error)
                raise
            finally:
                # No await in between: a completed write is reported even if the call has been cancelled.
                for state in states:
                    self._review.report_commit(state, attribution)
                await self._journal.record_written(states, attribution)
        return states

    async def _find_writes(
        self, meant: Sequence[FileState], session_id: str, error: BaseException
    ) -> Sequence[FileState]:
        """Return the writes that a failed commit has made nevertheless, and warn of files with unclear content."""
        if not self._may_fail_late:
            return ()
        found = await find_writes(self.inner, meant, error)
        for warning in found.warnings:
            self._review.state.publish(session_id, warning)
        return found.states

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        self._journal.check_ownership()
        if not (self._commands and options.attribution.call_id):
            return await self.inner.exec_command(command, options, on_output)
        watched = self._commands
        await watched.files.save(partial(self._publish_save_request, options.attribution))
        before = await watched.background.pause()
        recorded = RecordedChanges()
        with self._review.under_way.mark_running():
            try:
                result = await self.inner.exec_command(command, options, on_output)
            finally:
                # Runs even if the command was cancelled, because its file changes remain.
                with anyio.CancelScope(shield=True):
                    recorded, before = await watched.recorder.record_changes(before, options.attribution)
                    watched.background.resume(before)
        return replace(
            result, note=" ".join(filter(None, (result.note, recorded.format_notice("by the command"))))
        )

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        self._journal.check_ownership()
        if not (self._commands and options.attribution.call_id):
            return await self.inner.start_process(command, options)
        watched = self._commands
        await watched.files.save(partial(self._publish_save_request, options.attribution))
        before = await watched.background.pause()
        try:
            process = await self.inner.start_process(command, options)
        except BaseException:
            watched.background.resume(before)
            raise
        watched.background.register_process(process.id, options.attribution, before)
        return process

    async def wait_process(self, process_id: str) -> ProcessInfo:
        process = await self.inner.wait_process(process_id)
        if self._commands:
            await self._commands.background.record_end(process_id)
        return process

    async def warn_of_loss(self) -> str:
        """Return the sentence about uncommitted work that a command could destroy for good; "" for none."""
        if not self._commands:
            return ""
        unkept = await self._commands.background.list_unkept()
        return format_unkept(unkept, self.working_directory())

    async def apply(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        through: ExecutionEnvironment | None = None,
    ) -> Sequence[FileState]:
        """Commit the proposed hunks that the user kept. The caller (the review) records the hunks.

        `through` is the environment that writes the files; None: the wrapped environment.
        """
        meant = [self._resolve_write(write) for write in writes]
        await self._journal.announce(meant, attribution)
        with self._review.writing([state.path for state in meant]):
            record = partial(self._journal.record_written, attribution=attribution)
            return await self.commit_decided(
                writes, attribution, record, through or self.inner, attribution.session_id
            )

    async def commit_decided(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        record: Callable[[Sequence[FileState]], Awaitable[None]],
        through: ExecutionEnvironment,
        session_id: str,
    ) -> Sequence[FileState]:
        """Commit what the user has decided: kept hunks, an undo, or a roll back.

        `record` gets what was written, also if the commit raises. If all is written, its error has no effect. The
        session `session_id` is warned of files with unclear content.

        Raises:
            EnvError: a file was not written.
        """
        meant = [self._resolve_write(write) for write in writes]
        states: Sequence[FileState] = ()
        try:
            states = await through.commit(writes, attribution)
        except BaseException as error:
            states = await self._find_writes(meant, session_id, error)
            is_written = all(it.before == it.after or it in states for it in meant)
            if not (is_written and isinstance(error, EnvError)):
                raise
            states = meant
        finally:
            await record(states)
        return states

    def _publish_save_request(self, attribution: Attribution, paths: Sequence[str]) -> None:
        self._review.state.publish(attribution.session_id, SaveRequested(attribution.call_id, tuple(paths)))

    def _notify_model(self, attribution: Attribution, words: str) -> None:
        if session := self._review.state.find_session(attribution.session_id):
            session.notice(words)

    def _resolve_write(self, write: FileWrite) -> FileState:
        return FileState(self._absolute(write.path), write.base, write.content)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))
