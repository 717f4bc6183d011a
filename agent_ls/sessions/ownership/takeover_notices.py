"""Warn after a take-over about changes that exist only as unsaved text in the former owner's editor.

The new owner sees files. A change that is in the log but in no file may be in a document that the former
owner's editor has not saved. When the document is saved there, the review finds the change again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.loop.events.types import Warning
from agent_ls.loop.seams import Clock
from agent_ls.review.restore import StoredHunk
from agent_ls.services.changes.stamps import stamps
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.reports import HunksMissing
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.store.locks import Owner

UNSAVED_ELSEWHERE = "unsaved_elsewhere"
NAMED_FILES = 5
LOOK_S = 1.0


def unsaved_elsewhere(missing: Mapping[str, Sequence[StoredHunk]], owner: Owner, folder: str) -> Warning:
    """Return the warning that hunks are missing on disk, and may exist as unsaved text in the editor of
    `owner`.

    `missing` maps absolute paths to hunks (at least one); `owner` is the session's former owner.
    """
    names = [relative_name(path, folder) for path in missing]
    more = f" and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else ""
    count = sum(map(len, missing.values()))
    changes = "1 change of the agent is" if count == 1 else f"{count} changes of the agent are"
    return Warning(
        f"{changes} missing on disk: {', '.join(names[:NAMED_FILES])}{more}. The editor in which this "
        f"session was open before ({owner}) may not have saved this text. Save these files in that editor, so "
        "that you can review the changes here and the agent sees them.",
        UNSAVED_ELSEWHERE,
    )


def follow_missing(
    missing: Mapping[str, Sequence[StoredHunk]],
    owner: Owner | None,
    live: LiveSession,
    review: ReviewService,
    start: TaskStarter,
    clock: Clock,
) -> None:
    """Warn the user if hunks of a session that was just opened are missing on disk, and watch their files.

    `missing` maps absolute paths to these hunks. `owner` is the former owner. If it is None, this function does
    nothing.
    """
    if owner is None or not missing:
        return
    for path, hunks in missing.items():
        review.state.report(path, HunksMissing(hunks))
    live.emit(unsaved_elsewhere(missing, owner, live.files.working_directory()))
    start(partial(_look_for_saves, partial(review.state.list_awaited, live.id), review.look_at_disk, clock))


async def _look_for_saves(
    awaited: Callable[[], Collection[str]], look: Callable[[str], Awaitable[None]], clock: Clock
) -> None:
    """Call `look` with each awaited file, and again after each change on disk, until no file is awaited.

    Polls the disk, because not every editor reports changed files, and this process's editor may not have them
    open.
    """
    known: Mapping[str, object] = {}
    while paths := sorted(awaited()):
        found = await anyio.to_thread.run_sync(stamps, paths, {}, abandon_on_cancel=True)
        for path in paths:
            if found[path] != known.get(path):
                await look(path)
        known = found
        await clock.sleep(LOOK_S)
