"""What keeps a store small and in its place: retention, quota, a moved folder, deleting all (R7). Blocks: for a thread.

A session that a process has open is never touched, and neither is one that is younger than the limit says.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from agent_ls.store import locks
from agent_ls.store.errors import SessionLockedError, StoreError
from agent_ls.store.layout import Layout, SessionSummary, canonical, lock_path, log_path, summary
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
    return _remove(wanted, _is_as_listed)


def delete_all(layout: Layout) -> Swept:
    """Every session of every workspace, with all that lies beside it."""
    swept = _remove(layout.sessions())
    for folder in layout.root.glob("workspaces/*/sessions/*"):
        with suppress(SessionLockedError, OSError):
            _remove_rest(folder)
    for folder in layout.root.glob("workspaces/*"):
        _forget_empty(folder)
    with suppress(OSError):
        (layout.root / "workspaces").rmdir()
    return swept


def relink(layout: Layout, old: str, new: str) -> list[str]:
    """The sessions of a folder that was moved belong to its new place. Their ids.

    Raises:
        StoreError: nothing is stored of the old folder, or one of its sessions is open. OSError. What was not moved
            then can be once more.
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
        # Nobody is to open it on its way; but Windows moves no folder with an open file in it.
        with nullcontext() if os.name == "nt" else locks.held(lock_path(it.folder), it.header.session_id):
            it.folder.rename(target)
    _forget_empty(layout.workspace_folder(old))
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


def _remove_rest(folder: Path) -> None:
    """Of what is no session any more; of one that is just being made another process has the lock.

    Raises:
        SessionLockedError, OSError.
    """
    with locks.held(lock_path(folder), folder.name):
        is_rest = not log_path(folder).exists()
        if is_rest and os.name != "nt":
            shutil.rmtree(folder, ignore_errors=True)
    if is_rest and os.name == "nt":  # nothing that is open can be removed there
        shutil.rmtree(folder, ignore_errors=True)


def _forget_empty(folder: Path) -> None:
    """A workspace's folder without sessions goes. Another process may make one in it at any point: then it stays."""
    with suppress(OSError):
        if (folder / "sessions").exists():
            (folder / "sessions").rmdir()
        (folder / "workspace.json").unlink(missing_ok=True)
        folder.rmdir()


def _is_as_listed(listed: SessionSummary) -> bool:
    """False of one that was used since."""
    found = summary(listed.folder)
    return found is not None and found.updated == listed.updated


def _remove(
    wanted: Sequence[SessionSummary], still: Callable[[SessionSummary], bool] = lambda it: True
) -> Swept:
    """Those that are `still` to go once nobody else can have them."""
    removed, in_use = [], []
    for it in wanted:
        try:
            with locks.held(lock_path(it.folder), it.header.session_id):
                if not still(it):
                    continue
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
