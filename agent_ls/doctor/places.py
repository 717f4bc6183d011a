"""Check a remote place for `agent-ls doctor --on PLACE`: its connection, folder, Python, git and ripgrep."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from agent_ls.doctor.findings import DoctorFinding
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.remote.connection import await_call
from agent_ls.environments.remote.environment import RemoteEnvironment
from agent_ls.environments.remote.facts import EndConfig
from agent_ls.environments.remote.host import RemoteHost
from agent_ls.environments.remote.place import Place

TRIPS = 5
SLOW_MS = 200
_PROGRAMS = (
    ("git", "without git, the agent has no information about the state of the repository"),
    ("rg", "searches in large folders are slower: install ripgrep there"),
    (
        "setpriv",
        "if agent-ls is killed on that machine, a command may keep running until the next connection",
    ),
)


async def examine_place(place: Place) -> Sequence[DoctorFinding]:
    """Connect to a remote place, and check the requirements of sessions on it.

    Changes nothing there except the copy of agent-ls in ~/.cache.
    """
    host = RemoteHost(place, lambda: os.environ)
    environment = RemoteEnvironment(host, lambda: EndConfig(place.path))
    subject = place.machine
    try:
        begun = time.monotonic()
        connection = await host.connected()
        took_ms = round((time.monotonic() - begun) * 1000)
        found = [DoctorFinding(subject, "good", f"Python {connection.version} answers after {took_ms} ms")]
        found.append(await _folder(environment, place))
        found.append(await _speed(host, subject))
        if found[1].grade == "good":
            found += [await _program(environment, subject, *row) for row in _PROGRAMS]
        return found
    except EnvironmentLostError as error:
        return [DoctorFinding(subject, "bad", error.sentence, error.hint)]
    finally:
        await environment.cleanup()
        await host.close()


async def _folder(environment: RemoteEnvironment, place: Place) -> DoctorFinding:
    try:
        await environment.initialize()
    except EnvironmentLostError:
        raise
    except EnvError as error:
        return DoctorFinding(place.machine, "bad", str(error), "give a folder that exists on that machine")
    return DoctorFinding(
        place.machine, "good", f"{environment.working_directory()}, {environment.os_version()}"
    )


async def _speed(host: RemoteHost, subject: str) -> DoctorFinding:
    connection = await host.connected()
    begun = time.monotonic()
    for _ in range(TRIPS):
        await await_call(connection.call("look", ["/"]))
    took_ms = (time.monotonic() - begun) * 1000 / TRIPS
    words = f"a request takes {took_ms:.1f} ms"
    if took_ms > SLOW_MS:
        return DoctorFinding(subject, "note", words, "a tool call needs about three requests")
    return DoctorFinding(subject, "good", words)


async def _program(environment: RemoteEnvironment, subject: str, program: str, meaning: str) -> DoctorFinding:
    try:
        result = await environment.exec_command(f"command -v {program}", CommandOptions())
    except EnvError as error:
        return DoctorFinding(subject, "bad", f"commands cannot run on that machine: {error}")
    if result.exit_code == 0:
        return DoctorFinding(subject, "good", f"{program}: {result.stdout.strip()}")
    return DoctorFinding(subject, "note", f"{program} is not installed on that machine", meaning)
