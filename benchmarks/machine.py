"""Keeps other work on the machine away from a measurement, and measures how much of it there was."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIORITY = -10
MAX_OTHER_CORES = 0.25
"""With more cores busy with other work than this, times are not results; ratios to a floor of the same run are."""


@contextmanager
def precedence() -> Iterator[bool]:
    """Give this process and its later children precedence until the block ends. Yields False if the system does not
    allow it.

    Where the kernel groups processes by session, a nice value counts only among the processes of one session, so the
    priority of the session is raised too. It belongs to the user's shell as well, and is therefore restored.
    """
    group = Path("/proc/self/autogroup")
    own = os.getpriority(os.PRIO_PROCESS, 0)
    session = group.read_text("ascii").rpartition("nice ")[2].strip() if group.exists() else ""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if session:
            group.write_text(str(PRIORITY))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, own)
        if session:
            group.write_text(session)


class OtherLoad:
    """Measures the processor time that other processes use, from creation on. Only Linux counts it."""

    def __init__(self) -> None:
        self._began_s, self._busy_s, self._own_s = time.monotonic(), _busy_s(), _own_s()

    def cores(self) -> float:
        """Return the average number of cores that other processes kept busy; nan if the system does not say.

        Processes of the measurement count as own when they have ended.
        """
        passed_s = time.monotonic() - self._began_s
        others_s = (_busy_s() - self._busy_s) - (_own_s() - self._own_s)
        return max(0.0, others_s) / passed_s


def _busy_s() -> float:
    """Return the time that all processors of the machine have worked."""
    try:
        fields = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:]
    except OSError:
        return float("nan")
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, *_ = map(int, fields)
    return (user + nice + system + interrupts + soft_interrupts) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
