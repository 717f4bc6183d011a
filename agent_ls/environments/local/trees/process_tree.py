"""Find all processes that a command started, including those that left its group, and end them.

A process belongs to a command if it is in the session that the command was started in, carries the
command's mark in its environment, was adopted from it (adoption.py), is in its control group (cgroups.py), or
descends from such a process. On Linux, /proc has the data for all of these checks. On other systems, `ps` has
only the data for two checks: session and descent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio import to_thread

from agent_ls.environments.local.trees import adoption, cgroups
from agent_ls.environments.local.trees.base import KILL_WAIT_SECONDS
from agent_ls.environments.local.trees.rows import Row
from agent_ls.patterns import regex
from agent_ls.program_lookup import require_program

MARK_VARIABLE = "AGENT_LS_COMMAND_ID"
"""Environment variable of all descendants of a command. Its value contains the command's mark.

If an agent runs in a command of another agent, the value has the marks of both commands, outer mark first.
"""

_MARK = regex(r"[0-9a-f]{32}")  # any other text, from a damaged log, could match the variables of any process

POLL_SECONDS = 0.02  # polling interval where the system cannot report the end of a process

_PROC = "/proc"
_STAT_BYTES = 4096
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Root:
    """Identifies the processes of a command or of all commands of an environment.

    They are the processes in `sessions`, those with a mark that contains `mark`, and their descendants. A
    process that started before `since` (in ticks, see adoption.now_ticks) cannot have the mark, so its
    environment is not read. On a machine with many programs, this saves most of the search time.
    """

    sessions: frozenset[int]
    mark: str
    since: int = 0

    def may_mark(self, row: Row) -> bool:
        return not row.started or int(row.started) >= self.since


def adopt_orphans() -> bool:
    """Make orphaned descendants children of this process, so that they can be reaped; return False if
    unsupported.
    """
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


async def end(root: Root, grace_seconds: float) -> list[int]:
    """End all processes of `root`: SIGTERM, then after `grace_seconds` SIGKILL. Return the pids that still run.

    Call in a shielded scope.
    """
    asked: set[Row] = set()
    with anyio.move_on_after(grace_seconds) as patience:
        while found := await _look_while_ending(root):
            for row in parents_first(found.difference(asked), root):
                _send(row, signal.SIGTERM)
                _send(row, signal.SIGCONT)  # a stopped process would not handle SIGTERM
            asked |= found
            for row in found:
                await _wait_for_end(row)
    await to_thread.run_sync(cgroups.kill, root.mark, limiter=anyio.CapacityLimiter(1))
    # A process started during a check can be missed once, so two checks in a row must find nothing.
    checks = 2 if asked or patience.cancelled_caught else 1
    with anyio.move_on_after(KILL_WAIT_SECONDS):
        while found := await _look_several_times(root, checks):
            for row in parents_first(found, root):
                _send(row, signal.SIGKILL)
            asked |= found
            checks = 2
            for row in found:
                await _wait_for_end(row)
    stayed = await to_thread.run_sync(_reap_ended, root, asked, limiter=anyio.CapacityLimiter(1))
    return sorted(row.pid for row in stayed)


async def _look_several_times(root: Root, count: int) -> set[Row]:
    """Return the running processes that the first successful one of `count` checks finds."""
    found: set[Row] = set()
    for _ in range(count):
        found = found or await _look_while_ending(root)
    return found


def _reap_ended(root: Root, asked: set[Row]) -> set[Row]:
    """Reap the ended ones of the processes `asked`, and return those of `root` that still run. Blocks briefly.

    Session leaders are not reaped, because other code collects their exit status. When a session leader ends, its
    zombie children become children of this process.
    """
    ended, table = adoption.ended_commands(root.mark), process_table()
    stayed = members_in(table, root, ended)
    adopted = {row for row in asked.difference(stayed) if row.pid not in root.sessions}
    reap_orphans(adopted, root, table)
    cgroups.remove(root.mark)
    return stayed


async def end_marked(mark: str, grace_seconds: float) -> None:
    """End processes that an agent-ls process left running when it died. `mark` is LocalEnvironment.mark."""
    if _MARK.fullmatch(mark):
        root = Root(frozenset(), f"{mark}.")
        await to_thread.run_sync(cgroups.find_left, root.mark, limiter=anyio.CapacityLimiter(1))
        await end(root, grace_seconds)


def parents_first(rows: Iterable[Row], root: Root) -> list[Row]:
    """Sort processes so that parents are ended before their children.

    If the child of a shell ended first, the shell would run its next command.
    """
    return sorted(rows, key=lambda row: (row.pid not in root.sessions, int(row.started or 0), row.pid))


async def _look_while_ending(root: Root) -> set[Row]:
    """Return the running processes of `root`, and keep attributing processes to its ended commands.

    A process that gets SIGTERM can start another one and exit. By then its command may have ended long ago.
    """
    # This call has its own limiter. Otherwise threads that hang in an unreachable network folder could use up
    # the shared limiter, and processes could not be ended.
    limiter = anyio.CapacityLimiter(1)
    return await to_thread.run_sync(lambda: members_in(process_table(), root, frozenset()), limiter=limiter)


def members_in(table: Sequence[Row], root: Root, ended: frozenset[str]) -> set[Row]:
    """Return the running processes of `root` in `table`. Blocks briefly.

    `ended` are commands that had ended before the table was read: later tables show no more of their processes.
    """
    rows = [row for row in table if not row.is_zombie and row.pid != os.getpid()]
    grouped = cgroups.pids(root.mark)
    found = {
        row
        for row in rows
        if row.session in root.sessions or row.group in root.sessions or row.pid in grouped
    }
    unknown = [row for row in rows if row not in found and root.may_mark(row)]
    found |= {row for row in unknown if _is_marked(row.pid, root.mark)}
    found |= adoption.find_claimed(
        rows, root.mark, lambda pid: _is_marked(pid, "") or cgroups.is_in_group(pid, ""), ended
    )
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
        with open(f"{_PROC}/{pid}/environ", "rb", buffering=0) as file:
            environ = file.read()
    except OSError:
        return False  # the process has ended, belongs to another user, or there is no /proc
    return prefix in environ and any(
        variable.startswith(prefix) and mark.encode() in variable for variable in environ.split(b"\0")
    )


# --- the process table ----------------------------------------------------------------------------------------


def process_table() -> list[Row]:
    return list(_rows_of_proc() if os.path.exists(f"{_PROC}/self/stat") else rows_of_ps())


def _rows_of_proc() -> Iterator[Row]:
    for name in os.listdir(_PROC):
        if name.isdigit() and (row := _row_of_proc(int(name))):
            yield row


def _row_of_proc(pid: int) -> Row | None:
    try:
        descriptor = os.open(
            f"{_PROC}/{pid}/stat", os.O_RDONLY
        )  # a file object would make four more system calls
    except OSError:
        return None
    try:
        # Count the fields from the last parenthesis, because the program name before it may contain anything.
        fields = os.read(descriptor, _STAT_BYTES).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(descriptor)
    parent, group, session = map(int, fields[1:4])
    return Row(pid, fields[19].decode("ascii"), parent, group, session, fields[0] in (b"Z", b"X"))


def rows_of_ps() -> Iterator[Row]:
    """Yield rows read from `ps`, for systems without /proc.

    `ps` does not print the session. So a process that called setsid, and whose parent has ended, cannot be
    attributed to its command.
    """
    listing = subprocess.run(
        [require_program("ps"), "-A", "-o", "pid=,ppid=,pgid=,state="],
        capture_output=True,
        check=False,
        text=True,
    ).stdout
    for line in listing.splitlines():
        pid, parent, group, state = line.split()[:4]
        yield Row(int(pid), "", int(parent), int(group), -1, state.startswith("Z"))


# --- signals --------------------------------------------------------------------------------------------------


def _send(row: Row, number: signal.Signals) -> None:
    if _is_same(row):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(row.pid, number)


async def _wait_for_end(row: Row) -> None:
    """Wait until the process has ended."""
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
    """Return whether the process still runs; False if another process has the pid now."""
    if not row.started:
        return any(other.pid == row.pid and not other.is_zombie for other in process_table())
    now = _row_of_proc(row.pid)
    return now is not None and now == row and not now.is_zombie


# --- orphans that ended ---------------------------------------------------------------------------------------


def reap_orphans(known: set[Row], root: Root | None = None, table: Sequence[Row] | None = None) -> set[Row]:
    """Reap adopted processes in `table` that are zombies; return the other processes of `known` that are in
    `table`.

    If `table` is None, read the current one. A zombie child counts as adopted if it is in `known`, or if its
    session is neither the session of this process nor one that the child leads. (Every child that this process
    starts is in one of these two sessions.) With `root`, zombies in its control groups count as adopted too,
    except the leaders of its sessions. Other code collects the exit status of all other children.
    """
    us, our_session = os.getpid(), os.getsid(0)
    table = process_table() if table is None else table
    for row in table:
        if not row.is_zombie or row.parent != us:
            continue
        is_adopted = row in known or row.session not in (our_session, row.pid)
        if not is_adopted and root and row.pid not in root.sessions:
            is_adopted = cgroups.is_in_group(row.pid, root.mark)
        if is_adopted:
            _reap(row.pid)
            known = known - {row}
    return known.intersection(table)


def _reap(pid: int) -> None:
    with suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
