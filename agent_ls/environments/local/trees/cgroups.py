"""Control groups of commands (Linux, cgroup v2): the kernel ends all processes of a group at once.

A process may start copies of itself faster than the process table can be read. Signals miss some copies, but
killing the group reaches all of them. Without permission to create groups, the functions of this module have no
effect; process_tree.py then finds the processes by other means.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

_PREFIX = "agent-ls-"
_known: set[str] = set()
"""The marks of groups that this process created or found, and did not remove.

A folder keeps the groups of all processes that were killed: listing it at each command may take longer than the
command.
"""
_BASH = "/bin/bash"
"""The shell that joins a group before it runs a command. Some other shells do not support `>&10`."""


@cache
def own_group() -> str:
    """Return the folder of this process's control group; "" if no groups can be created in this folder."""
    try:
        mounts = _lines("/proc/self/mountinfo")
        # In a line of mountinfo, fields 3 and 4 are the root and the folder of the mount; ` - ` precedes its
        # type.
        root, folder = next(line.split()[3:5] for line in mounts if " - cgroup2 " in line)
        path = next(line[3:] for line in _lines("/proc/self/cgroup") if line.startswith("0::/"))
    except (OSError, StopIteration, ValueError):
        return ""
    if path.startswith("/..") or not f"{path}/".startswith(f"{root.rstrip('/')}/"):
        return ""
    group = os.path.normpath(folder + path.removeprefix(root.rstrip("/")))
    return group if os.access(group, os.W_OK) and os.access(f"{group}/cgroup.procs", os.W_OK) else ""


def create(mark: str) -> str:
    """Create the control group of a command.

    Return the path of a file, "" if the group cannot be created. A process writes "0" to the file to join the
    group.
    """
    if base := own_group():
        group = _folder(base, mark)
        with suppress(OSError):
            os.mkdir(group, 0o700)
            if os.path.exists(f"{group}/cgroup.kill"):
                _known.add(mark)
                return f"{group}/cgroup.procs"
            os.rmdir(group)
    return ""


def open_created(mark: str) -> int | None:
    """Create the control group of a command. Return a descriptor to pass to `joining`, None if creation fails.

    The caller closes the descriptor.
    """
    if os.path.exists(_BASH) and (entry := create(mark)):
        with suppress(OSError):
            return os.open(entry, os.O_WRONLY | os.O_CLOEXEC)
    return None


def joining(descriptor: int, argv: Sequence[str]) -> Sequence[str]:
    """Return arguments for a process that joins a control group and then runs `argv`.

    `descriptor` is the result of `open_created`.
    """
    script = f'{{ echo 0 >&{descriptor}; }} 2>/dev/null; exec {descriptor}>&-; exec "$@"'
    return (_BASH, "-p", "-c", script, "bash", *argv)


def find_left(mark: str) -> None:
    """Find the groups that a dead process left for commands whose mark contains `mark`.

    The functions below have no effect on groups of other processes before.
    """
    if base := own_group():
        with suppress(OSError):
            marks = (name.removeprefix(_PREFIX) for name in os.listdir(base) if name.startswith(_PREFIX))
            _known.update(found for found in marks if mark in found)


def pids(mark: str) -> set[int]:
    """Return the processes in the groups of commands whose mark contains `mark`."""
    found: set[int] = set()
    for group in _groups(mark).values():
        for folder in _with_nested(group):
            with suppress(OSError):
                found.update(map(int, _lines(f"{folder}/cgroup.procs")))
    return found


def is_in_group(pid: int, mark: str) -> bool:
    """Return whether a process, running or a zombie, is in the group of a command whose mark contains `mark`."""
    with suppress(OSError):
        line = next((line for line in _lines(f"/proc/{pid}/cgroup") if line.startswith("0::")), "")
        return _PREFIX in line and mark in line.partition(_PREFIX)[2]
    return False


def kill(mark: str) -> None:
    """Kill all processes in the groups of commands whose mark contains `mark`."""
    for group in _groups(mark).values():
        with suppress(OSError), open(f"{group}/cgroup.kill", "w", encoding="ascii") as file:
            file.write("1")


def remove(mark: str) -> None:
    """Remove the empty groups of commands whose mark contains `mark`. Groups with processes remain."""
    for found, group in _groups(mark).items():
        for folder in reversed(_with_nested(group)):
            with suppress(OSError):
                os.rmdir(folder)
        if not os.path.exists(group):
            _known.discard(found)


def _with_nested(group: str) -> list[str]:
    """Return the folders of a group and of all groups in it. Each folder precedes its subfolders."""
    with suppress(OSError):
        # Walk the folder only if it contains another group: listing its many files takes time.
        if os.stat(group).st_nlink > 2:
            return [folder for folder, _, _ in os.walk(group)]
    return [group]


def _groups(mark: str) -> dict[str, str]:
    """Return the folders of the known groups of commands whose mark contains `mark`, by their marks."""
    base = own_group()
    return {found: _folder(base, found) for found in tuple(_known) if mark in found} if base else {}


def _folder(base: str, mark: str) -> str:
    return os.path.join(base, _PREFIX + mark)


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().splitlines()
