"""Measure the time that a remote place adds to a tool call: python -m benchmarks.remote [PLACE …].

The floor is `LocalEnvironment`.

PLACE has the same form as for `exec --on`. The temporary folder of this machine must exist in each place under the same
path. Without PLACE, a pipe to another Python process on this machine is measured. Each operation runs alternately in
all environments; the printed times are medians. Machines differ, so quote the ratio to the floor.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import anyio

from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecutionEnvironment,
    FileWrite,
    GrepOptions,
)
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place, parse_place

RUNS = 31
SMALL, LARGE = os.urandom(2_000), os.urandom(8 * 1024 * 1024)
OPTIONS = CommandOptions(60_000)
Operation = Callable[[ExecutionEnvironment], Awaitable[object]]


async def _edit(env: ExecutionEnvironment) -> None:
    before = await env.read_bytes("edited")
    await env.commit([FileWrite("edited", before[1:] + before[:1], before)], Attribution())


OPERATIONS: Mapping[str, Operation] = {
    "file exists": lambda env: env.file_exists("small"),
    "read 2 kB": lambda env: env.read_bytes("small"),
    "read 8 MiB": lambda env: env.read_bytes("large"),
    "read and write 2 kB": _edit,
    "list 1,000 files": lambda env: env.list_directory("many"),
    "grep": lambda env: env.grep("needle", ".", GrepOptions()),
    "command true": lambda env: env.exec_command("true", OPTIONS),
    "command, 1 MB of output": lambda env: env.exec_command(
        "head -c 1000000 /dev/zero | tr '\\0' x", OPTIONS
    ),
}


async def measure(places: Sequence[Place]) -> Mapping[str, Mapping[str, float]]:
    """Return the median time in milliseconds of each operation, by operation and then by environment."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder:
        _fill(folder)
        hosts = [RemoteHost(replace(place, path=""), lambda: os.environ) for place in places]
        environments: dict[str, ExecutionEnvironment] = {"local": LocalEnvironment(folder)}
        for host in hosts:
            environments[host.place.machine] = RemoteEnvironment(host, lambda: EndConfig(folder))
        for name, environment in environments.items():
            begun = time.perf_counter()
            await environment.initialize()
            found["connect"][name].append((time.perf_counter() - begun) * 1000)
        for _ in range(RUNS):
            for operation, run in OPERATIONS.items():
                for name, environment in environments.items():
                    begun = time.perf_counter()
                    await run(environment)
                    found[operation][name].append((time.perf_counter() - begun) * 1000)
        for environment in environments.values():
            await environment.cleanup()
        for host in hosts:
            await host.close()
    return {
        operation: {name: statistics.median(values) for name, values in by_name.items()}
        for operation, by_name in found.items()
    }


def _fill(folder: str) -> None:
    os.mkdir(os.path.join(folder, "many"))
    for name, content in (("small", SMALL), ("edited", SMALL), ("large", LARGE)):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    for number in range(1_000):
        with open(os.path.join(folder, "many", f"f{number}"), "w") as file:
            file.write("needle\n" if number == 500 else "hay\n")


def main() -> None:
    places = [parse_place(name) for name in sys.argv[1:]] or [Place("command", command=(sys.executable,))]
    for operation, by_name in anyio.run(measure, places).items():
        floor = by_name["local"]
        row = [f"{operation:24} local {floor:8.2f} ms"]
        for name, value in by_name.items():
            if name != "local":
                ratio = f" ({value / floor:.1f})" if operation != "connect" else ""
                row.append(f"{name[:24]} {value:8.2f}{ratio}")
        print("  ".join(row))


if __name__ == "__main__":
    main()
