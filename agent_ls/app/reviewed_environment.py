"""The environment of a session with a ledger: what a call changes is filed as hunks, wherever it was written."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import anyio
import anyio.lowlevel

from agent_ls.app.command_changes import Changes, CommandChanges, ListFiles, Looked
from agent_ls.app.proposals import links_of
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.reviewed_file import is_text, text_of
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    OutputSink,
)
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.errors import EnvError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.loop.events import FileChange

NAMED_FILES = 20
"""In a note to the model; the user sees all of them."""


class Journal(Protocol):
    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Told before files are written, so that a kill between a write and its event loses no hunk. Must not raise."""
        ...

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """Told before a change is shown that waits for verdicts: it is to wait on after a kill. Must not raise."""
        ...

    async def changed(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """Told what was written (nothing, when it failed), before anything is waited for. Must not raise."""
        ...


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """What is needed to file a command's changes. `document` is the text that the editor shows at a path.

    `files` is the environment without bounds: the command was allowed, and what it wrote is carried into documents.
    `reloads`: the editor shows a file anew that changed on disk, when it has no unsaved changes. `save` puts what the
    command is to find on disk there: it is no change of the command's.
    """

    changes: CommandChanges
    files: ExecutionEnvironment
    document: Callable[[str], str | None] = lambda path: None
    reloads: bool = False
    save: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint


def command_files(listed: ListFiles, files: ExecutionEnvironment, host: EditorHost | None) -> CommandFiles:
    """`listed` lists what is below the working directory."""
    changes = CommandChanges(files.working_directory(), listed)
    if host is None:
        return CommandFiles(changes, files)

    def document(path: str) -> str | None:
        found = host.open_document(path)
        return found.text if found else None

    return CommandFiles(changes, files, document, host.reloads, host.save_before_command)


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
        self._commands = commands

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
        if not self._commands or not options.attribution.call_id:
            return await self.inner.exec_command(command, options, on_output)
        await self._commands.save()
        before = await self._commands.changes.look()
        note = ""
        try:
            result = await self.inner.exec_command(command, options, on_output)
        finally:
            # Also of a command that was stopped: what it did to files stands there.
            with anyio.CancelScope(shield=True):
                note = await self._filed(self._commands, before, options.attribution)
        return replace(result, note=" ".join(filter(None, (result.note, note))))

    async def _filed(self, commands: CommandFiles, before: Looked, attribution: Attribution) -> str:
        """Files what a command changed as changes of its call; says for the model what they are."""
        found = await commands.changes.changes(before)
        texts = [state for state in found.states if is_text(state.before) and is_text(state.after)]
        await self._journal.announce(texts, attribution)
        refused: list[str] = []
        for state in texts:
            try:
                await self._take_over(commands, state, attribution)
            except EnvError:
                refused.append(state.path)
        await self._journal.changed(texts, attribution)
        for path in found.unknown:
            self._desk.tell(attribution.session_id, FileChange(attribution.call_id, path, "modify", 0, 0, ""))
        return changes_note(found, refused, self.working_directory())

    async def _take_over(self, commands: CommandFiles, state: FileState, attribution: Attribution) -> None:
        """A document with unsaved changes of the user's gets the command's merged in; all else is on disk already.

        Raises:
            EnvError: the user changed the same lines, or the editor refuses: the document stays as it is.
        """
        shown = commands.document(state.path)
        old, new = text_of(state.before), text_of(state.after)
        is_clean = shown is None or shown in (old, new)
        if shown is not None and state.after is not None and not (is_clean and commands.reloads):
            write = FileWrite(state.path, state.after, state.before)
            for merged in await commands.files.commit([write], attribution):
                self._desk.committed(merged, attribution)
        if is_clean:
            self._desk.committed(state, attribution)

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

    def _meant(self, write: FileWrite) -> FileState:
        return FileState(self._absolute(write.path), write.base, write.content)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))


def changes_note(found: Changes, refused: Sequence[str], folder: str) -> str:
    """What a command changed, in words for the model; "" for nothing."""
    words = {True: " (new)", False: ""}
    told = [
        _shown(state.path, folder) + (" (deleted)" if state.after is None else words[state.before is None])
        for state in found.states
        if state.path not in refused
    ]
    more = f" and {len(told) - NAMED_FILES} more" if len(told) > NAMED_FILES else ""
    notes = (
        [f"Changed by the command, for the user to review: {', '.join(told[:NAMED_FILES])}{more}."]
        if told
        else []
    )
    if found.unknown:
        names = ", ".join(_shown(path, folder) for path in found.unknown[:NAMED_FILES])
        notes.append(f"Changed by the command, the earlier text is not known: {names}.")
    if refused:
        names = ", ".join(_shown(path, folder) for path in refused)
        notes.append(
            "Changed on disk by the command, but the editor shows it with unsaved changes of the user's that "
            f"do not go with that; they were left as they are: {names}."
        )
    return " ".join([*notes, found.note]).strip()


def _shown(path: str, folder: str) -> str:
    return path.removeprefix(folder.rstrip("/") + "/")
