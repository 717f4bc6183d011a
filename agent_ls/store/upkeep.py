"""Maintenance of the store: retention, quota, moved workspace folders, deletion of all sessions. Blocks.

Sessions that a process has open are never changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from agent_ls.store import locks
from agent_ls.store.elsewhere import forget_elsewhere
from agent_ls.store.errors import SessionLockedError, StoreError
from agent_ls.store.forgotten import forget_all, remember_lines
from agent_ls.store.layout import Layout, ListedSession, canonical, is_session_id, lock_path, log_path
from agent_ls.store.log import make_private_folder, parse_header
from agent_ls.store.worktrees import has_unapplied, remove_worktree
from agent_ls.system import replace_file


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """Retention limits; 0 means no limit.

    `max_bytes` limits the total size of a workspace's sessions; the oldest sessions are deleted first.
    """

    keep_days: int = 0
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeletedSessions:
    """The ids of the deleted sessions (`removed`), and of the sessions that could not be deleted, for example
    because they are open (`in_use`).
    """

    removed: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()


def prune(
    layout: Layout, workspace: str, limits: RetentionLimits, now: str, spare: Sequence[str] = ()
) -> DeletedSessions:
    """Delete the sessions of a workspace that exceed `limits`, except the sessions in `spare` (ids).

    `now` is ISO 8601. With `keep_days`, old recordings without a session are deleted too.
    """
    found = layout.list_sessions(workspace)
    before = (datetime.fromisoformat(now) - timedelta(days=limits.keep_days)).isoformat()
    too_many = {it.session_id for it in _find_over_quota(layout, found, limits.max_bytes)}
    wanted = [
        it
        for it in reversed(found)
        if it.session_id not in spare
        and (it.session_id in too_many or (limits.keep_days and it.updated < before))
    ]
    if limits.keep_days:
        for path in layout.lost_recordings():
            with suppress(OSError):
                if path.stat().st_mtime < datetime.fromisoformat(before).timestamp():
                    path.unlink()
    return _remove(layout, wanted, partial(_is_as_listed, layout))


def delete_all(layout: Layout) -> DeletedSessions:
    """Delete all sessions of all workspaces with their files.

    Open sessions and their recordings are not deleted.
    """
    swept = _remove(layout, layout.list_sessions(), partial(_is_readable, layout), keeps_lines=False)
    forget_all(layout)
    for folder in layout.root.glob("workspaces/*/sessions/*"):
        with suppress(SessionLockedError, OSError):
            _remove_rest(folder)
    forget_elsewhere(layout)
    for folder in layout.root.glob("workspaces/*"):
        _forget_empty(folder)
    for path in layout.lost_recordings():
        path.unlink(missing_ok=True)
    for name in ("workspaces", "recordings", "worktrees"):
        with suppress(OSError):
            (layout.root / name).rmdir()
    return swept


def relink(layout: Layout, old: str, new: str) -> list[str]:
    """Assign the sessions of a moved workspace folder to its new location. Returns their ids.

    Raises:
        StoreError: no sessions of the old folder are stored, or one of them is open.
        OSError: a file cannot be moved. If it fails, call it again to move the others.
    """
    moved = layout.sessions(old)
    if not moved:
        raise StoreError(f"No sessions of {canonical(old)} are stored.")
    layout.describe_workspace(new)
    for it in moved:
        with locks.hold_lock(lock_path(it.folder), it.header.session_id):
            _write_header(log_path(it.folder), canonical(new))
    for it in moved:
        target = layout.session_folder(new, it.header.session_id)
        make_private_folder(target.parent)
        # The lock keeps other processes from opening the session during the move. On Windows, the session is
        # moved without the lock, because Windows cannot move a folder with an open file.
        with (
            nullcontext() if os.name == "nt" else locks.hold_lock(lock_path(it.folder), it.header.session_id)
        ):
            it.folder.rename(target)
    _forget_empty(layout.workspace_folder(old))
    return [it.header.session_id for it in moved]


def lost_workspaces(layout: Layout) -> list[str]:
    """Return the paths of workspaces that have stored sessions but whose folder was moved or deleted."""
    notes = layout.root.glob("workspaces/*/workspace.json")
    return sorted(path for note in notes for path in _path_of(note) if not Path(path).is_dir())


def size_bytes(folder: Path) -> int:
    """Return the size of all files below a folder. Files that are deleted during the count are ignored."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    return total


def session_bytes(layout: Layout, folder: Path) -> int:
    """Return the size of a session's folder, worktree and recording."""
    try:
        recorded = layout.recording(folder.name).stat().st_size
    except (OSError, StoreError):
        recorded = 0
    return size_bytes(folder) + size_bytes(layout.worktree(folder.name)) + recorded


def _find_over_quota(
    layout: Layout, newest_first: Sequence[ListedSession], max_bytes: int
) -> list[ListedSession]:
    """Return the sessions beyond the quota.

    The newest session is never returned, because one large session must not delete itself.
    """
    total, over = 0, []
    for it in newest_first if max_bytes else ():
        total += session_bytes(layout, it.folder)
        if total > max_bytes and it is not newest_first[0]:
            over.append(it)
    return over


def _remove_rest(folder: Path) -> None:
    """Delete a subfolder of a `sessions` folder if it has no session, for example after a failed deletion.

    Raises:
        SessionLockedError: another process holds the session's lock, for example to create the session.
        OSError: the lock file cannot be created.
    """
    with locks.hold_lock(lock_path(folder), folder.name):
        is_rest = not is_session_id(folder.name) or not log_path(folder).exists()
        if is_rest and os.name != "nt":
            shutil.rmtree(folder, ignore_errors=True)
    if is_rest and os.name == "nt":  # after the lock file is closed, because Windows cannot delete open files
        shutil.rmtree(folder, ignore_errors=True)


def _forget_empty(folder: Path) -> None:
    """Delete a workspace's folder if it has no sessions. If another process creates a session at that moment,
    the folder is kept.
    """
    with suppress(OSError):
        if (folder / "sessions").exists():
            (folder / "sessions").rmdir()
        (folder / "workspace.json").unlink(missing_ok=True)
        folder.rmdir()


def _is_as_listed(layout: Layout, listed: ListedSession) -> bool:
    """Return whether the session can be deleted.

    Its log must be readable and unchanged since `listed`, and its worktree must have no changes that the
    user's folder lacks.
    """
    found = layout.summary(listed.folder)
    is_unused = found is not None and found.updated == listed.updated
    return is_unused and not has_unapplied(layout.worktree(listed.session_id))


def _is_readable(layout: Layout, listed: ListedSession) -> bool:
    return layout.summary(listed.folder) is not None


def _remove(
    layout: Layout,
    wanted: Sequence[ListedSession],
    still: Callable[[ListedSession], bool],
    *,
    keeps_lines: bool = True,
) -> DeletedSessions:
    """Lock each session, and delete it if `still` returns True. `keeps_lines`: blame remembers its lines.

    A session for which `still` returns False is in neither list of the result.
    """
    removed, in_use = [], []
    for it in wanted:
        try:
            with locks.hold_lock(lock_path(it.folder), it.session_id):
                if not still(it):
                    continue
                if keeps_lines:
                    remember_lines(layout, it.folder)
                log_path(it.folder).unlink(missing_ok=True)
                layout.recording(it.session_id).unlink(missing_ok=True)
                remove_worktree(layout.worktree(it.session_id))
                shutil.rmtree(it.folder, ignore_errors=True)
            removed.append(it.session_id)
        except (SessionLockedError, OSError):
            in_use.append(it.session_id)
    return DeletedSessions(tuple(removed), tuple(in_use))


def _write_header(log: Path, workspace: str) -> None:
    """Replace the first line of a log atomically."""
    first, _, rest = log.read_bytes().partition(b"\n")
    header = replace(parse_header(first, str(log)), workspace_folder=workspace)
    replace_file(log, header.line() + rest, is_synced=True)


def _path_of(note: Path) -> Iterator[str]:
    try:
        path = json.loads(note.read_bytes())["path"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(path, str):
        yield path
