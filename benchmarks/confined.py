"""Measure the time that confinement adds to a read-only command: `python -m benchmarks.confined`.

Each command runs alternately without and with confinement, in the environment that a session uses. The printed times
are medians of the CPU time of this process and its child processes, so that other programs hardly affect them.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
from pathlib import Path

import anyio

from agent_ls.environments.base import CommandOptions, ExecutionEnvironment
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.sandbox import requiring_confinement
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.services.permissions.paths import places_of
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.settings.model import SandboxSettings

COMMANDS = ("true", "ls -la", "grep -rn import agent_ls/policy", "git status --short")
RUNS = 31
LIMIT_MS = 10.0


async def never(command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
    """Refuse to run any command again without confinement."""
    return False


async def milliseconds(environment: ExecutionEnvironment, command: str) -> float:
    start = used_seconds()
    await environment.exec_command(command, CommandOptions())
    return (used_seconds() - start) * 1000


def used_seconds() -> float:
    ours, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return ours.ru_utime + ours.ru_stime + children.ru_utime + children.ru_stime


async def measured(kind: str, state: Path) -> float:
    """Print the median times of each command without and with confinement of the given kind.

    Return the largest number of milliseconds that confinement adds to a command, 0 if this machine lacks the kind.
    """
    machine = ReadOnlySandbox(state, kind)
    if await machine.find() is None:
        print(f"{kind}: {machine.why}")
        return 0.0
    places = places_of(str(Path.cwd()), state=str(state))
    limits = SessionSandbox(SandboxSettings(), lambda: places, str(state), lambda event: None, machine)
    plain = LocalEnvironment(str(Path.cwd()))
    confined = SandboxedEnvironment(plain, limits, never)
    await confined.initialize()
    added = []
    for command in COMMANDS:
        without, within = [], []
        for _ in range(RUNS):
            without.append(await milliseconds(plain, command))
            with requiring_confinement():
                within.append(await milliseconds(confined, command))
        base, cost = statistics.median(without), statistics.median(within)
        added.append(cost - base)
        print(
            f"{kind:10} {command:32} {base:7.1f} ms  {cost:7.1f} ms  +{cost - base:5.1f} ms  x{cost / base:.2f}"
        )
    await confined.cleanup()
    return max(added)


async def run() -> int:
    with tempfile.TemporaryDirectory() as state:
        worst = await measured("landlock", Path(state))
        await measured("bubblewrap", Path(state))
    print(f"landlock adds {worst:.1f} ms at most; the limit is {LIMIT_MS:.0f} ms")
    return int(worst > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(anyio.run(run))
