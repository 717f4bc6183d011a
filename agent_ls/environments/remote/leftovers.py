"""Find and end processes that a killed remote end left running. Runs at the remote end.

Every command gets an environment variable that identifies its remote end: pid namespace, pid, start time. A
later remote end of the same user uses the variable to find commands whose remote end no longer exists. The later
remote end only searches its own pid namespace, because the same pid is another process in another namespace.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import anyio
import anyio.to_thread

from agent_ls.environments.local.trees import process_tree

VARIABLE = "AGENT_LS_REMOTE_END"
PREVIOUS_SECONDS = 30.0
"""Time that an earlier remote end has to end its commands before the remote end itself is killed."""
GRACE_SECONDS = 2.0
_MAX_FILES = 10_000


def own_name() -> str:
    """Return the name of this remote end: `NAMESPACE:PID:STARTED`. STARTED is in clock ticks since boot."""
    return f"{_namespace()}:{os.getpid()}:{_read_start_time(os.getpid())}"


async def end_previous(name: str) -> None:
    """End the earlier remote end `name` if it still runs, and all processes that dead remote ends left running."""
    namespace, _, rest = name.partition(":")
    pid, _, started = rest.partition(":")
    if namespace == _namespace() and namespace and pid.isdigit() and int(pid) != os.getpid():
        await _end_remote_end(int(pid), started)
    for mark in await anyio.to_thread.run_sync(_orphaned_marks):
        with anyio.CancelScope(shield=True):
            await process_tree.end_marked(mark, GRACE_SECONDS)


async def _end_remote_end(pid: int, started: str) -> None:
    with anyio.move_on_after(PREVIOUS_SECONDS):
        with suppress(OSError):
            if _read_start_time(pid) == started:
                os.kill(pid, signal.SIGTERM)
        while started and _read_start_time(pid) == started:  # noqa: ASYNC110  # the end of another process sets no event
            await anyio.sleep(process_tree.POLL_SECONDS)
        return
    with suppress(OSError):
        if _read_start_time(pid) == started:
            os.kill(pid, signal.SIGKILL)


def _orphaned_marks() -> set[str]:
    """Return the marks of commands whose remote end no longer runs.

    A mark (LocalEnvironment.mark) is an id in the environment variables of all commands of one environment.
    """
    found = set()
    for row in process_tree.process_table():
        remote, marks = _variables_of(row.pid)
        namespace, _, rest = remote.partition(":")
        pid, _, started = rest.partition(":")
        if (
            not (remote and pid.isdigit() and namespace == _namespace())
            or _read_start_time(int(pid)) == started
        ):
            continue
        # The last mark belongs to the innermost environment, which the dead remote end had created.
        if mark := marks.rstrip(";").rpartition(";")[2].partition(".")[0]:
            found.add(mark)
    return found


def _variables_of(pid: int) -> tuple[str, str]:
    """Return the remote end's name and the marks in the environment variables of a process; "" if unknown.

    `/proc` permits this only for processes of the same user.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(
                it.partition("=")[::2] for it in file.read().decode("utf-8", "replace").split("\0")
            )
    except OSError:
        return "", ""
    return variables.get(VARIABLE, ""), variables.get(process_tree.MARK_VARIABLE, "")


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def _read_start_time(pid: int) -> str:
    """Return the start time of a running process in clock ticks since boot; "" if no running process
    has this pid.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def linked_files(places: Sequence[str]) -> list[tuple[int, int]]:
    """Return device and inode numbers of those files below these paths that have several hard links. Blocks."""
    found = []
    for place in places:
        for path in islice(_files_of(place), _MAX_FILES):
            with suppress(OSError):
                facts = os.stat(path)
                if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                    found.append((facts.st_dev, facts.st_ino))
    return found


def _files_of(place: str) -> Iterator[str]:
    if os.path.isfile(place):
        yield place
    for folder, _, names in os.walk(place):
        yield from (os.path.join(folder, name) for name in names)
