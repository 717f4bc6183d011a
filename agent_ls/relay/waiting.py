"""Whether a command waits for its user to type: seen from what its processes are blocked in, not from its words.

On Linux /proc tells in which system call a process sleeps; reading from the terminal is waiting. A program that waits
for several things at once (select, poll) is taken to wait for its user when it has taken the terminal out of line
mode and left its line open, as a prompt does; unless it is about to go on by itself, or prints by itself now and then,
as programs do that redraw what they show. Elsewhere, and of processes that may not be looked at (sudo), only the
modes of the terminal tell: who turns the echo off asks for a password.
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
"""Of these calls the argument that limits how long they wait: milliseconds (0), or where seconds and parts stand."""

_SLACK_S = 0.25
_LONGEST_S = 5.0
"""Who does nothing for so long though it could is taken to wait: event loops have timers of their own."""

_TTY = os.makedev(5, 0)  # /dev/tty: each process's own
_MAX_THREADS = 64

Calls = list[tuple[int, int, int, float]]
"""The system calls that threads sleep in: pid, number, first argument, seconds after which they end by themselves."""

_PROC = "/proc"


class Waiting:
    """What is known of one command. It learns how long the command pauses when it prints by itself."""

    def __init__(self) -> None:
        self._pause_s = 0.0
        self._polls = False
        self._was_typed = False

    def typed(self) -> None:
        """What is printed next is an answer."""
        self._was_typed = True

    def printed(self, quiet_s: float) -> None:
        """It prints after so much time without output and keys."""
        if self._polls and not self._was_typed:
            self._pause_s = max(quiet_s, self._pause_s / 2)
        self._polls = self._was_typed = False

    def looks_so(self, terminal: int, device: int, *, open_line: bool, quiet_s: float) -> bool:
        """`terminal` is our side of it; `device` the number of the other."""
        try:
            modes = termios.tcgetattr(terminal)[3]
            group = os.tcgetpgrp(terminal)
        except (OSError, termios.error):
            return False
        is_secret = open_line and bool(modes & termios.ICANON) and not modes & termios.ECHO
        is_prompt = open_line and not modes & termios.ICANON
        found = [_calls(pid) for pid in _group(group)]
        return self.is_so(found, device, is_secret=is_secret, is_prompt=is_prompt, quiet_s=quiet_s)

    def is_so(
        self, found: list[Calls | None], device: int, *, is_secret: bool, is_prompt: bool, quiet_s: float
    ) -> bool:
        """As `looks_so`; `found` as `is_asking`."""
        if is_asking(found, device, is_secret=is_secret):
            return True
        limits = [call[3] for calls in found for call in calls or () if is_prompt and _is_poll(call)]
        self._polls = bool(limits)
        return self._polls and quiet_s >= max(min(map(_quiet_needed, limits)), 2 * self._pause_s)


def is_asking(found: list[Calls | None], device: int, *, is_secret: bool) -> bool:
    """Surely. `found` are the calls of each process in the foreground; None: of one that may not be looked at."""
    if is_secret and (None in found or not any(found)):
        return True
    calls = [call for calls in found for call in calls or ()]
    return any(_is_read(call, device) or (is_secret and _is_poll(call)) for call in calls)


def _quiet_needed(limit_s: float) -> float:
    return 0.0 if math.isinf(limit_s) else min(limit_s, _LONGEST_S) + _SLACK_S


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


def _calls(pid: int) -> Calls | None:
    """Those of all its threads; None: we may not look at it."""
    try:
        threads = os.listdir(f"{_PROC}/{pid}/task")[:_MAX_THREADS]
    except OSError:
        return []
    found: Calls = []
    for thread in threads:
        try:
            with open(f"{_PROC}/{pid}/task/{thread}/syscall", "rb") as file:
                fields = file.read().split()
        except PermissionError:  # another user's, as of sudo
            return None
        except OSError:  # it has ended
            continue
        if len(fields) > 1 and fields[0].isdigit():
            number, *arguments = int(fields[0]), *(int(field, 16) for field in fields[1:7])
            found.append((pid, number, arguments[0], _limit_s(pid, number, arguments)))
        elif fields:
            found.append((pid, -1, 0, math.inf))  # it runs
    return found


def _limit_s(pid: int, number: int, arguments: list[int]) -> float:
    """Infinite, too, where it cannot be known."""
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
