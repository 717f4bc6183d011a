"""Metadata of files at the remote end, and the options of an environment there. Both ends use this module."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from agent_ls.environments.local.environ import EnvRules


@dataclass(frozen=True, slots=True)
class EndConfig:
    """Options of an environment at the remote end. `folder` may begin with `~`; "" is the home folder.

    `processes_before` is the number of background processes that earlier remote ends of this environment
    started; new process ids continue after it.
    """

    folder: str
    environment: EnvRules = field(default_factory=EnvRules)
    max_background: int = 20
    read_limit_bytes: int = 50 * 1024 * 1024
    grace_ms: int = 2_000
    processes_before: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """The metadata of a path at the remote end.

    `real` is the path with links resolved; `stat` is os.stat_result as a tuple, empty for no file.

    `is_link_there`: the path exists, possibly as a link with a missing target. `times` are mtime and
    ctime in nanoseconds, None for no file.
    """

    real: str
    stat: tuple[int, ...] = ()
    is_link_there: bool = False
    times: tuple[int, int] | None = None

    @property
    def exists(self) -> bool:
        return bool(self.stat)

    def result(self) -> os.stat_result:
        """Return `stat` as os.stat_result; all numbers are 0 for no file."""
        return os.stat_result(self.stat if len(self.stat) == 10 else (0,) * 10)

    @property
    def has_other_names(self) -> bool:
        return self.exists and stat.S_ISREG(self.stat[0]) and self.stat[3] > 1


@dataclass(frozen=True, slots=True)
class RemoteEnvironmentFacts:
    """The metadata of an environment at the remote end, which reports it after creating the environment."""

    number: int
    root: str
    home: str
    state: str
    platform: str
    os_version: str
    mark: str


def facts_of(path: str) -> Facts:
    """Return the metadata of a path on this machine. Blocks. Never raises."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return Facts(path)
    try:
        found = os.stat(real)
    except (OSError, ValueError):
        return Facts(real, (), _lexists(real))
    return Facts(real, _numbers(found), True, (found.st_mtime_ns, found.st_ctime_ns))


def opened_facts(real: str, found: os.stat_result) -> Facts:
    return Facts(real, _numbers(found), True, (found.st_mtime_ns, found.st_ctime_ns))


def _numbers(found: os.stat_result) -> tuple[int, ...]:
    return tuple(int(number) for number in found[:10])


def _lexists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False
