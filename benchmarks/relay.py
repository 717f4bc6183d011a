"""Measure the time that a terminal adds to a command: python -m benchmarks.relay.

The floor is `sh -c true` in a bare pseudo-terminal.

Each row is the time of one command, from the call to its result. `first`: a terminal must be opened for the command.
`next`: the command uses a terminal that is already open. `pipes`: the command runs without a terminal. The printed
times are medians over runs that alternate. Machines differ, so quote the ratio to the floor.
"""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.terminals.own_terminals import OwnTerminals

RUNS = 25
OPTIONS = CommandOptions(60_000, attribution=Attribution("s", "t", "c"))


def bare() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["sh", "-c", "true"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    process.wait()
    os.close(ours)


async def once(folder: str, found: dict[str, list[float]]) -> None:
    begun = time.perf_counter()
    await anyio.to_thread.run_sync(bare)
    found["floor"].append(time.perf_counter() - begun)
    shown, piped = LocalEnvironment(folder, terminals=OwnTerminals()), LocalEnvironment(folder)
    for name, environment in (("first", shown), ("next", shown), ("pipes", piped)):
        begun = time.perf_counter()
        await environment.exec_command("true", OPTIONS)
        found[name].append(time.perf_counter() - begun)
    await shown.cleanup()
    await piped.cleanup()


async def measure() -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            await once(folder, found)
    return found


def main() -> None:
    middle = {name: statistics.median(values) * 1000 for name, values in anyio.run(measure).items()}
    print(f"median of {RUNS} runs\n\n{'command':8} {'ms':>8} {'ratio':>7}")
    for name, milliseconds in middle.items():
        print(f"{name:8} {milliseconds:8.2f} {milliseconds / middle['floor']:7.1f}")


if __name__ == "__main__":
    main()
