"""Apply what the user undoes in their folder to the worktree of the session too.

Two contents of a file follow the undo: the file in the worktree, and the content that counts as applied. So the undone
lines are no difference between worktree and folder, and later changes of other lines can be applied to the folder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.features.worktrees.merge import NotMerged, merge
from agent_ls.services.errors import AppError
from agent_ls.services.review.decision_request import TRIES
from agent_ls.services.review.reviewed_file import maybe_bytes

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Worktree

log = logging.getLogger(__name__)


@dataclass(slots=True)
class FollowedUndos:
    """The undos that the worktree of a session follows. `lock` is held while changes are applied to the folder.

    An undo during that time follows at its end, because applying changes may wait for the user.
    """

    worktree: Worktree
    files: Callable[[], ExecutionEnvironment]
    lock: anyio.Lock
    _waiting: list[FileState] = field(default_factory=list)
    _apart: set[str] = field(default_factory=set)
    """The files of the user whose copy in the worktree has not followed the last undo."""

    async def follow(self, states: Sequence[FileState]) -> None:
        """Apply the change of these files of the user to the worktree. Does not raise, except if it is cancelled."""
        self._waiting += [it for it in states if self.worktree.own_path_of(it.path)]
        if not self.lock.locked():
            async with self.lock:
                await self.follow_waiting()

    async def follow_waiting(self) -> None:
        """Apply the undos that wait. The caller holds the lock."""
        with anyio.CancelScope(shield=True):  # half an undo would be a change of the worktree
            while self._waiting:
                state = self._waiting.pop(0)
                try:
                    has_followed = await self._follow(state)
                except (AppError, EnvError, OSError) as error:
                    log.warning("an undo of %s was not applied to the worktree: %s", state.path, error)
                    has_followed = False
                (self._apart.discard if has_followed else self._apart.add)(state.path)

    def own_path(self, path: str) -> str:
        """Return the path in the worktree of a file of the user, `path` if the worktree has not followed an undo."""
        is_apart = path in self._apart or any(it.path == path for it in self._waiting)
        return path if is_apart else self.worktree.own_path_of(path) or path

    async def _follow(self, state: FileState) -> bool:
        """Apply one undo, and return whether the file in the worktree has it.

        If the agent has changed the same lines since, these stay in the worktree, and are applied again.
        """
        if state.before == state.after:
            return False  # the undone lines had been edited in the folder, so their place is unknown
        tree = self.worktree
        own_path = tree.own_path_of(state.path)
        name = tree.name_of(own_path)
        await tree.check()
        applied = merge(state.before, state.after, await tree.applied_text(name))
        if isinstance(applied, NotMerged):
            return False
        is_written = await self._write(state, own_path)
        await tree.record_text(name, applied)
        return is_written

    async def _write(self, state: FileState, own_path: str) -> bool:
        files = self.files()
        for _ in range(TRIES):
            own = await maybe_bytes(files, own_path)
            merged = merge(state.before, state.after, own)
            if isinstance(merged, NotMerged):
                return False
            mode_from = state.path if own is None else ""
            try:
                if merged != own:
                    write = FileWrite(own_path, merged, own, mode_from)
                    await files.commit((write,), Attribution(label="undo"))
            except StaleFileError:
                continue
            return True
        return False
