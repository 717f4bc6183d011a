"""Give a measurement precedence over other programs, and measure the processor time that the other programs use."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIORITY = -10
MAX_OTHER_CORES = 0.25
"""If other programs keep more cores busy than this, measured times are not reliable. Ratios to a floor that was
measured in the same run still are.
"""


@contextmanager
def precedence() -> Iterator[bool]:
    """Give this process and its later children precedence until the block ends. Yields False if the system does not
    allow it.

    If the kernel groups processes by session (autogroup), a nice value has effect only within one group.
    Therefore the priority of the group is raised too. The user's shell is in the same group, so the former priority is
    restored at the end.
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
    """Measures the CPU time that other processes use from the creation of this object on. Works on Linux only."""

    def __init__(self) -> None:
        self._began_s, self._busy_s, self._own_s = time.monotonic(), _busy_s(), _own_s()

    def cores(self) -> float:
        """Return the average number of cores that other processes kept busy; nan on other systems than Linux.

        A child process of the measurement counts as another process until it has ended.
        """
        passed_s = time.monotonic() - self._began_s
        others_s = (_busy_s() - self._busy_s) - (_own_s() - self._own_s)
        return max(0.0, others_s) / passed_s


def _busy_s() -> float:
    """Return the seconds for which the processors of the machine were busy since it started; nan if unknown."""
    try:
        fields = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:]
    except OSError:
        return float("nan")
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, *_ = map(int, fields)
    return (user + nice + system + interrupts + soft_interrupts) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
