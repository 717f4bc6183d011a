"""Test scenarios of a lost connection: one edit or command, one kill during it, and the required result."""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from agent_ls.environments.base import Attribution, CommandOptions, FileWrite
from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.environments.remote.connection import RemoteConnection
from agent_ls.environments.remote.environment import RemoteEnvironment
from tests.support.processes import eventually, new_token, processes_with

LIMIT_S = 240
MAX_DELAY_S = 0.06

Kill = Callable[[RemoteConnection], None]


def kill_client(connection: RemoteConnection) -> None:
    _signal(connection.client_pid, signal.SIGKILL)


def cut_connection(connection: RemoteConnection) -> None:
    _signal(connection.client_pid, signal.SIGUSR1)


def kill_remote_end(connection: RemoteConnection) -> None:
    _signal(connection.pid, signal.SIGKILL)


def kill_parent_of_remote_end(connection: RemoteConnection) -> None:
    """Kill the parent of the remote end, which over ssh is the server's process of this connection."""
    stat = Path(f"/proc/{connection.pid}/stat").read_text().rpartition(")")[2].split()
    _signal(int(stat[1]), signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


async def kill_in_the_middle(
    environment: RemoteEnvironment, chance: random.Random, kill: Kill, act: Callable[[], Awaitable[object]]
) -> EnvironmentLostError | None:
    """Start `act`, and call `kill` after a short random time, when `act` may have ended. Return the error of `act`."""
    raised: EnvironmentLostError | None = None
    await environment.file_exists("settled")  # connected
    connection = environment.host.find_connection()
    assert connection, "it has just answered"

    async def run() -> None:
        nonlocal raised
        try:
            await act()
        except EnvironmentLostError as error:
            raised = error

    with anyio.fail_after(LIMIT_S):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await anyio.sleep(chance.uniform(0, MAX_DELAY_S))
            kill(connection)
    return raised


async def story_of_an_edit(
    environment: RemoteEnvironment, folder: Path, chance: random.Random, kill: Kill
) -> str:
    """Commit one to four files, kill the connection during the commit, and check the files.

    Return "written" if the commit succeeded, or "reported" if it raised an error. Tests count both results.
    """
    size = chance.choice((10, 5_000, 2_000_000))
    writes: list[FileWrite] = []
    for number in range(chance.randint(1, 4)):
        path, base = folder / f"f{number}", chance.choice((None, b"old %d\n" % number * 50))
        path.unlink(missing_ok=True)
        if base is not None:
            path.write_bytes(base)
        is_deletion = base is not None and chance.random() < 0.25
        writes.append(FileWrite(str(path), None if is_deletion else chance.randbytes(size), base))
    error = await kill_in_the_middle(
        environment, chance, kill, lambda: environment.commit(writes, Attribution())
    )
    await _check_no_temporary_files(environment, folder)
    now = {write.path: _content(write.path) for write in writes}
    torn = [it.path for it in writes if now[it.path] not in (it.content, it.base)]
    assert not torn, f"torn: {torn}"
    if error is None:
        wrong = [it.path for it in writes if now[it.path] != it.content]
        assert not wrong, f"reported as written, but they are not: {wrong}"
        return "written"
    said = str(error)
    for label, expected in (("Written", "content"), ("Not written", "base")):
        for name in _named(said, label):
            write = next(it for it in writes if it.path == name)
            assert now[name] == getattr(write, expected), f"{said}\n{name} is not {label.lower()}"
    return "reported"


async def story_of_a_command(
    environment: RemoteEnvironment, folder: Path, chance: random.Random, kill: Kill
) -> str:
    """Run a command that starts a daemon, kill the connection while it runs, and check that no process is left.

    The command runs in the foreground or in the background. Return "ended", which is the only permitted result.
    """
    token = new_token()
    command = "setsid sleep 1000 & (trap '' TERM; sleep 1000) & echo begun; sleep 1000"
    options = CommandOptions(timeout_ms=LIMIT_S * 1000, env_vars={"AGENT_LS_TEST_TOKEN": token})
    is_background = chance.random() < 0.4

    async def act() -> None:
        if is_background:
            info = await environment.start_process(command, options)
            await environment.wait_process(info.id)
        else:
            await environment.exec_command(command, options)

    error = await kill_in_the_middle(environment, chance, kill, act)
    assert error is not None, "the command runs for longer than the connection"
    await _check_no_temporary_files(environment, folder)
    await eventually(lambda: not processes_with(token))
    return "ended"


async def _check_no_temporary_files(environment: RemoteEnvironment, folder: Path) -> None:
    """Make a call, which connects again, and check that the folder then contains no temporary files."""
    await environment.file_exists("settled")
    left = [name for name in os.listdir(folder) if name.startswith(".agent-ls-")]
    assert not left, f"temporary files are left: {left}"


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None


def _named(said: str, label: str) -> Sequence[str]:
    found = re.search(rf"(?:^|[.] ){label}: ([^ ,]+(?:, [^ ,]+)*)[.]", said)
    return found[1].split(", ") if found else ()
