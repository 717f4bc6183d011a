"""Record the changes that commands make as hunks of their calls, and merge them into unsaved documents.

Changes of another origin are left out: changes that the ledger already contains (an agent's edit, a decision
of the user), and changes that the editor itself has saved.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import anyio
import anyio.lowlevel

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.editor_host import EditorHost
from agent_ls.environments.errors import EnvError
from agent_ls.loop.events.types import FileChange, Warning
from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.services.changes.snapshot import ChangeFinder, FileSnapshot, FoundChanges, ListFiles, Unkept
from agent_ls.services.review.change_events import action
from agent_ls.services.review.journal import Journal
from agent_ls.services.review.reports import SavedByUs
from agent_ls.services.review.reviewed_file import is_text, read_form, text_of
from agent_ls.services.review.service import ReviewService
from agent_ls.system import display_path
from agent_ls.text import NotEncodableError, decode, encode, split_lines

NAMED_FILES = 20
"""Maximum number of files named in a notice to the model. The user sees all of them."""

NAMED_UNKEPT = 3
"""Maximum number of files that the approval of a command names because they cannot be kept."""

MERGED, CONFLICT = "merged_change", "disk_conflict"
"""Codes of warnings about a document with unsaved changes whose file a command changed."""

_NO_LEDGER = object()

_Outcome: TypeAlias = Literal["recorded", "merged", "refused"]


async def _saved_nothing(report: Callable[[Sequence[str]], None]) -> None:
    await anyio.lowlevel.checkpoint()


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """Dependencies for recording a command's changes.

    `document` returns the text of a path that is open in the editor, else None.
    `files` is the environment without the path policy, because the policy has already allowed the command.
    `reloads`: the editor reloads a document without unsaved changes when its file changes. `tell_changed` asks the
    editor to reload documents. `save` makes the editor save open documents before the command runs, and reports
    the saved paths, so that a save is not recorded as a change by the command.
    """

    changes: ChangeFinder
    files: ExecutionEnvironment
    document: Callable[[str], str | None] = lambda path: None
    reloads: bool = False
    save: Callable[[Callable[[Sequence[str]], None]], Awaitable[object]] = _saved_nothing
    tell_changed: Callable[[Sequence[str]], Awaitable[None]] | None = None


def command_files(
    listed: ListFiles, files: ExecutionEnvironment, host: EditorHost | None, scope: Callable[[], object]
) -> CommandFiles:
    """Return the dependencies for recording the changes of a session's commands.

    `listed` lists the files in the working directory and in the folders from `scope`.
    """
    changes = ChangeFinder(files.working_directory(), listed, scope)
    if host is None:
        return CommandFiles(changes, files)

    def document(path: str) -> str | None:
        found = host.open_document(path)
        return found.text if found else None

    return CommandFiles(changes, files, document, host.reloads, host.save_before_command, host.files_changed)


@dataclass(frozen=True, slots=True)
class ChangeBaseline:
    """State of files and ledgers at the time of a check. `save` is the number of the editor's last save at that
    time.
    """

    snapshot: FileSnapshot
    ledgers: Mapping[str, object]
    save: int = 0


@dataclass(frozen=True, slots=True)
class RecordedChanges:
    """The recorded changes of a command.

    `merged` are paths of unsaved documents into which the command's changes were merged. `refused` are paths
    of unsaved documents that stay as they are, because the user's text conflicts with the command's change.
    `unknown` are changed files without a stored old text. `whole` are files that can be rolled back, but not reviewed.
    `beside_text` are files of which only permission bits or a link changed, which are shown, but not restored.
    `note` is a sentence about changed files that were not recorded, or "". Messages name paths relative to `folder`.
    """

    states: tuple[FileState, ...] = ()
    merged: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    note: str = ""
    folder: str = ""
    whole: tuple[FileState, ...] = ()
    beside_text: tuple[str, ...] = ()

    def format_notice(self, how: str) -> str:
        """Return the notice for the model, or "". `how` is a phrase such as "by the command"."""
        more = f" and {len(self.states) - NAMED_FILES} more" if len(self.states) > NAMED_FILES else ""
        notes = []
        if self.states:
            notes.append(f"Changed {how}, for the user to review: {self._join_changes(self.states)}{more}.")
        if self.whole:
            notes.append(
                f"Changed {how}, and brought back only as whole files, by a roll back: "
                f"{self._join_changes(self.whole)}."
            )
        if self.unknown:
            notes.append(
                f"Changed {how}, but the earlier text is unknown, so these files are not listed for review: "
                f"{self._join_names(self.unknown)}."
            )
        if self.beside_text:
            notes.append(
                f"Changed {how}, and neither in the review nor in a roll back: permission bits or symbolic links: "
                f"{self._join_names(self.beside_text)}."
            )
        if self.refused:
            notes.append(
                f"Changed on disk {how}, but these files have conflicting unsaved changes of the user in the "
                f"editor, which were kept: {self._join_names(self.refused)}."
            )
        return " ".join([*notes, self.note]).strip()

    def _format_change(self, state: FileState) -> str:
        is_merged = ", merged into the user's unsaved changes" if state.path in self.merged else ""
        what = "deleted" if state.after is None else "new" if state.before is None else ""
        words = f"{what}{is_merged}".removeprefix(", ")
        return (
            f"{display_path(state.path, self.folder)} ({words})"
            if words
            else display_path(state.path, self.folder)
        )

    def _join_changes(self, states: Sequence[FileState]) -> str:
        return ", ".join(map(self._format_change, states[:NAMED_FILES]))

    def _join_names(self, paths: Sequence[str]) -> str:
        return ", ".join(display_path(path, self.folder) for path in paths[:NAMED_FILES])


class CommandChangeRecorder:
    """Finds and records the changes of one session's commands."""

    def __init__(self, review: ReviewService, journal: Journal, commands: CommandFiles) -> None:
        self._review = review
        self._journal = journal
        self._commands = commands

    async def take_baseline(self) -> ChangeBaseline:
        # Read the save number before the check, because the check may miss a save that happens while it runs.
        save = self._review.saved.number
        return self._make_baseline(await self._commands.changes.take_snapshot(), save)

    async def record_changes(
        self, before: ChangeBaseline, who: Attribution
    ) -> tuple[RecordedChanges, ChangeBaseline]:
        """Record the changes since `before` as changes of the call `who`. Return the changes and the new state."""
        save = self._review.saved.number
        found, snapshot = await self._commands.changes.find_changes(before.snapshot)
        with anyio.CancelScope(shield=True):  # cancelling this half way would record some changes twice
            recorded = await self._record(found, before, who)
        return recorded, self._make_baseline(snapshot, save)

    async def reload_files(self, recorded: RecordedChanges) -> None:
        """Ask the editor to reload the changed files that it has open."""
        paths = [state.path for state in recorded.states if self._commands.document(state.path) is not None]
        if paths and self._commands.tell_changed:
            await self._commands.tell_changed(paths)

    def _make_baseline(self, snapshot: FileSnapshot, save: int) -> ChangeBaseline:
        return ChangeBaseline(snapshot, self._review.current_texts(), save)

    async def _record(self, found: FoundChanges, before: ChangeBaseline, who: Attribution) -> RecordedChanges:
        reduced = (self._reduce_to_own_part(state, before) for state in found.states)
        states = [state for state in reduced if state]
        whole = [state for state in found.whole if not self._review.saved.since(state.path, before.save)]
        await self._journal.announce([*states, *whole], who)
        refused: list[str] = []
        merged: set[str] = set()
        for state in states:
            outcome = await self._take_over(state, who)
            if outcome == "refused":
                refused.append(state.path)
            elif outcome == "merged":
                merged.add(state.path)
        await self._journal.record_written([*states, *whole], who)
        changed = [FileChange(who.call_id, path, "modify", 0, 0, "") for path in found.unknown]
        changed += (FileChange(who.call_id, it.path, action(it.before, it.after), 0, 0, "") for it in whole)
        changed += (FileChange(who.call_id, it.path, it.action, 0, 0, it.diff) for it in found.beside_text)
        for event in changed:
            self._review.state.publish(who.session_id, event)
        self._tell_user(who, sorted(merged), refused)
        return RecordedChanges(
            tuple(state for state in states if state.path not in refused),
            frozenset(merged),
            tuple(refused),
            found.unknown,
            found.note,
            self._commands.files.working_directory(),
            tuple(whole),
            tuple(it.path for it in found.beside_text),
        )

    def _reduce_to_own_part(self, state: FileState, before: ChangeBaseline) -> FileState | None:
        """Return the command's own part of a change, without text that the editor saved or the ledger contains
        already. None if nothing remains, or if a version is binary.
        """
        if not (is_text(state.before) and is_text(state.after)):
            return None
        new = text_of(state.after)
        if save := self._review.saved.since(state.path, before.save):
            if self._review.saved.was_saved_as(state.path, new):
                return None
            if save.text is not None:
                state = replace(state, before=_as_bytes(save.text, state.before or state.after))
        ledger = self._review.state.ledger(state.path)
        if ledger is None or before.ledgers.get(state.path, _NO_LEDGER) == ledger.current:
            return state
        if self._commands.document(state.path) is not None:
            return state
        if ledger.current_text == new:
            return None
        return replace(state, before=_as_bytes(ledger.current_text, state.before or state.after))

    async def _take_over(self, state: FileState, who: Attribution) -> _Outcome:
        """Record a command's change to a file. If the document has unsaved changes, merge the change into it.

        If the user changed the same lines, or the editor refuses the merge, the document stays unchanged.
        """
        shown, old, new = self._commands.document(state.path), text_of(state.before), text_of(state.after)
        if shown is None:
            self._record_edit(state, old, new, who)
            return "recorded"
        is_clean = shown in (old, new) or self._review.saved.was_saved_as(state.path, shown)
        if new is None and not is_clean:
            return "refused"
        if new is not None and not (is_clean and self._commands.reloads):
            try:
                await self._merge(state.path, old or "", new, who)
            except EnvError:
                return "refused"
        if is_clean:
            self._record_edit(state, old, new, who)
        return "recorded" if is_clean else "merged"

    async def _merge(self, path: str, old: str, new: str, who: Attribution) -> None:
        """Merge the change into the document.

        Raises:
            EnvError: the change conflicts with the user's text, or the editor refuses the change.
        """
        write = FileWrite(path, _utf8(new), _utf8(old))
        for merged in await self._commands.files.commit([write], who):
            self._review.report_commit(merged, who)
            if merged.before == merged.after and (text := text_of(merged.after)) is not None:
                self._record_reloaded(merged.path, old, new, text, who)

    def _record_reloaded(self, path: str, old: str, new: str, shown: str, who: Attribution) -> None:
        """Record a change that the editor had already reloaded and reported as if the user had typed it."""
        without = rebase(split_lines(new), split_lines(old), split_lines(shown))
        if isinstance(without, MergedText):
            self._review.agent_edit(path, "".join(without.lines), shown, who)

    def _record_edit(self, state: FileState, old: str | None, new: str | None, who: Attribution) -> None:
        self._review.agent_edit(state.path, old, new, who)
        form = read_form(state.before or state.after or b"")
        self._review.state.report(state.path, SavedByUs(form))

    def _tell_user(self, who: Attribution, merged: Sequence[str], refused: Sequence[str]) -> None:
        for path in merged:
            message = (
                f"While a command ran, {self._name(path)} was changed on disk while it had unsaved "
                "changes in the editor. The editor now has both changes merged; save the file there to write "
                "both to disk."
            )
            self._review.state.publish(who.session_id, Warning(message, MERGED))
        for path in refused:
            message = (
                f"While a command ran, {self._name(path)} was changed on disk in lines that also have "
                "unsaved changes in the editor. Nothing was merged: the editor keeps your text, and the disk "
                "has the text of the command. Compare both before you save."
            )
            self._review.state.publish(who.session_id, Warning(message, CONFLICT))

    def _name(self, path: str) -> str:
        return display_path(path, self._commands.files.working_directory())


def format_unkept(unkept: Unkept, folder: str) -> str:
    """Return the sentence about uncommitted work that would not come back; "" for none."""
    if not unkept.paths:
        return ""
    names = [display_path(path, folder) for path in unkept.paths[:NAMED_UNKEPT]]
    more = f" and {len(unkept.paths) - len(names)} more" if len(unkept.paths) > len(names) else ""
    return (
        f"Not kept, so it would not come back if the command destroys it: {', '.join(names)}{more} "
        f"({unkept.size / 2**20:.0f} MiB of uncommitted work)."
    )


def _as_bytes(text: str | None, like: bytes | None) -> bytes | None:
    if text is None:
        return None
    try:
        return encode(replace(decode(like or b""), text=text))
    except NotEncodableError:  # the command has changed the file's encoding
        return _utf8(text)


def _utf8(text: str) -> bytes:
    """Encode text as UTF-8 and keep lone surrogates, as editor environments do for documents."""
    return text.encode("utf-8", "surrogatepass")
