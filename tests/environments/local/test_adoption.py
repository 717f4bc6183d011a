"""Stray processes that left the session, environment and parent of their command still end with that command."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import run
from uuid import uuid4

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.terminals.own_terminals import OwnTerminals
from agent_ls.environments.local.trees import adoption, cgroups
from agent_ls.environments.local.trees.adoption import now_ticks
from agent_ls.environments.local.trees.process_tree import (
    Root,
    adopt_orphans,
    end,
    end_marked,
    members_in,
    process_table,
)
from tests.support.environments import ended_at_its_limit, opened_local
from tests.support.processes import eventually, new_token, processes_with

pytestmark = [
    pytest.mark.req("X2", "T5"),
    pytest.mark.skipif(
        "sys.platform != 'linux'", reason="only Linux hands orphans to another process than init"
    ),
]

ROOT = Path(__file__).parents[3]
STRAY = "env -i setsid bash -c 'echo ready; exec -a {token} sleep 1000'"
CASES = {
    "parent gone": f"({STRAY} &); sleep 1000",
    "two forks": '(bash -c "({STRAY} &)" &); sleep 1000'.replace("{STRAY}", STRAY),
    "closed output": "(env -i setsid bash -c 'exec -a {token} sleep 1000 </dev/null >/dev/null 2>&1' &); "
    "echo ready; sleep 1000",
    "starts itself again when it is ended": (
        "echo ready; trap \"env -i setsid bash -c 'exec -a {token} sleep 1000' & disown; exit\" TERM; "
        "while :; do sleep 0.05; done"
    ),
    "a stray that starts itself again": (
        '(env -i setsid bash -c "trap \'env -i setsid bash -c \\"exec -a {token} sleep 1000\\" & exit\' TERM; '
        'echo ready; while :; do sleep 0.05; done" &); sleep 1000'
    ),
}


@asynccontextmanager
async def opened(folder: Path, *, in_terminal: bool) -> AsyncIterator[LocalEnvironment]:
    terminals = OwnTerminals() if in_terminal else None
    async with opened_local(folder, terminals=terminals) as environment:
        yield environment


@pytest.mark.parametrize("in_terminal", [False, True], ids=["pipes", "terminal"])
@pytest.mark.parametrize("case", CASES)
async def test_stray_processes_of_a_timed_out_command_end_with_the_command(
    tmp_path: Path, case: str, in_terminal: bool
) -> None:
    await check_that_strays_end(tmp_path, case, in_terminal)


async def check_that_strays_end(folder: Path, case: str, in_terminal: bool) -> None:
    token = new_token()
    options = CommandOptions(attribution=Attribution(call_id="c1"))
    async with opened(folder, in_terminal=in_terminal) as environment:
        done = await ended_at_its_limit(environment, CASES[case].replace("{token}", token), "ready", options)
        assert done.timed_out and "ready" in done.output
        assert not processes_with(token)


@pytest.mark.parametrize("in_terminal", [False, True], ids=["pipes", "terminal"])
async def test_stray_processes_of_a_command_that_exited_normally_live_until_cleanup(
    tmp_path: Path, in_terminal: bool
) -> None:
    token, quiet = new_token(), "</dev/null >/dev/null 2>&1"
    async with opened(tmp_path, in_terminal=in_terminal) as environment:
        command = f"(env -i setsid bash -c 'exec -a {token} sleep 1000 {quiet}' &); sleep 0.3"
        options = CommandOptions(timeout_ms=30_000, attribution=Attribution(call_id="c1"))
        assert (await environment.exec_command(command, options)).exit_code == 0
        assert processes_with(token)
        await environment.exec_command("true", options)
        assert processes_with(token)
    assert not processes_with(token)


async def test_ending_a_command_does_not_end_stray_processes_of_another_command(tmp_path: Path) -> None:
    token = new_token()
    async with opened(tmp_path, in_terminal=False) as mine, opened(tmp_path, in_terminal=False) as other:
        stray = STRAY.replace("{token}", token)
        await other.start_process(f"({stray} &); sleep 1000", CommandOptions())
        # The shell before it also has the token among its arguments, but not first.
        await eventually(lambda: any(line.startswith(token) for line in processes_with(token).values()))
        seen = now_ticks()
        # processes that start in one clock tick cannot be distinguished
        await eventually(lambda: now_ticks() > seen)
        done = await mine.exec_command("sleep 1000", CommandOptions(timeout_ms=100))
        assert done.timed_out and processes_with(token)
    assert not processes_with(token)


@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
async def test_killing_a_process_does_not_end_stray_processes_that_another_command_starts_later(
    tmp_path: Path,
) -> None:
    token = new_token()
    async with opened(tmp_path, in_terminal=False) as mine, opened(tmp_path, in_terminal=False) as other:
        stray = STRAY.replace("{token}", token)
        waiting = f"while [ ! -e go ]; do sleep 0.01; done; ({stray} &); sleep 1000"
        await other.start_process(waiting, CommandOptions())
        process = await mine.start_process("sleep 1000", CommandOptions())
        (tmp_path / "go").touch()
        await eventually(lambda: any(line.startswith(token) for line in processes_with(token).values()))
        await mine.kill_process(process.id)
        assert processes_with(token)
    assert not processes_with(token)


ZOMBIES = 20  # the test would leave hundreds; a few may belong to programs that end at this moment
CHAIN = """
import os, select, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"ready")
for _ in range(2_000):  # ends by itself if the test fails
    if os.fork():
        os._exit(0)
    os.setsid()
    select.select([], [], [], 0.002)
"""


@pytest.fixture
def no_zombies_left() -> Iterator[None]:
    """Collect the zombies of a failed test, because thousands of them slow down every later test that reads the
    process table.
    """
    before = set(process_table())
    yield
    for row in set(process_table()) - before:
        if row.is_zombie and row.parent == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(row.pid, os.WNOHANG)


@pytest.mark.usefixtures("no_zombies_left")
@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
@pytest.mark.parametrize("in_terminal", [False, True], ids=["pipes", "terminal"])
async def test_a_process_that_forks_copies_of_itself_endlessly_is_ended(
    tmp_path: Path, in_terminal: bool
) -> None:
    """Each copy lives for less time than reading the process table takes."""
    token = new_token()
    before = set(process_table())
    (tmp_path / "chain.py").write_text(CHAIN)
    command = f"env -i setsid python3 -S -I chain.py {token} & sleep 1000"
    async with opened(tmp_path, in_terminal=in_terminal) as environment:
        options = CommandOptions(attribution=Attribution(call_id="c1"))
        done = await ended_at_its_limit(environment, command, "ready", options)
        assert done.timed_out
        assert all(not processes_with(token) for _ in range(50))
    new = set(process_table()) - before
    zombies = [row for row in new if row.is_zombie and row.parent == os.getpid()]
    assert len(zombies) < ZOMBIES, "those that ended were adopted, and nobody else collects them"
    assert not [name for name in os.listdir(cgroups.own_group()) if environment.mark in name]


@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
@pytest.mark.parametrize("in_terminal", [False, True], ids=["pipes", "terminal"])
async def test_a_command_is_in_its_control_group_before_it_can_start_another_process(
    tmp_path: Path, in_terminal: bool
) -> None:
    async with opened(tmp_path, in_terminal=in_terminal) as environment:
        options = CommandOptions(attribution=Attribution(call_id="c1"))
        for _ in range(5):
            done = await environment.exec_command('echo "$(</proc/self/cgroup)"', options)
            assert f"agent-ls-{environment.mark}" in done.output


@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
@pytest.mark.parametrize("command", ["true", "sleep 0.01 & true", "kill -TERM $$"])
async def test_the_control_group_of_a_command_is_removed_when_the_command_has_ended(
    tmp_path: Path, command: str
) -> None:
    async with opened(tmp_path, in_terminal=False) as environment:
        await environment.exec_command(command, CommandOptions())
    assert not [name for name in os.listdir(cgroups.own_group()) if environment.mark in name]


@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
async def test_control_groups_that_a_command_creates_within_its_own_are_removed_with_it(
    tmp_path: Path,
) -> None:
    token = new_token()
    async with opened(tmp_path, in_terminal=False) as environment:
        inner = f'"$(echo {cgroups.own_group()}/agent-ls-{environment.mark}*)"/inner'
        moved = f"env -i setsid bash -c 'echo $$ > {inner}/cgroup.procs; exec -a {token} sleep 1000'"
        waits = f"until grep -q . {inner}/cgroup.procs; do :; done"
        command = f"mkdir {inner}; ({moved} &); {waits}; echo ready; sleep 1000"
        done = await ended_at_its_limit(environment, command, "ready", CommandOptions())
        assert done.timed_out and not processes_with(token)
    assert not [name for name in os.listdir(cgroups.own_group()) if environment.mark in name]


@pytest.mark.skipif(not cgroups.own_group(), reason="control groups cannot be created here")
def test_groups_of_killed_processes_are_left_alone_until_they_are_to_be_ended() -> None:
    """A machine keeps the groups of each killed server: with 24,000, listing them took longer than most commands."""
    mark = uuid4().hex
    left = Path(cgroups.own_group(), f"agent-ls-{mark}.1;")
    left.mkdir()
    cgroups.remove(f"{mark}.")
    assert left.exists()
    anyio.run(end_marked, mark, 0.1)
    assert not left.exists()


async def test_a_process_started_while_its_command_ended_is_attributed_to_the_command() -> None:
    """The process table was read before the command started the stray and exited, so it has neither."""
    adopts = adopt_orphans()
    mark = new_token()
    root = Root(frozenset(), mark)
    adoption.register_command(mark, os.getpid(), now_ticks(), lambda: False)
    members_in(process_table(), root, ended=frozenset())
    token = new_token()
    await anyio.run_process(
        ["bash", "-c", f"(env -i setsid bash -c 'exec -a {token} sleep 1000' >/dev/null 2>&1 &)"]
    )
    try:
        await eventually(lambda: any(line.startswith(token) for line in processes_with(token).values()))
        found = members_in(process_table(), root, adoption.ended_commands(mark))
        assert adopts and {row.pid for row in found} == set(processes_with(token))
        assert not adoption.ended_commands(mark), "the last table had all that the command left running"
    finally:
        await end(root, grace_seconds=0)


# Hides control groups from one program and its children.
WITHOUT_GROUPS = ("unshare", "--mount", "sh", "-c", 'umount --all --lazy --types cgroup2 && exec "$@"', "sh")


def can_hide_groups() -> bool:
    return (
        bool(shutil.which("unshare")) and run([*WITHOUT_GROUPS, "true"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not cgroups.own_group(), reason="the other tests of this file run without control groups")
@pytest.mark.skipif(not can_hide_groups(), reason="control groups cannot be hidden from a program here")
@pytest.mark.parametrize("case", CASES)
def test_stray_processes_end_also_where_no_control_group_can_be_created(tmp_path: Path, case: str) -> None:
    """With control groups, a stray process ends with its command's group even if nothing has adopted it."""
    program = f"import anyio, {__name__} as t; anyio.run(t.check_without_groups, {str(tmp_path)!r}, {case!r})"
    run([*WITHOUT_GROUPS, sys.executable, "-c", program], cwd=ROOT, check=True)


async def check_without_groups(folder: str, case: str) -> None:
    assert not cgroups.own_group()
    for in_terminal in (False, True):
        await check_that_strays_end(Path(folder), case, in_terminal)
