"""The git worktrees of all sessions: check whether a folder can have one, create and open them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from agent_ls.environments.errors import EnvError
from agent_ls.paths import is_below
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.review.reviewed_file import maybe_bytes
from agent_ls.store.errors import StoreError
from agent_ls.store.worktrees import has_unapplied, remove_worktree, worktree_path

if TYPE_CHECKING:
    from pathlib import Path

    from agent_ls.environments.editor_host import EditorHost
    from agent_ls.features.worktrees.git import LocalGit
    from agent_ls.features.worktrees.worktree import Start, Worktree
    from agent_ls.services.models.service import ModelService
    from agent_ls.services.permissions.trust import WorkspaceTrust
    from agent_ls.sessions.services import SharedServices
    from agent_ls.store.layout import Layout
    from agent_ls.store.log import Header


class Worktrees:
    """Creates and opens worktrees. `layout` provides their paths, `models` the environment variables of git,
    without API keys.
    """

    def __init__(
        self, layout: Layout, models: ModelService, trust: WorkspaceTrust, services: SharedServices
    ) -> None:
        self._layout = layout
        self._models = models
        self._trust = trust
        self._services = services
        self._roots = tuple(dict.fromkeys((str(layout.worktrees), os.path.realpath(layout.worktrees))))

    def is_in_none(self, path: str) -> bool:
        """Return whether a path is outside of all worktrees of sessions."""
        return not any(is_below(path, root) for root in self._roots)

    def name(self, header: Header) -> str:
        """Return the root folder of a stored session's worktree, for session lists; "" if it has no worktree."""
        return str(worktree_path(self._place(header), header.workspace_folder)) if header.has_worktree else ""

    async def has_unapplied(self, session_id: str) -> bool:
        """Return whether the session's worktree may have changes that the user's folder does not have."""
        with suppress(StoreError):  # the session id is invalid
            return await anyio.to_thread.run_sync(has_unapplied, self._layout.worktree(session_id))
        return False

    async def check(self, folder: str, start: Start | None) -> None:
        """Check that a worktree can be created for a folder. Does nothing if `start` is None.

        Raises:
            BadChoiceError: the folder is on another machine, or the user does not trust it.
        """
        if start is None:
            return
        if self._services.program.environment or self._services.sites.site(folder):
            raise BadChoiceError(
                f"{folder} is not on this machine, and worktrees can only be created on this machine",
                "begin the session without a worktree",
            )
        if await anyio.to_thread.run_sync(self._trust.get_trust, folder) != "trusted":
            raise BadChoiceError(
                f"{folder} is not trusted, and git may run programs of a repository for a worktree",
                f"begin the session without a worktree, or trust the folder first: {self._trust.advice}",
            )

    def check_fork(self, header: Header) -> None:
        """Check that a session can be forked. Raises BadChoiceError if it has a worktree, which cannot be copied."""
        if header.has_worktree:
            raise BadChoiceError(
                "a session in a worktree cannot be forked, because two sessions cannot share its worktree",
                "apply the changes of the session to your folder, then begin a new session",
            )

    async def make(self, header: Header, start: Start, discarded: Callable[[], Awaitable[None]]) -> Worktree:
        """Create the worktree of a new session. `discarded` is called to delete the session if an error occurs.

        Raises:
            BadChoiceError: the folder has no repository with a commit. AppError: git failed. OSError.
        """
        from agent_ls.features.worktrees.worktree import make_worktree  # few sessions have a worktree

        folder, place = header.workspace_folder, self._place(header)
        services = self._services
        files = services.files(services.local(folder), header.session_id)

        async def read(path: str) -> bytes | None:
            try:
                return await maybe_bytes(files, path)
            except EnvError:
                return None

        try:
            return await make_worktree(
                self._git(), place, folder, start, read, _unsaved(services.editor.host)
            )
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove_worktree, place)
                await discarded()
            raise

    async def open(self, header: Header) -> Worktree:
        """Return the worktree of a stored session.

        Raises:
            BadChoiceError: the worktree no longer exists.
        """
        from agent_ls.features.worktrees.worktree import open_worktree  # few sessions have a worktree

        return await open_worktree(self._git(), self._place(header))

    def _git(self) -> LocalGit:
        from agent_ls.features.worktrees.git import LocalGit

        return LocalGit(self._models.child_environ)

    def _place(self, header: Header) -> Path:
        return self._layout.worktree(header.session_id)


def _unsaved(host: EditorHost | None) -> list[str]:
    """Return the paths of all documents that are open in the editor, because each may have unsaved text."""
    return [document.path for document in host.open_documents()] if host else []


async def discard(close: Callable[[], None], delete: Callable[[str], None], session_id: str) -> None:
    """Close and delete a session whose worktree could not be made."""
    close()
    with suppress(StoreError, OSError):
        await anyio.to_thread.run_sync(delete, session_id)
