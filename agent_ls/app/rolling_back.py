"""A session taken back to what it was before one of its inputs: files, conversation, or both (X10, agent/revert).

Files are never copied back: what the agent changed since is taken back, and what others wrote since stays. Where that
cannot be, the file is left whole and named. A roll back is recorded as what it wrote, so it can be taken back itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.app.change_events import action, relative_name
from agent_ls.app.live_session import LiveSession
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.reviewed_file import maybe_bytes
from agent_ls.app.stored import content_name
from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events import Reverted, RevertedFile
from agent_ls.loop.ids import new_id
from agent_ls.patch.unified import unified_diff
from agent_ls.review.rewinding import NOT_KEPT, Clash, ClashAt, Side, Step, rewind
from agent_ls.store.checkpoints import WrittenSince, difference, written_since
from agent_ls.store.errors import UnknownTurnError
from agent_ls.store.fold import Fold
from agent_ls.store.journal import Written
from agent_ls.store.reader import read_session

TRIES = 3  # a file may change between the look and the write; then it is looked at again
KEEPS_CHANGING = "something else keeps changing it; try again when it is done"

What: TypeAlias = Literal["restore", "keep", "preview"]


@dataclass(frozen=True, slots=True)
class RolledFile:
    """`planned` or `restored`: `diff` (unified, for people) says what is done; else `reason` says why it is left alone.

    `at` are the places in the current text where that is so; none: the whole file.
    """

    path: str
    action: Literal["create", "modify", "delete"]
    state: Literal["planned", "restored", "conflict", "unknown"]
    diff: str = ""
    reason: str = ""
    at: tuple[ClashAt, ...] = ()
    content: bytes | None = None
    base: bytes | None = None

    def told(self) -> RevertedFile | None:
        """As its event tells it; None for what was only looked at."""
        return None if self.state == "planned" else RevertedFile(self.path, self.action, self.state)


@dataclass(frozen=True, slots=True)
class RolledBack:
    """`revert_id` "": it was a preview. `input_text` is the input that the session stands before now."""

    revert_id: str
    input_text: str
    turns: tuple[str, ...]
    restored_turns: tuple[str, ...]
    files: tuple[RolledFile, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`paths` None: all files. `force`: what stands where it clashes gives way."""

    at_turn: str
    conversation: bool
    files: What
    paths: frozenset[str] | None = None
    force: bool = False


async def roll_back(live: LiveSession, desk: ReviewDesk, wanted: Wanted) -> RolledBack:
    """
    Raises:
        UnknownTurnError. loop.errors.SessionError: a turn runs, or it is closed. EnvError. OSError.
    """
    with live.session.at_rest():
        return await _RollBack(live, desk, wanted).carry_out()


class _RollBack:
    def __init__(self, live: LiveSession, desk: ReviewDesk, wanted: Wanted) -> None:
        self._live = live
        self._desk = desk
        self._wanted = wanted
        self._folder = live.files.working_directory()

    async def carry_out(self) -> RolledBack:
        wanted, live = self._wanted, self._live
        fold, since = await anyio.to_thread.run_sync(self._read)
        then = fold.checkpoints.get(wanted.at_turn)
        if then is None:
            raise UnknownTurnError(wanted.at_turn)
        gone, back = difference(fold.turn_ids, then.turn_ids) if wanted.conversation else ((), ())
        result = RolledBack("", then.text, gone, back, ())
        if wanted.files == "preview":
            return replace(result, files=tuple(await self._planned(since)))
        revert_id = new_id("r")
        files: tuple[RolledFile, ...] = ()
        if wanted.files == "restore":
            files = tuple(await self._restored(since, revert_id))
        told = tuple(it for file in files if (it := file.told()))
        event = Reverted(revert_id, wanted.at_turn, wanted.conversation, gone, back, told)
        if wanted.conversation:
            live.session.go_back(then.turns, then.plan, event)
        else:
            live.emit(event)
        if words := _notice(wanted, [relative_name(file.path, self._folder) for file in files], since):
            live.notice(words)
        for file in files:
            live.touched.changed(file.path)
        return replace(result, revert_id=revert_id, files=files)

    def _read(self) -> tuple[Fold, WrittenSince]:
        """Blocks."""
        path = self._live.stored.path
        return read_session(path).fold, written_since(path, self._wanted.at_turn)

    # -- what is to be done

    async def _planned(self, since: WrittenSince) -> list[RolledFile]:
        """Files that are as they are to be are left out."""
        chosen = {path for path in (*since.files, *since.untold) if self._is_chosen(path)}
        looked = [await self._look_at(path, since.files.get(path, ())) for path in sorted(chosen)]
        return [file for file in looked if file]

    def _is_chosen(self, path: str) -> bool:
        return self._wanted.paths is None or path in self._wanted.paths

    async def _look_at(self, path: str, written: Sequence[Written]) -> RolledFile | None:
        try:
            current = await maybe_bytes(self._live.files, path)
        except EnvError as error:
            return RolledFile(path, "modify", "conflict", reason=str(error))
        if not written:
            return RolledFile(path, "modify", "unknown", reason=NOT_KEPT)
        plan = partial(self._plan, path, written, current)
        return await anyio.to_thread.run_sync(plan)

    def _plan(self, path: str, written: Sequence[Written], current: bytes | None) -> RolledFile | None:
        """Blocks."""
        now = Side(content_name(current), current)
        steps = [Step(self._side(it.before, now), self._side(it.after, now)) for it in written]
        back = rewind(now, steps, force=self._wanted.force)
        if isinstance(back, Clash):
            state: Literal["unknown", "conflict"] = "unknown" if back.is_lost else "conflict"
            meant = "delete" if not written[0].before else action(current, b"")
            return RolledFile(path, meant, state, "", back.reason, back.at)
        if back.content == current:
            return None
        diff = unified_diff(current, back.content, relative_name(path, self._folder))
        what = action(current, back.content)
        return RolledFile(path, what, "planned", diff, content=back.content, base=current)

    def _side(self, name: str, now: Side) -> Side:
        return now if name and name == now.name else Side(name, self._live.stored.opened.kept(name))

    # -- doing it

    async def _restored(self, since: WrittenSince, revert_id: str) -> list[RolledFile]:
        async with AsyncExitStack() as stack:
            for path in sorted(since.files):
                if file := self._desk.files.get(path):
                    await stack.enter_async_context(file.deciding)  # one decision at a time about a file
            return await self._written(since, revert_id)

    async def _written(self, since: WrittenSince, revert_id: str) -> list[RolledFile]:
        """All in one commit, but for files that cannot be written: each of those is told with its reason."""
        unwritable: dict[str, str] = {}
        tries = 0
        while True:
            planned = [_left(it, unwritable) for it in await self._planned(since)]
            writes = [FileWrite(it.path, it.content, it.base) for it in planned if it.state == "planned"]
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
            return [replace(it, state="restored") if it.state == "planned" else it for it in planned]

    async def _commit(self, writes: Sequence[FileWrite], revert_id: str) -> None:
        if not writes:
            return
        who = Attribution(self._live.session.id, revert_id, revert_id, "roll back")
        keep = partial(self._live.stored.keep_all, [FileState(it.path, it.base, it.content) for it in writes])
        await anyio.to_thread.run_sync(keep)
        # Without the session's name: to the ledger, and in the editor, this is the user's own act.
        states = await self._live.files.commit(writes, Attribution(label="roll back"))
        await self._live.stored.changed(states, who)
        for state in states:
            if file := self._desk.files.get(state.path):
                await self._desk.catch_up(file, self._live.files)


def _left(file: RolledFile, unwritable: Mapping[str, str]) -> RolledFile:
    if reason := unwritable.get(file.path):
        return replace(file, state="conflict", diff="", reason=reason, content=None, base=None)
    return file


def _notice(wanted: Wanted, restored: Sequence[str], since: WrittenSince) -> str:
    """What the model is to know: where what it remembers and what the files hold are not of one time."""
    if not wanted.conversation:
        if not restored:
            return ""
        names = ", ".join(restored)
        return f"The user rolled these files back to what they were before an earlier input: {names}. Read them again."
    if wanted.files == "keep" and (since.files or since.untold):
        return (
            "The user rolled the conversation back to here. Files were changed after this point, and were left as "
            "they are: read a file again before you rely on its text."
        )
    return ""
