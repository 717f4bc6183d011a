"""Commands on this machine: which processes end with them, which survive, and their output."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from agent_ls.environments.base import CommandOptions, ExecResult, Stream
from agent_ls.environments.errors import InputRefusedError, NotAFolderError, ProcessLimitError
from agent_ls.environments.local import EnvPolicy, LocalEnvironment, LocalLimits
from agent_ls.environments.local.processes.foreground import TERMINATE_GRACE_MS
from agent_ls.testing.environment_factory import wait_for_output
from tests.support.environments import SHORT_GRACE_MS, ended_at_its_limit, opened_local
from tests.support.processes import (
    LIMIT_SECONDS,
    Fifo,
    eventually,
    new_token,
    processes_with,
    zombies_of_ours,
)

pytestmark = pytest.mark.req("X2", "T5")

HOUR_MS = 3_600_000


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[LocalEnvironment]:
    async with opened_local(tmp_path) as environment:
        yield environment


class Waiter:
    """An output sink that sets `seen` when the awaited text was printed."""

    def __init__(self, awaited: str) -> None:
        self.text = ""
        self._awaited = awaited
        self.seen = anyio.Event()

    def __call__(self, stream: Stream, text: str) -> None:
        self.text += text
        if self._awaited in self.text:
            self.seen.set()


async def run_until_ready_then_cancel(env: LocalEnvironment, command: str, token: str) -> None:
    ready = Waiter("ready")
    options = CommandOptions(timeout_ms=HOUR_MS, env_vars={"TOKEN": token})
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec_command, command, options, ready)
            await ready.seen.wait()
            assert processes_with(token)
            group.cancel_scope.cancel()


DOUBLE_FORK = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("ready", flush=True)
        os.execvp("sleep", ["sleep", "1000"])
    os._exit(0)
os.wait()
os.execvp("sleep", ["sleep", "1000"])
"""

UNAWAITED = """
import os
child = os.fork() or os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print("ready", flush=True)
os.execvp("sleep", ["sleep", "1000"])
"""

TREES = {
    "a plain child": "echo ready; sleep 1000; true",
    "a group": "sleep 1000 & sleep 1000 & echo ready; wait",
    "ignores TERM": "trap '' TERM; echo ready; while :; do sleep 1000; done",
    "a child that ignores TERM": "bash -c \"trap '' TERM; echo ready; while :; do sleep 1000; done\" & wait",
    "setsid": "setsid bash -c 'echo ready; exec sleep 1000' & wait",
    "setsid in setsid, both ignoring TERM": (
        "setsid bash -c \"trap '' TERM; setsid bash -c 'echo ready; exec sleep 1000' & wait; sleep 1000\" & wait"
    ),
    "a double fork": f"exec {sys.executable} -c '{DOUBLE_FORK}'",
    "a child that ended and was not waited for": f"exec {sys.executable} -c '{UNAWAITED}'",
    "no environment left": "env -i setsid bash -c 'echo ready; exec -a $0 sleep 1000' $TOKEN & wait",
    "stopped": "sleep 1000 & kill -STOP $!; echo ready; wait",
    "an orphan of the group": "(sleep 1000 & echo ready) ; exec sleep 1000",
}


@pytest.mark.req("L16")
@pytest.mark.parametrize("tree", TREES)
async def test_a_cancelled_command_leaves_no_process(env: LocalEnvironment, tree: str) -> None:
    token, zombies = new_token(), zombies_of_ours()
    await run_until_ready_then_cancel(env, TREES[tree], token)
    assert processes_with(token) == {}
    assert zombies_of_ours() <= zombies


@pytest.mark.spec("loop 9.4.4", "safety S6.4")
@pytest.mark.req("O2")
@pytest.mark.parametrize("tree", ["a group", "ignores TERM", "a double fork"])
async def test_a_timed_out_command_leaves_no_process_and_returns_its_output(
    env: LocalEnvironment, tree: str
) -> None:
    token, zombies = new_token(), zombies_of_ours()
    result = await ended_at_its_limit(env, TREES[tree], "ready", CommandOptions(env_vars={"TOKEN": token}))
    assert result.timed_out
    assert result.stdout == "ready\n"
    assert result.exit_code < 0
    assert result.note == ""
    assert processes_with(token) == {}
    assert zombies_of_ours() <= zombies


@pytest.mark.spec("loop 9.4.4")
async def test_a_command_that_ignores_term_is_killed_after_two_seconds(tmp_path: Path) -> None:
    assert TERMINATE_GRACE_MS == 2_000
    async with opened_local(tmp_path, grace_ms=TERMINATE_GRACE_MS) as env:
        result = await ended_at_its_limit(
            env, "trap '' TERM; echo ready; while :; do sleep 1000; done", "ready"
        )
    assert result.exit_code == -signal.SIGKILL
    assert result.duration_ms >= TERMINATE_GRACE_MS


@pytest.mark.spec("loop 9.4.4")
async def test_a_command_that_receives_sigterm_can_print_output_before_it_exits(tmp_path: Path) -> None:
    async with opened_local(tmp_path, grace_ms=HOUR_MS) as env:
        command = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 1000 & wait; done"
        result = await ended_at_its_limit(env, command, "ready")
    assert (result.output, result.exit_code, result.timed_out) == ("ready\nbye\n", 7, True)


@pytest.mark.req("L16")
async def test_a_command_cancelled_at_any_moment_leaves_no_process_and_no_open_file(
    env: LocalEnvironment,
) -> None:
    token = new_token()
    open_files = len(os.listdir("/proc/self/fd"))
    for moment in range(0, 1_000, 25):
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec_command, f": {token}; echo x; sleep 1000; true", CommandOptions())
            for _ in range(moment):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert processes_with(token) == {}, moment
    await eventually(lambda: len(os.listdir("/proc/self/fd")) == open_files)


async def test_a_command_cancelled_before_its_start_starts_no_process(env: LocalEnvironment) -> None:
    token = new_token()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await env.exec_command(f": {token}; sleep 1000", CommandOptions())
    assert scope.cancelled_caught
    assert processes_with(token) == {}


async def test_a_background_process_outlives_other_commands_until_cleanup(env: LocalEnvironment) -> None:
    token = new_token()
    await env.start_process("exec sleep 1000", CommandOptions(env_vars={"TOKEN": token}))
    await run_until_ready_then_cancel(env, "echo ready; sleep 1000", other := new_token())
    assert processes_with(other) == {}
    assert (await env.exec_command("sleep 1000", CommandOptions(timeout_ms=1))).timed_out
    assert len(processes_with(token)) == 1
    await env.cleanup()
    assert processes_with(token) == {}
    assert [info.exit_code for info in await env.list_processes()] == [-signal.SIGTERM]


@pytest.mark.req("T5")
async def test_the_number_of_background_processes_is_limited_until_one_ends(
    tmp_path: Path,
) -> None:
    env = LocalEnvironment(
        str(tmp_path), limits=LocalLimits(terminate_grace_ms=SHORT_GRACE_MS, max_background=lambda: 2)
    )
    await env.initialize()
    token, refused = new_token(), []

    async def start(command: str) -> None:
        try:
            await env.start_process(command, CommandOptions(env_vars={"TOKEN": token}))
        except ProcessLimitError as error:
            refused.append(str(error))

    try:
        await start("exec sleep 1000")
        async with anyio.create_task_group() as tasks:  # two starts for the one free slot
            tasks.start_soon(start, "exec sleep 1001")
            tasks.start_soon(start, "exec sleep 1002")
        assert len(processes_with(token)) == 2
        (words,) = refused
        assert words.startswith("2 background processes are running") and "End a process" in words
        assert "p1: exec sleep 1000" in words
        await start("exec sleep 1003")
        assert "p2: exec sleep 100" in refused[-1] and len(refused) == 2
        await env.kill_process("p1")
        await start("exec sleep 1004")
        assert len(refused) == 2
        running = [info.id for info in await env.list_processes() if info.exit_code is None]
        assert running == ["p2", "p3"]
        await env.kill_process("p2")
        with pytest.raises(NotAFolderError):  # a failed start takes no slot
            (tmp_path / "file").touch()
            await env.start_process("true", CommandOptions(working_dir="file"))
        await start("exec sleep 1005")
        assert len(refused) == 2
    finally:
        await env.cleanup()
    assert processes_with(token) == {}


@pytest.mark.req("T5")
async def test_input_for_a_process_that_has_closed_its_stdin_is_refused(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    info = await env.start_process("exec <&-; echo closed; exec sleep 1000", CommandOptions())
    await wait_for_output(env, info.id, "closed\n")
    with pytest.raises(InputRefusedError, match="no longer reads its input"):
        await env.write_process(info.id, "anybody there?\n")


@pytest.mark.req("T5", "L16")
async def test_a_blocked_write_to_a_process_is_refused_when_the_process_is_killed(
    env: LocalEnvironment,
) -> None:
    info = await env.start_process("echo ready; exec sleep 1000", CommandOptions())
    await wait_for_output(env, info.id, "ready\n")
    files = len(os.listdir("/proc/self/fd"))
    refused = anyio.Event()

    async def write() -> None:
        with pytest.raises(InputRefusedError):
            await env.write_process(info.id, "x" * 1_000_000)
        refused.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        await env.kill_process(info.id)
    assert refused.is_set()
    assert len(os.listdir("/proc/self/fd")) < files


async def test_killing_a_background_process_ends_its_child_processes(env: LocalEnvironment) -> None:
    token = new_token()
    # The child prints "ready" only after setsid: before, it would still have the shell's trap.
    command = "trap 'echo bye; exit' TERM; setsid sh -c 'echo ready; exec sleep 1000' & wait"
    info = await env.start_process(command, CommandOptions(env_vars={"TOKEN": token}))
    await wait_for_output(env, info.id, "ready")
    assert (await env.kill_process(info.id)).exit_code == 0
    assert (await env.read_process(info.id))[0] == "ready\nbye\n"
    assert processes_with(token) == {}
    assert (await env.kill_process(info.id)).exit_code == 0


async def test_a_server_that_a_command_leaves_running_lives_until_cleanup(env: LocalEnvironment) -> None:
    token = new_token()
    options = CommandOptions(timeout_ms=HOUR_MS, env_vars={"TOKEN": token})
    result = await env.exec_command(
        "sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 &", options
    )
    assert (result.exit_code, result.note) == (0, "")
    assert len(processes_with(token)) == 2
    await env.exec_command("true", CommandOptions())
    assert len(processes_with(token)) == 2
    zombies = zombies_of_ours()
    await env.cleanup()
    assert processes_with(token) == {}
    assert zombies_of_ours() <= zombies


async def test_a_command_does_not_wait_for_a_child_that_has_inherited_its_stdout(
    env: LocalEnvironment,
) -> None:
    token = new_token()
    options = CommandOptions(timeout_ms=HOUR_MS, env_vars={"TOKEN": token})
    with anyio.fail_after(LIMIT_SECONDS):
        result = await env.exec_command("sleep 1000 & echo started", options)
    (pid,) = processes_with(token)
    assert (result.exit_code, result.stdout, result.timed_out) == (0, "started\n", False)
    assert f"pid {pid}" in result.note


async def test_a_process_that_a_command_leaves_running_can_still_print(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    with Fifo(tmp_path / "ask") as ask, Fifo(tmp_path / "tell") as tell:
        server = "while read line; do echo tick && echo alive >tell; done <ask &"
        result = await env.exec_command(server, CommandOptions(timeout_ms=HOUR_MS))
        assert result.note
        for _ in range(3):
            ask.send_line()
            assert await tell.line() == "alive"


async def test_an_orphan_that_has_ended_is_reaped_when_another_command_runs(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    zombies = zombies_of_ours()
    with Fifo(tmp_path / "end") as end:
        await env.exec_command("setsid bash -c 'echo $$ >pid; read <end' >/dev/null 2>&1 &", CommandOptions())
        await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        pid = int((tmp_path / "pid").read_text())
        await env.exec_command("true", CommandOptions())
        end.send_line()
        await eventually(lambda: pid in zombies_of_ours())
    await env.exec_command("true", CommandOptions())
    assert zombies_of_ours() <= zombies


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("policy", "seen"), [("filtered", "shown\n"), ("all", "hushshown\n"), ("none", "\n"), ("core", "\n")]
)
async def test_a_command_gets_the_variables_that_the_policy_permits(
    tmp_path: Path, policy: EnvPolicy, seen: str
) -> None:
    environ = {"PATH": os.environ["PATH"], "MY_API_KEY": "hush", "PLAIN": "shown"}
    env = LocalEnvironment(str(tmp_path), environ=environ, env_policy=policy)
    result = await env.exec_command("echo $MY_API_KEY$PLAIN", CommandOptions())
    assert result.stdout == seen


# --- output ---------------------------------------------------------------------------------------------------


async def run(env: LocalEnvironment, command: str, sink: Callable[[Stream, str], None]) -> ExecResult:
    with anyio.fail_after(LIMIT_SECONDS):
        return await env.exec_command(command, CommandOptions(timeout_ms=HOUR_MS), sink)


async def test_stdout_and_stderr_are_combined_in_the_order_of_printing(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    with Fifo(tmp_path / "go") as go:
        result = await run(
            env,
            "echo 1; read <go; echo 2 >&2; read <go; echo 3; read <go; echo 4 >&2",
            lambda *_: go.send_line(),
        )
    assert (result.output, result.stdout, result.stderr) == ("1\n2\n3\n4\n", "1\n3\n", "2\n4\n")


async def test_a_multibyte_character_split_between_two_reads_is_decoded_as_one_character(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    pieces: list[str] = []

    def sink(stream: Stream, text: str) -> None:
        pieces.append(text)
        go.send_line()

    with Fifo(tmp_path / "go") as go:
        result = await run(env, r"printf 'a\303'; read <go; printf '\251b'", sink)
    assert result.stdout == "aéb"
    assert pieces == ["a", "éb"]


async def test_a_failing_sink_still_ends_the_command(env: LocalEnvironment) -> None:
    token = new_token()

    def sink(stream: Stream, text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        await run(env, f": {token}; echo ready; sleep 1000; true", sink)
    assert caught.group_contains(ZeroDivisionError)
    assert processes_with(token) == {}


# --- our own end ----------------------------------------------------------------------------------------------

HOST = """
import sys, anyio
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment, LocalLimits

async def main():
    env = LocalEnvironment(".")
    await env.initialize()
    await env.exec_command("exec sleep 1000", CommandOptions(timeout_ms=3_600_000))

anyio.run(main)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv to have commands die with us")
async def test_a_running_command_ends_when_the_server_is_killed() -> None:
    token = new_token()
    environ = {**os.environ, "MARK": token}
    async with await anyio.open_process([sys.executable, "-c", HOST], env=environ) as host:
        await eventually(lambda: any(line.startswith("sleep") for line in processes_with(token).values()))
        host.kill()
    await eventually(lambda: processes_with(token) == {})


@pytest.mark.req("T5", "X2")
async def test_a_git_command_that_opens_an_editor_without_a_terminal_fails_at_once(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    commit = "git -c user.name=a -c user.email=b@c -c core.editor='sleep 600 #' commit --allow-empty"
    with anyio.fail_after(LIMIT_SECONDS):
        refused = await env.exec_command(f"git init -q . && {commit}", CommandOptions(60_000))
        written = await env.exec_command(
            f"{commit} -q && git log --format=%s",
            CommandOptions(60_000, env_vars={"GIT_EDITOR": "echo its own >"}),
        )

    assert refused.exit_code == 1 and "open an editor" in refused.stderr
    assert (written.exit_code, written.stdout) == (0, "its own\n")
