"""What keeps a store small and in its place: retention, quota, a moved folder, deleting all (R7). Blocks: for a thread.

A session that a process has open is never touched, and neither is one that is younger than the limit says.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from agent_ls.store import locks
from agent_ls.store.errors import SessionLockedError, StoreError
from agent_ls.store.layout import Layout, SessionSummary, canonical, lock_path, log_path
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, make_private_folder, parse_header


@dataclass(frozen=True, slots=True)
class Limits:
    """0 is no limit. `max_bytes` is for all sessions of one workspace; the oldest go first."""

    keep_days: int = 0
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Swept:
    """`removed` are ids; `in_use` are those that would have gone, and were open somewhere."""

    removed: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()


def prune(layout: Layout, workspace: str, limits: Limits, now: str, spare: Sequence[str] = ()) -> Swept:
    """Removes what is over the limits of this workspace, but for the sessions of `spare`. `now` is ISO 8601."""
    found = layout.sessions(workspace)
    before = (datetime.fromisoformat(now) - timedelta(days=limits.keep_days)).isoformat()
    too_many = _over_quota(found, limits.max_bytes)
    wanted = [
        it
        for it in reversed(found)
        if it.header.session_id not in spare
        and (it in too_many or (limits.keep_days and it.updated < before))
    ]
    return _remove(wanted)


def delete_all(layout: Layout) -> Swept:
    """Every session of every workspace, with all that lies beside it."""
    swept = _remove(layout.sessions())
    if not swept.in_use:
        shutil.rmtree(layout.root / "workspaces", ignore_errors=True)  # what is no session any more, too
    return swept


def relink(layout: Layout, old: str, new: str) -> list[str]:
    """The sessions of a folder that was moved belong to its new place. Their ids.

    Raises:
        StoreError: nothing is stored of the old folder, or one of its sessions is open. OSError.
    """
    moved = layout.sessions(old)
    if not moved:
        raise StoreError(f"No sessions of {canonical(old)} are stored.")
    layout.describe_workspace(new)
    for it in moved:
        with locks.held(lock_path(it.folder), it.header.session_id):
            _write_header(log_path(it.folder), canonical(new))
    for it in moved:
        target = layout.session_folder(new, it.header.session_id)
        make_private_folder(target.parent)
        it.folder.rename(target)
    shutil.rmtree(layout.workspace_folder(old), ignore_errors=True)
    return [it.header.session_id for it in moved]


def lost_workspaces(layout: Layout) -> list[str]:
    """Folders of stored sessions that are not there any more: moved, or deleted."""
    notes = layout.root.glob("workspaces/*/workspace.json")
    return sorted(path for note in notes for path in _path_of(note) if not Path(path).is_dir())


def size_bytes(folder: Path) -> int:
    """Of all files below it; what vanishes meanwhile counts nothing."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    return total


def _over_quota(newest_first: Sequence[SessionSummary], max_bytes: int) -> list[SessionSummary]:
    """The newest is never over it: a single large session must not delete itself."""
    total, over = 0, []
    for it in newest_first if max_bytes else ():
        total += size_bytes(it.folder)
        if total > max_bytes and it is not newest_first[0]:
            over.append(it)
    return over


def _remove(wanted: Sequence[SessionSummary]) -> Swept:
    removed, in_use = [], []
    for it in wanted:
        try:
            with locks.held(lock_path(it.folder), it.header.session_id):
                log_path(it.folder).unlink(missing_ok=True)
                shutil.rmtree(it.folder, ignore_errors=True)
            removed.append(it.header.session_id)
        except (SessionLockedError, OSError):
            in_use.append(it.header.session_id)
    return Swept(tuple(removed), tuple(in_use))


def _write_header(log: Path, workspace: str) -> None:
    """The first line anew; whole or not at all."""
    first, _, rest = log.read_bytes().partition(b"\n")
    header = replace(parse_header(first, str(log)), workspace_folder=workspace)
    part = log.with_name(f"{log.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(header.line() + rest)
        file.flush()
        os.fsync(file.fileno())
    part.replace(log)


def _path_of(note: Path) -> Iterator[str]:
    try:
        path = json.loads(note.read_bytes())["path"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(path, str):
        yield path
