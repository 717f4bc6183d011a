"""Attribute adopted processes to the commands that started them.

On Linux, a process whose parent has ended is adopted: it becomes a child of the nearest subreaper (agent-ls,
or the relay that ran the command). A process started with `env -i setsid X &` leaves the session and the
environment of the command. Its adoption is the only way to find its command. The first check that sees an
adopted process attributes it to a command that the same subreaper has started. The attribution never changes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_ls.environments.local.trees.rows import Row


@dataclass(frozen=True, slots=True)
class _Command:
    adopter: int
    since: int
    is_running: Callable[[], bool]


STARTING = threading.Lock()
"""Lock held while a child is started, because a child that does not run its program yet looks like an adopted
process.
"""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_lock = threading.Lock()
_commands: dict[str, _Command] = {}  # commands by mark
_claims: dict[Row, str] = {}
_children: set[int] = set()  # pids of relays that this process has started; they belong to no command


def now_ticks() -> int:
    """Return the time in the unit of process start times: ticks since the system started."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)


def register_command(mark: str, adopter: int, since: int, is_running: Callable[[], bool]) -> None:
    """Register a command whose orphans are attributed to it.

    `since` is the time of its start in ticks (`now_ticks`). `adopter` is the pid of the process that adopts
    its orphans.
    """
    with _lock:
        _commands[mark] = _Command(adopter, since, is_running)


def unregister_command(mark: str) -> None:
    """Stop attributing processes to a command. Earlier attributions remain."""
    with _lock:
        _commands.pop(mark, None)


def own_child(pid: int) -> None:
    with _lock:
        _children.add(pid)


def not_our_child(pid: int) -> None:
    with _lock:
        _children.discard(pid)


def ended_commands(mark: str) -> frozenset[str]:
    """Return the registered commands whose mark contains `mark` and that have ended."""
    with _lock:
        return frozenset(
            name for name, command in _commands.items() if mark in name and not command.is_running()
        )


def find_claimed(
    rows: Iterable[Row], mark: str, is_marked: Callable[[int], bool], ended: frozenset[str]
) -> set[Row]:
    """Return the adopted processes among `rows` that belong to commands whose mark contains `mark`.

    First, newly adopted processes are attributed. `is_marked` returns whether a pid has the mark of any
    command, or is in the control group of any command; such a process is not attributed here. `ended` are
    commands that ended before `rows` was read, so that no process is attributed to them later. A command that
    ended after that is none of them, because it may have started a process in between.
    """
    with STARTING, _lock:
        living = set(rows)
        for row in [row for row in _claims if row not in living]:
            del _claims[row]
        for name, command in [(name, command) for name, command in _commands.items() if mark in name]:
            for row in living - _claims.keys():
                if row.parent == command.adopter and _is_stray(row, command.since) and not is_marked(row.pid):
                    _claims[row] = name
        for name in ended:
            _commands.pop(name, None)
        return {row for row, name in _claims.items() if mark in name}


def _is_stray(row: Row, since: int) -> bool:
    if row.pid in _children or int(row.started or 0) < since:
        return False
    try:
        # A process in the adopter's own session is a helper of the adopter, not an adopted process.
        return row.session != os.getsid(row.parent)
    except OSError:
        return False
