"""Finds all processes that a command started, also those that left its group, and ends them.

A process belongs to a command when it is in the session the command was started in, carries the command's mark
in its environment, or descends from such a process. On Linux /proc tells all three; elsewhere `ps` tells the
first and the last.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from agent_ls.environments.local.trees import KILL_WAIT_SECONDS

MARK_VARIABLE = "AGENT_LS_COMMAND_ID"
"""Environment variable of all that a command starts; the marks of an agent within an agent are joined."""

POLL_SECONDS = 0.02  # where the system cannot tell us that a process ended

_PROC = "/proc"
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Root:
    """What a process must stem from: the sessions led by `sessions`, or a mark that contains `mark`."""

    sessions: frozenset[int]
    mark: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the process table. `started` tells two processes with one pid apart ("" where unknown).

    Two rows are equal when they are of one process: its parent, group and session may change.
    """

    pid: int
    started: str
    parent: int = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)
    is_zombie: bool = field(compare=False)


def adopt_orphans() -> bool:
    """Makes processes whose parent died our children, so that they can be reaped; False where that cannot be."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


async def end(root: Root, grace_seconds: float) -> list[int]:
    """Ends all that stems from `root`: TERM, `grace_seconds`, KILL. The pids that stayed nevertheless.

    To be called in a shielded scope.
    """
    asked: set[Row] = set()
    with anyio.move_on_after(grace_seconds):
        while found := await _look(root):
            for row in parents_first(found.difference(asked), root):
                _send(row, signal.SIGTERM)
                _send(row, signal.SIGCONT)  # a stopped process would not see it
            asked |= found
            for row in found:
                await _ended(row)
    with anyio.move_on_after(KILL_WAIT_SECONDS):
        while found := await _look(root):
            for row in parents_first(found, root):
                _send(row, signal.SIGKILL)
            asked |= found
            for row in found:
                await _ended(row)
    stayed = await _look(root)
    # A session's leader is a child whose status somebody waits for. What it never waited for is ours with its end.
    adopted = {row for row in asked.difference(stayed) if row.pid not in root.sessions}
    await to_thread.run_sync(reap_orphans, adopted, limiter=anyio.CapacityLimiter(1))
    return sorted(row.pid for row in stayed)


def parents_first(rows: Iterable[Row], root: Root) -> list[Row]:
    """A shell whose child has ended goes on with its next command: it is to be told before."""
    return sorted(rows, key=lambda row: (row.pid not in root.sessions, int(row.started or 0), row.pid))


async def _look(root: Root) -> set[Row]:
    # A limiter of its own: threads that hang in a dead network folder must not keep us from ending processes.
    return await to_thread.run_sync(members, root, limiter=anyio.CapacityLimiter(1))


def members(root: Root) -> set[Row]:
    """The living processes that stem from `root`. Blocks for some milliseconds."""
    rows = [row for row in process_table() if not row.is_zombie and row.pid != os.getpid()]
    found = {row for row in rows if row.session in root.sessions or row.group in root.sessions}
    found |= {row for row in rows if row not in found and _is_marked(row.pid, root.mark)}
    return found | _descendants(found, rows)


def _descendants(found: set[Row], rows: Iterable[Row]) -> set[Row]:
    children: dict[int, list[Row]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row)
    below: set[Row] = set()
    open_pids = [row.pid for row in found]
    while open_pids:
        new = [child for child in children.get(open_pids.pop(), []) if child not in below]
        below.update(new)
        open_pids += [child.pid for child in new]
    return below


def _is_marked(pid: int, mark: str) -> bool:
    prefix = f"{MARK_VARIABLE}=".encode()
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False  # ended, another user's, or no /proc
    return any(v.startswith(prefix) and mark.encode() in v for v in variables)


# --- the process table ----------------------------------------------------------------------------------------


def process_table() -> list[Row]:
    return list(_rows_of_proc() if os.path.exists(f"{_PROC}/self/stat") else rows_of_ps())


def _rows_of_proc() -> Iterator[Row]:
    for name in os.listdir(_PROC):
        if name.isdigit() and (row := _row_of_proc(int(name))):
            yield row


def _row_of_proc(pid: int) -> Row | None:
    try:
        with open(f"{_PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # Fields are counted from the last parenthesis: the name before it may contain anything.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    state, parent, group, session = fields[0], *map(int, fields[1:4])
    return Row(pid, fields[19], parent, group, session, state in "ZX")


def rows_of_ps() -> Iterator[Row]:
    """Without a session: what called setsid and lost its parent is not found there."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,state="], capture_output=True, check=False, text=True
    ).stdout
    for line in listing.splitlines():
        pid, parent, group, state = line.split()[:4]
        yield Row(int(pid), "", int(parent), int(group), -1, state.startswith("Z"))


# --- signals --------------------------------------------------------------------------------------------------


def _send(row: Row, number: signal.Signals) -> None:
    if _is_same(row):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(row.pid, number)


async def _ended(row: Row) -> None:
    """Returns when the process has ended."""
    try:
        descriptor = os.pidfd_open(row.pid)
    except ProcessLookupError:
        return
    except (OSError, AttributeError):  # another system, an old kernel, or a sandbox that forbids it
        while _is_same(row):  # noqa: ASYNC110  # nothing there would set an event
            await anyio.sleep(POLL_SECONDS)
        return
    try:
        if _is_same(row):
            await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _is_same(row: Row) -> bool:
    """False when the process ended, and when another has its pid now."""
    if not row.started:
        return any(other.pid == row.pid and not other.is_zombie for other in process_table())
    now = _row_of_proc(row.pid)
    return now is not None and now == row and not now.is_zombie


# --- orphans that ended ---------------------------------------------------------------------------------------


def reap_orphans(known: set[Row]) -> set[Row]:
    """Takes the exit status of adopted orphans that ended; those of `known` that are still to be looked after.

    Adopted are the `known` ones, and zombies of ours in a session that is neither ours nor led by themselves:
    a child that we started would be in one of these. No other status may be taken, somebody waits for it.
    """
    us, our_session = os.getpid(), os.getsid(0)
    table = process_table()
    for row in table:
        is_ours = row.is_zombie and row.parent == us
        if is_ours and (row in known or row.session not in (our_session, row.pid)):
            _reap(row.pid)
            known = known - {row}
    return known.intersection(table)


def _reap(pid: int) -> None:
    with suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
