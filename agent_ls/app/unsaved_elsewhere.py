"""A session taken over: what the user is told of changes that stand in another editor's unsaved text alone.

The new owner sees files. A change that its log has, and that no file has, may be in a document that the former owner's
editor has not saved; when it is saved there, the review desk finds the change again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

import anyio.to_thread

from agent_ls.app.change_events import relative_name
from agent_ls.app.hunk_news import Start
from agent_ls.app.live_session import LiveSession
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.app.stamps import stamps
from agent_ls.loop.events import Warning
from agent_ls.loop.seams import Clock
from agent_ls.review.restore import StoredHunk
from agent_ls.store.locks import Owner

UNSAVED_ELSEWHERE = "unsaved_elsewhere"
NAMED_FILES = 5
LOOK_S = 1.0


def unsaved_elsewhere(missing: Mapping[str, Sequence[StoredHunk]], owner: Owner, folder: str) -> Warning:
    """`missing` are hunks by absolute path, at least one; `owner` had the session before."""
    names = [relative_name(path, folder) for path in missing]
    more = f" and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else ""
    count = sum(map(len, missing.values()))
    changes = "1 change" if count == 1 else f"{count} changes"
    return Warning(
        f"{changes} of the agent cannot be found on disk: {', '.join(names[:NAMED_FILES])}{more}. The editor that had "
        f"this session before ({owner}) may have unsaved text with it. Save it there, and it can be reviewed here; "
        "until then the agent does not see it.",
        UNSAVED_ELSEWHERE,
    )


def follow_missing(
    missing: Mapping[str, Sequence[StoredHunk]],
    owner: Owner | None,
    live: LiveSession,
    desk: ReviewDesk,
    start: Start,
    clock: Clock,
) -> None:
    """Tells a session that was just opened what it cannot find, and waits for it. `owner` None: nobody had it."""
    if owner is None or not missing:
        return
    desk.await_missing(missing)
    live.emit(unsaved_elsewhere(missing, owner, live.files.working_directory()))
    start(partial(_look_for_saves, partial(desk.awaited, live.id), desk.look_at_disk, clock))


async def _look_for_saves(
    awaited: Callable[[], Collection[str]], look: Callable[[str], Awaitable[None]], clock: Clock
) -> None:
    """Has each of these files looked at when it has changed on disk, until none is awaited any more.

    Not every editor tells of changed files, and this one need not show them.
    """
    known: Mapping[str, object] = {}
    while paths := sorted(awaited()):
        found = await anyio.to_thread.run_sync(stamps, paths, {}, abandon_on_cancel=True)
        for path in paths:
            if found[path] != known.get(path):
                await look(path)
        known = found
        await clock.sleep(LOOK_S)
