"""Whether a command waits for its user to type: seen from what its processes are blocked in, not from its words.

On Linux /proc tells in which system call a process sleeps; reading from the terminal is waiting. A program that waits
for several things at once (select, poll) is taken to wait for its user when it has taken the terminal out of line
mode and left its line open, as a prompt does. Elsewhere, and of processes that may not be looked at (sudo), only the
modes of the terminal tell: who turns the echo off asks for a password.
"""

from __future__ import annotations

import os
import termios

_READS = {"x86_64": (0, 19), "aarch64": (63, 65)}
_POLLS = {"x86_64": (7, 23, 232, 270, 271, 281, 441), "aarch64": (22, 72, 73, 441)}
_TTY = os.makedev(5, 0)  # /dev/tty: each process's own
_MAX_THREADS = 64
_PROC = "/proc"


def waits_for_input(terminal: int, device: int, *, open_line: bool) -> bool:
    """`terminal` is our side of it; `device` the number of the other."""
    try:
        modes = termios.tcgetattr(terminal)[3]
        group = os.tcgetpgrp(terminal)
    except (OSError, termios.error):
        return False
    is_secret = bool(modes & termios.ICANON) and not modes & termios.ECHO
    is_prompt = open_line and (is_secret or not modes & termios.ICANON)
    calls = [call for pid in _group(group) for call in _calls(pid)]
    if not calls:
        return is_secret and open_line
    return any(_is_read(call, device) or (is_prompt and _is_poll(call)) for call in calls)


def _group(group: int) -> list[int]:
    """The processes in the foreground; empty where that cannot be known."""
    found, open_pids = [], [group]
    while open_pids:
        pid = open_pids.pop()
        try:
            with open(f"{_PROC}/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            with open(f"{_PROC}/{pid}/task/{pid}/children", "rb") as file:
                open_pids += [int(child) for child in file.read().split()]
        except (OSError, ValueError):
            continue
        if int(fields[2]) == group:
            found.append(pid)
    return found


def _calls(pid: int) -> list[tuple[int, int, int]]:
    """The system calls that its threads sleep in: pid, number, first argument."""
    try:
        threads = os.listdir(f"{_PROC}/{pid}/task")[:_MAX_THREADS]
    except OSError:
        return []
    found = []
    for thread in threads:
        try:
            with open(f"{_PROC}/{pid}/task/{thread}/syscall", "rb") as file:
                fields = file.read().split()
        except OSError:  # it has ended, or is another user's
            continue
        if len(fields) > 1 and fields[0].isdigit():
            found.append((pid, int(fields[0]), int(fields[1], 16)))
        elif fields:
            found.append((pid, -1, 0))  # it runs
    return found


def _is_read(call: tuple[int, int, int], device: int) -> bool:
    pid, number, descriptor = call
    if number not in _READS.get(os.uname().machine, ()):
        return False
    try:
        return os.stat(f"{_PROC}/{pid}/fd/{descriptor}").st_rdev in (device, _TTY)
    except OSError:
        return False


def _is_poll(call: tuple[int, int, int]) -> bool:
    return call[1] in _POLLS.get(os.uname().machine, ())
