"""Decide whether a command waits for its user to type, from the system calls in which its processes are
blocked.

On Linux, /proc lists the system call in which a process sleeps; a process that reads from the terminal waits
for input. A program that waits for several things at once (select, poll) counts as waiting if it has switched
the terminal out of line mode and its output does not end with a newline, as with a prompt. The program does not
count as waiting if its system call has a short timeout. The same applies to a program that prints repeatedly
without input, for example to redraw its display. On other systems, and for processes that may not be inspected
(sudo), only the terminal's modes are known: if echo is off, the command is asking for a password.
"""

from __future__ import annotations

import math
import os
import struct
import termios

_READS = {"x86_64": (0, 19), "aarch64": (63, 65)}
_POLLS = {"x86_64": (7, 23, 232, 270, 271, 281, 441), "aarch64": (22, 72, 73, 441)}
_LIMITS = {
    "x86_64": {
        7: (3, 0),
        23: (5, 1e-6),
        232: (4, 0),
        270: (5, 1e-9),
        271: (3, 1e-9),
        281: (4, 0),
        441: (4, 1e-9),
    },
    "aarch64": {22: (4, 0), 72: (5, 1e-9), 73: (3, 1e-9), 441: (4, 1e-9)},
}
"""For each machine type and system call number: the position of the timeout argument (from 1), and its unit.

Unit 0 means milliseconds. Otherwise the argument points to two numbers: seconds, and a fraction in this unit.
"""

_SLACK_S = 0.25
_LONGEST_S = 5.0
"""A program that prints nothing for this long counts as waiting, even if its system call had a longer timeout."""

_TTY = os.makedev(5, 0)  # /dev/tty: each process's own terminal
_MAX_THREADS = 64

BlockedCalls = list[tuple[int, int, int, float]]
"""The system calls in which threads sleep: pid, call number, first argument, timeout in seconds."""

_PROC = "/proc"


class InputWaitDetector:
    """Detects whether one command waits for input; measures how long the command pauses between outputs."""

    def __init__(self) -> None:
        self._pause_s = 0.0
        self._polls = False
        self._was_typed = False

    def note_typing(self) -> None:
        """Record that the user typed, because the next output is then a reaction to it."""
        self._was_typed = True

    def note_output(self, quiet_s: float) -> None:
        """Record output that came after `quiet_s` seconds without output and keys."""
        if self._polls and not self._was_typed:
            self._pause_s = max(quiet_s, self._pause_s / 2)
        self._polls = self._was_typed = False

    def is_waiting(self, terminal: int, device: int, *, open_line: bool, quiet_s: float) -> bool:
        """Return whether the command waits for input. `terminal` is the relay's side of the pseudo-terminal;
        `device` is the device number of the command's side.
        """
        try:
            modes = termios.tcgetattr(terminal)[3]
            group = os.tcgetpgrp(terminal)
        except (OSError, termios.error):
            return False
        is_secret = open_line and bool(modes & termios.ICANON) and not modes & termios.ECHO
        is_prompt = open_line and not modes & termios.ICANON
        found = [_read_calls(pid) for pid in _foreground_processes(group)]
        return self.judge(found, device, is_secret=is_secret, is_prompt=is_prompt, quiet_s=quiet_s)

    def judge(
        self,
        found: list[BlockedCalls | None],
        device: int,
        *,
        is_secret: bool,
        is_prompt: bool,
        quiet_s: float,
    ) -> bool:
        """Return whether the command waits for input. `found` is described in `is_reading_terminal`.

        `is_secret`: echo is off in line mode, as for a password. `is_prompt`: line mode is off. Both are only true if
        the output does not end with a newline. `quiet_s` is the time since the last output or key.
        """
        if is_reading_terminal(found, device, is_secret=is_secret):
            return True
        limits = [call[3] for calls in found for call in calls or () if is_prompt and _is_poll(call)]
        self._polls = bool(limits)
        return self._polls and quiet_s >= max(min(map(_required_quiet_s, limits)), 2 * self._pause_s)


def is_reading_terminal(found: list[BlockedCalls | None], device: int, *, is_secret: bool) -> bool:
    """Return whether a process certainly reads the terminal.

    `found` lists the blocked system calls of each foreground process, or None for a process that may not be
    inspected.
    """
    if is_secret and (None in found or not any(found)):
        return True
    calls = [call for calls in found for call in calls or ()]
    return any(_is_read(call, device) or (is_secret and _is_poll(call)) for call in calls)


def _required_quiet_s(limit_s: float) -> float:
    return 0.0 if math.isinf(limit_s) else min(limit_s, _LONGEST_S) + _SLACK_S


def _foreground_processes(group: int) -> list[int]:
    """Return the pids of the foreground process group `group`; empty if they are unknown."""
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


def _read_calls(pid: int) -> BlockedCalls | None:
    """Return the system calls of all threads of a process; None if the process may not be inspected."""
    try:
        threads = os.listdir(f"{_PROC}/{pid}/task")[:_MAX_THREADS]
    except OSError:
        return []
    found: BlockedCalls = []
    for thread in threads:
        try:
            with open(f"{_PROC}/{pid}/task/{thread}/syscall", "rb") as file:
                fields = file.read().split()
        except PermissionError:  # another user's process, as with sudo
            return None
        except OSError:  # the process has ended
            continue
        if len(fields) > 1 and fields[0].isdigit():
            number, *arguments = int(fields[0]), *(int(field, 16) for field in fields[1:7])
            found.append((pid, number, arguments[0], _limit_s(pid, number, arguments)))
        elif fields:
            found.append((pid, -1, 0, math.inf))  # the thread is running
    return found


def _limit_s(pid: int, number: int, arguments: list[int]) -> float:
    """Return the timeout of a system call in seconds; infinite if it is unknown."""
    place, unit = _LIMITS.get(os.uname().machine, {}).get(number, (0, 0))
    if not 0 < place <= len(arguments):
        return math.inf
    value = arguments[place - 1]
    if not unit:
        limit_ms = value & 0xFFFFFFFF
        return math.inf if limit_ms >= 1 << 31 else limit_ms / 1000
    if not value:
        return math.inf
    try:
        with open(f"{_PROC}/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(value)
            seconds, parts = struct.unpack("qq", memory.read(16))
    except (OSError, OverflowError, struct.error):
        return math.inf
    return max(float(seconds + parts * unit), 0.0)


def _is_read(call: tuple[int, int, int, float], device: int) -> bool:
    pid, number, descriptor, _ = call
    if number not in _READS.get(os.uname().machine, ()):
        return False
    try:
        return os.stat(f"{_PROC}/{pid}/fd/{descriptor}").st_rdev in (device, _TTY)
    except OSError:
        return False


def _is_poll(call: tuple[int, int, int, float]) -> bool:
    return call[1] in _POLLS.get(os.uname().machine, ())
