"""The hunks of a session as a program reads and decides about them.

A program decides about what it has read. So a hunk whose text has changed since then is not kept, and its text is not
removed by `confirm`, until the program has read it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import anyio

from agent_ls.environments.errors import EnvError
from agent_ls.library.review_reasons import describe_refused
from agent_ls.loop.events.types import Hunk
from agent_ls.services.errors import AppError
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.reviewed_file import maybe_bytes
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.session_log import content_name
from agent_ls.text import join_sentences

STOPPED = "interrupt() stopped the decision about this change"
CHANGED = "the text of this change is not what hunks() returned: read it again, then decide"

WHOLE = "this file was changed as a whole and has no lines to undo: roll_back restores it"
NOT_STORED = (
    "this file was changed, and its earlier content is not stored: neither undo nor roll_back restores it"
)

UNBROUGHT = (
    "the folder does not have this change of the session's worktree: bring_changes() brings it for you to review, "
    "roll_back() undoes it in the worktree"
)


class ProgramHunks:
    """Remembers which text of each undecided hunk the program has read."""

    def __init__(self, manager: SessionManager) -> None:
        self._manager = manager
        self._read: dict[str, tuple[object, ...]] = {}
        self._running: set[anyio.CancelScope] = set()

    def read(self, live: LiveSession) -> dict[str, list[Hunk]]:
        """Return the session's undecided hunks by path, as they are on disk now. Blocks."""
        live.touched.look_at(self._open_hunks(live))
        found = self._open_hunks(live)
        self._read = {hunk.id: _text_of(hunk) for hunks in found.values() for hunk in hunks}
        return found

    def stop(self) -> None:
        """End the running decisions. What they have written stays so, and is recorded."""
        for scope in tuple(self._running):
            scope.cancel()

    async def decide(
        self,
        live: LiveSession,
        decision: Literal["keep", "undo"],
        hunk_ids: Sequence[str] | None,
        *,
        confirm: bool,
    ) -> list[str] | None:
        """Carry out a decision about these hunks (None: all of the session). Return the reasons for what stays, None
        if `stop` was called.
        """
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await self._decide(live, decision, hunk_ids, confirm=confirm)
            finally:
                self._running.discard(scope)
        return None

    def explain_stopped(self, live: LiveSession, hunk_ids: Sequence[str] | None) -> list[str]:
        """Return a reason for each of the hunks that a stopped decision has left open."""
        left = [hunk.id for hunks in self._open_hunks(live).values() for hunk in hunks]
        wanted = [id_ for id_ in left if hunk_ids is None or id_ in hunk_ids]
        return self._describe(live, [(id_, STOPPED) for id_ in wanted])

    async def _decide(
        self,
        live: LiveSession,
        decision: Literal["keep", "undo"],
        hunk_ids: Sequence[str] | None,
        *,
        confirm: bool,
    ) -> list[str]:
        review, session_id = self._manager.review, live.session.id
        if hunk_ids is None:
            _, refused = await review.review(decision, Selection(session_id=session_id), confirm=confirm)
            left = await self._explain_whole_files(live) if decision == "undo" else []
            return [*self._describe(live, refused), *left, *await _explain_unbrought(live)]
        changed = await self._changed(live, hunk_ids) if decision == "keep" or confirm else set()
        ids = [id_ for id_ in hunk_ids if id_ not in changed]
        _, refused = await review.review(decision, Selection(hunk_ids=ids), confirm=confirm)
        return self._describe(live, [*((id_, CHANGED) for id_ in hunk_ids if id_ in changed), *refused])

    def _describe(self, live: LiveSession, refused: Sequence[tuple[str, str]]) -> list[str]:
        files = [*self._manager.review.state.files.values()]
        return describe_refused(refused, files, live.stored.header.workspace_folder)

    async def _changed(self, live: LiveSession, ids: Collection[str]) -> set[str]:
        """Return those of the hunks whose text is another one than the program has read."""
        for path, hunks in self._open_hunks(live).items():
            if any(hunk.id in ids for hunk in hunks):
                await self._manager.review.look_at_disk(path)
        now = [hunk for hunks in self._open_hunks(live).values() for hunk in hunks if hunk.id in ids]
        return {hunk.id for hunk in now if self._read.get(hunk.id, _text_of(hunk)) != _text_of(hunk)}

    async def _explain_whole_files(self, live: LiveSession) -> list[str]:
        """Return a reason for each file that has no hunks, and is not as it was before the session."""
        reasons: list[str] = []
        for path, before in (await self._manager.archive.whole_files(live.session.id)).items():
            if not self._manager.review.state.is_reviewed(path):
                continue  # in the session's own worktree
            try:
                now = content_name(await maybe_bytes(live.files, path))
            except EnvError:
                now = None
            if before is None or now != before:
                name = relative_name(path, live.files.working_directory())
                reasons.append(f"{name}: {NOT_STORED if before is None else WHOLE}")
        return reasons

    def _open_hunks(self, live: LiveSession) -> dict[str, list[Hunk]]:
        return self._manager.review.open_hunks(session_id=live.session.id)


async def _explain_unbrought(live: LiveSession) -> list[str]:
    """Return a reason for each file with changes that are in the session's worktree only, and so have no hunks."""
    try:
        return [f"{name}: {UNBROUGHT}" for name in await live.waiting_changes()]
    except AppError as error:
        return [join_sentences(str(error), error.hint)]


def _text_of(hunk: Hunk) -> tuple[object, ...]:
    return hunk.what, hunk.base_lines, hunk.lines
