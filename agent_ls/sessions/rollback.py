"""Roll back files, the conversation, or both to their state before an input of the session (agent/revert).

Files are not replaced by old copies. Instead the agent's later changes are reversed, and changes by others stay.
If that is not possible for a file, the file is left unchanged and reported. A roll back is recorded as file
writes, so it can itself be rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.errors import RollBackStoppedError, SessionClosedError
from agent_ls.loop.events.types import Reverted, RevertedFile
from agent_ls.loop.ids import new_id
from agent_ls.patch.unified import unified_diff
from agent_ls.review.ledger import FileLedger
from agent_ls.review.rewind import NOT_KEPT, AgentChange, ConflictRange, FileVersion, RewindConflict, rewind
from agent_ls.services.review.change_events import action, relative_name
from agent_ls.services.review.decision_request import KEEPS_CHANGING, LOOK_SECONDS, TRIES
from agent_ls.services.review.reports import RolledBack
from agent_ls.services.review.reviewed_file import maybe_bytes, text_of
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.session_log import content_name
from agent_ls.store.checkpoints import WrittenSince, difference, find_written_since
from agent_ls.store.errors import UnknownTurnError
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.reader import read_session
from agent_ls.store.session_state import SessionState

What: TypeAlias = Literal["restore", "keep", "preview"]


@dataclass(frozen=True, slots=True)
class RollbackFile:
    """A file of a roll back.

    In the states `planned` and `restored`, `diff` is the change as a unified diff. The change replaces the content
    `base` by the content `content`. In the states `conflict` and `unknown`, `reason` says why the file is left
    unchanged, and `at` lists the ranges of the current text that are in conflict (empty: the whole file). `mode` has
    the permission bits of a file that is created, None if they were not recorded.
    """

    path: str
    action: Literal["create", "modify", "delete"]
    state: Literal["planned", "restored", "conflict", "unknown"]
    diff: str = ""
    reason: str = ""
    at: tuple[ConflictRange, ...] = ()
    content: bytes | None = None
    base: bytes | None = None
    mode: int | None = None

    def as_event(self) -> RevertedFile | None:
        """Return the file's entry in the event about the roll back; None for a preview."""
        return None if self.state == "planned" else RevertedFile(self.path, self.action, self.state)


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """Result of a roll back.

    `revert_id` is "" for a preview. `input_text` is the user's message before which the session is now. `turns`
    are the ids of turns removed from the conversation, `restored_turns` the ids of turns added to it again.
    """

    revert_id: str
    input_text: str
    turns: tuple[str, ...]
    restored_turns: tuple[str, ...]
    files: tuple[RollbackFile, ...]


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """Parameters of a roll back to the state before the turn `at_turn`.

    `conversation`: whether the conversation is rolled back. `files`: whether files are restored, kept, or
    only previewed. `paths` None: all files. `force`: overwrite conflicting text.
    """

    at_turn: str
    conversation: bool
    files: What
    paths: frozenset[str] | None = None
    force: bool = False


async def roll_back(live: LiveSession, review: ReviewService, wanted: RollbackRequest) -> RollbackResult:
    """Roll a session back, or preview it.

    Raises:
        UnknownTurnError. loop.errors.SessionError: a turn runs, or the session is closed, or the user has stopped the
        roll back. EnvError. OSError.
    """
    with live.session.at_rest():
        return await _RollBack(live, review, wanted).carry_out()
    if live.session.is_closing:
        raise SessionClosedError(live.session.id)
    raise RollBackStoppedError(live.session.id)


class _RollBack:
    def __init__(self, live: LiveSession, review: ReviewService, wanted: RollbackRequest) -> None:
        self._live = live
        self._review = review
        self._wanted = wanted
        self._folder = live.files.working_directory()
        self._restored: dict[str, RollbackFile] = {}

    async def carry_out(self) -> RollbackResult:
        wanted, live = self._wanted, self._live
        state, since = await anyio.to_thread.run_sync(self._read)
        then = state.checkpoints.get(wanted.at_turn)
        if then is None:
            raise UnknownTurnError(wanted.at_turn, state.checkpoints)
        gone, back = difference(state.turn_ids, then.turn_ids) if wanted.conversation else ((), ())
        result = RollbackResult("", then.text, gone, back, ())
        if wanted.files == "preview":
            return replace(result, files=tuple(await self._plan_files(since)))
        revert_id = new_id("r")
        files: tuple[RollbackFile, ...] = ()
        if wanted.files == "restore":
            files = tuple(await self._restore(since, revert_id))
        as_event = tuple(it for file in files if (it := file.as_event()))
        event = Reverted(revert_id, wanted.at_turn, wanted.conversation, gone, back, as_event)
        if wanted.conversation:
            live.session.go_back(then.turns, then.plan, event)
        else:
            live.emit(event)
        if words := _notice(wanted, [relative_name(file.path, self._folder) for file in files], since):
            live.notice(words)
        for file in files:
            live.touched.mark_known(file.path)
        return replace(result, revert_id=revert_id, files=files)

    def _read(self) -> tuple[SessionState, WrittenSince]:
        """Return the session's state from its log, and all file writes since the turn to roll back to. Blocks."""
        path = self._live.stored.path
        return read_session(path).state, find_written_since(path, self._wanted.at_turn)

    # -- planning

    async def _plan_files(self, since: WrittenSince) -> list[RollbackFile]:
        """Return the planned change of each file. A file that already has its old content is left out."""
        chosen = {path for path in (*since.files, *since.unrecorded) if self._is_chosen(path)}
        looked = [await self._look_at(path, since.files.get(path, ())) for path in sorted(chosen)]
        return [file for file in looked if file]

    def _is_chosen(self, path: str) -> bool:
        return self._wanted.paths is None or path in self._wanted.paths

    async def _look_at(self, path: str, written: Sequence[RecordedWrite]) -> RollbackFile | None:
        try:
            current = await maybe_bytes(self._live.files, path)
        except EnvError as error:
            return RollbackFile(path, "modify", "conflict", reason=str(error))
        if not written:
            return RollbackFile(path, "modify", "unknown", reason=NOT_KEPT)
        plan = partial(self._plan, path, written, current)
        return await anyio.to_thread.run_sync(plan)

    def _plan(
        self, path: str, written: Sequence[RecordedWrite], current: bytes | None
    ) -> RollbackFile | None:
        """Return the planned change of one file; None if the file already has its old content. Blocks."""
        now = FileVersion(content_name(current), current)
        steps = [AgentChange(self._side(it.before, now), self._side(it.after, now)) for it in written]
        back = rewind(now, steps, force=self._wanted.force)
        if isinstance(back, RewindConflict):
            state: Literal["unknown", "conflict"] = "unknown" if back.is_lost else "conflict"
            meant = "delete" if not written[0].before else action(current, b"")
            return RollbackFile(path, meant, state, "", back.reason, back.at)
        if back.content == current:
            return None
        diff = unified_diff(current, back.content, relative_name(path, self._folder))
        what = action(current, back.content)
        mode = next((it.mode for it in written if not it.after), None) if current is None else None
        return RollbackFile(path, what, "planned", diff, content=back.content, base=current, mode=mode)

    def _side(self, name: str, now: FileVersion) -> FileVersion:
        return (
            now if name and name == now.name else FileVersion(name, self._live.stored.opened.read_blob(name))
        )

    # -- writing

    async def _restore(self, since: WrittenSince, revert_id: str) -> list[RollbackFile]:
        """Write the files, and report them to the review; if this is stopped, those that are written."""
        async with AsyncExitStack() as stack:
            for path in sorted(since.files):
                if path in self._review.state.files:  # only one decision about a file at a time
                    await stack.enter_async_context(self._review.state.deciding(path))
            known = {path: ledger for path in since.files if (ledger := self._review.state.ledger(path))}
            try:
                files = await self._write_files(since, revert_id)
            except anyio.get_cancelled_exc_class():
                with anyio.move_on_after(LOOK_SECONDS, shield=True):
                    await self._report_stopped(since, known, revert_id)
                raise
            await self._report_to_review(since, known, {file.path: file for file in files})
        await self._review.undone_saves.save(list(self._restored), [self._live.session.id])
        return files

    async def _report_stopped(
        self, since: WrittenSince, known: Mapping[str, FileLedger], revert_id: str
    ) -> None:
        """Record the files that a stopped roll back has restored. The conversation stays as it is."""
        if not self._restored:
            return
        as_event = tuple(it for file in self._restored.values() if (it := file.as_event()))
        self._live.emit(Reverted(revert_id, self._wanted.at_turn, False, (), (), as_event))
        restored = {path: ledger for path, ledger in known.items() if path in self._restored}
        await self._report_to_review(since, restored, self._restored)

    async def _write_files(self, since: WrittenSince, revert_id: str) -> list[RollbackFile]:
        """Write all planned files in one commit.

        A file that cannot be written is marked as a conflict with a reason; the other files are tried again.
        """
        unwritable: dict[str, str] = {}
        tries = 0
        while True:
            planned = [_mark_conflict(it, unwritable) for it in await self._plan_files(since)]
            left = [it for it in planned if it.path not in self._restored]
            writes = [it for it in left if it.state == "planned"]
            try:
                await self._commit(writes, revert_id)
            except EnvError as error:
                tries += 1
                path = getattr(error, "path", "")
                if isinstance(error, StaleFileError) and tries < TRIES:
                    continue
                refused = [it.path for it in writes if it.path == path] or [it.path for it in writes]
                reason = KEEPS_CHANGING if isinstance(error, StaleFileError) else str(error)
                unwritable |= dict.fromkeys(refused, reason)
                continue
            unchanged = [it for it in left if it.path not in self._restored]
            return sorted([*self._restored.values(), *unchanged], key=lambda it: it.path)

    async def _commit(self, planned: Sequence[RollbackFile], revert_id: str) -> None:
        """Write these files. `_restored` then has those that were written, also if the commit raised."""
        if not planned:
            return
        who = Attribution(self._live.session.id, revert_id, revert_id, "roll back")
        writes = [FileWrite(it.path, it.content, it.base, mode=it.mode) for it in planned]
        keep = partial(
            self._live.stored.keep_all, [FileState(it.path, it.base, it.content) for it in planned]
        )
        await anyio.to_thread.run_sync(keep)

        async def record(states: Sequence[FileState]) -> None:
            written = {state.path for state in states}
            self._restored |= {it.path: replace(it, state="restored") for it in planned if it.path in written}
            await self._live.stored.record_written(states, who)

        # The attribution names no session, because the ledger and the editor must treat this as the user's change.
        await self._live.commit_decided(writes, Attribution(label="roll back"), record)

    async def _report_to_review(
        self, since: WrittenSince, known: Mapping[str, FileLedger], files: Mapping[str, RollbackFile]
    ) -> None:
        """Report to the review which turns are rolled back in which files. `known` are the ledgers from before."""
        for path, ledger in known.items():
            file = files.get(path)
            if file and file.state != "restored":
                continue
            data = await self._review.state.catch_up(path, self._live.files)
            before, after = (file.base, file.content) if file else (data, data)
            turns = frozenset(it.turn_id for it in since.files[path])
            session_id = self._live.session.id
            self._review.state.report(
                path, RolledBack(ledger, text_of(before), text_of(after), session_id, turns)
            )


def _mark_conflict(file: RollbackFile, unwritable: Mapping[str, str]) -> RollbackFile:
    if reason := unwritable.get(file.path):
        return replace(file, state="conflict", diff="", reason=reason, content=None, base=None)
    return file


def _notice(wanted: RollbackRequest, restored: Sequence[str], since: WrittenSince) -> str:
    """Return the notice for the model about a roll back of only the files or only the conversation; else ""."""
    if not wanted.conversation:
        if not restored:
            return ""
        names = ", ".join(restored)
        return (
            f"The user rolled these files back to their state before an earlier input: {names}. Read these "
            "files again."
        )
    if wanted.files == "keep" and (since.files or since.unrecorded):
        return (
            "The user rolled the conversation back to here. Files that were changed after this point keep "
            "their changes: read a file again before you rely on its text."
        )
    return ""
