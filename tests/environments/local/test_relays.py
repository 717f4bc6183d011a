"""The terminals of an environment: reused by one command at a time, given up when they close, and never blocking
(H5).
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.environments.base import Attribution, CommandOptions, ExecResult
from agent_ls.environments.errors import PathNotFoundError, ProcessStartError
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.processes import foreground as processes
from agent_ls.environments.local.terminals import terminal_commands
from agent_ls.environments.terminal_host import NewTerminal
from agent_ls.relay.frames import HELLO, encode_words
from tests.support.environments import SHORT_GRACE_MS, opened_local
from tests.support.processes import LIMIT_SECONDS, eventually, new_token, processes_with
from tests.support.terminal_host import FakeTerminalHost, Watch

pytestmark = pytest.mark.req("H5", "X5")

LONG_MS = 60_000
TICKS = 500
"""More loop ticks than pass between the end of a relay and the result of its command."""


@pytest.fixture
def host() -> FakeTerminalHost:
    return FakeTerminalHost()


@pytest.fixture
async def env(tmp_path: Path, host: FakeTerminalHost) -> AsyncIterator[LocalEnvironment]:
    environ = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)}
    async with opened_local(tmp_path, environ=environ, terminals=host) as environment:
        yield environment
        host.end()


def call(call_id: str = "c1", watch: Watch | None = None, folder: str = "") -> CommandOptions:
    return CommandOptions(LONG_MS, folder, attribution=Attribution("s", "t", call_id), terminal=watch)


async def test_consecutive_commands_share_a_terminal_that_displays_each_command_line_and_exit_code(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    await env.exec_command("echo one", call("c1"))
    await env.exec_command("echo two; exit 4", call("c2"))
    (terminal,) = host.terminals
    await terminal.until("[exit 4")

    assert host.runs == [(terminal.id, "c1"), (terminal.id, "c2")]
    assert "$ echo one" in terminal.screen and "\ntwo\n" in terminal.screen and "[exit 0" in terminal.screen


async def test_simultaneous_commands_have_separate_terminals(
    env: LocalEnvironment, host: FakeTerminalHost, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "f")
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec_command, "cat f", call("c1"))
            group.start_soon(env.exec_command, "echo x > f", call("c2"))

    assert len(host.terminals) == 2 and {call_id for _, call_id in host.runs} == {"c1", "c2"}


async def test_a_command_without_a_tool_call_opens_no_terminal(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    result = await env.exec_command("test -t 1 || echo pipes", CommandOptions(LONG_MS))

    assert result.output == "pipes\n" and not host.asked


async def test_commands_use_pipes_for_a_while_after_the_editor_failed_to_open_a_terminal(
    env: LocalEnvironment,
) -> None:
    host = FakeTerminalHost(opens=False)
    local = LocalEnvironment(env.working_directory(), terminals=host)
    for _ in range(2):
        result = await local.exec_command("test -t 1 || echo pipes", call())
        assert result.output == "pipes\n"
    await local.cleanup()

    assert len(host.asked) == 1


async def test_a_command_that_cannot_start_reports_why_and_the_terminal_stays_usable(
    env: LocalEnvironment, host: FakeTerminalHost, tmp_path: Path
) -> None:
    with pytest.raises(PathNotFoundError):
        await env.exec_command("echo", call(folder=str(tmp_path / "none")))
    with pytest.raises(ProcessStartError, match="Argument list too long: write the long text into a file"):
        await env.exec_command("x" * 3_000_000, call())

    assert (await env.exec_command("echo on", call())).output == "on\n"
    assert len(host.terminals) == 1


async def test_impossible_arguments_are_refused_and_the_terminal_stays_usable(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    with pytest.raises(ProcessStartError, match="surrogates not allowed"):
        await env.exec_command("echo \ud83d", call())

    assert (await env.exec_command("echo on", call())).output == "on\n"
    assert len(host.terminals) == 1


async def test_the_relay_socket_is_created_in_another_folder_if_its_path_would_be_too_long(
    tmp_path: Path, host: FakeTerminalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)  # a socket path has at most 108 bytes
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    local = LocalEnvironment(str(tmp_path), terminals=host)

    assert (await local.exec_command("test -t 1 && echo terminal", call())).output == "terminal\n"
    assert not list(long.iterdir())
    await local.cleanup()
    host.end()


@pytest.mark.req("L16")
async def test_a_terminal_that_the_user_closes_ends_its_command_and_the_next_gets_another(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    token = new_token()

    async def close() -> None:
        await eventually(lambda: bool(host.terminals))
        await host.terminals[0].until("\nbegun\n")
        host.terminals[0].close()

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(close)
            result = await env.exec_command(f"echo begun; : {token}; sleep 600; echo never", call())

    assert result.output == "begun\n" and result.exit_code == -15 and not result.timed_out
    assert "closed the terminal" in result.note
    assert not processes_with(token)
    assert host.terminals[0].process.wait(LIMIT_SECONDS) == 0
    assert (await env.exec_command("echo on", call())).output == "on\n"
    assert len(host.terminals) == 2


@pytest.mark.req("L16", "R4")
async def test_a_command_whose_terminal_closes_because_the_editor_ends_returns_no_result(
    env: LocalEnvironment, host: FakeTerminalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "EDITOR_ENDS_SECONDS", LIMIT_SECONDS)
    token = new_token()
    results: list[ExecResult] = []

    async def run() -> None:
        results.append(await env.exec_command(f"echo begun; : {token}; sleep 600", call()))

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await eventually(lambda: bool(host.terminals))
            (terminal,) = host.terminals
            await terminal.until("\nbegun\n")
            terminal.close()
            await anyio.to_thread.run_sync(terminal.process.wait, LIMIT_SECONDS)
            for _ in range(TICKS):
                await anyio.to_thread.run_sync(os.getpid)
            group.cancel_scope.cancel()  # as the server does when its editor has ended
    assert not results and not processes_with(token)


@pytest.mark.req("L16")
async def test_a_killed_relay_ends_its_command_and_the_tool_call_gets_a_result(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    token = new_token()

    async def kill() -> None:
        await eventually(lambda: bool(host.terminals))
        await host.terminals[0].until("\nbegun\n")
        host.terminals[0].process.kill()

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            result = await env.exec_command(f"trap '' TERM; echo begun; : {token}; sleep 600", call())

    assert (result.output, result.exit_code) == (
        "begun\n",
        -9,
    ) and "closed by force" in result.note
    assert not processes_with(token)


@pytest.mark.req("L6")
async def test_a_cancelled_tool_call_ends_its_command_and_keeps_the_terminal_open(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    token = new_token()
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec_command, f"echo begun; : {token}; sleep 600; echo never", call())
            await eventually(lambda: bool(host.terminals))
            await host.terminals[0].until("\nbegun\n")
            group.cancel_scope.cancel()

    assert not processes_with(token)
    assert (await env.exec_command("echo on", call())).output == "on\n"
    assert len(host.terminals) == 1


@pytest.mark.req("L16")
async def test_a_background_process_ends_with_its_terminal(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    process = await env.start_process("echo begun; exec sleep 600", call())
    await host.terminals[0].until("\nbegun\n")
    host.terminals[0].close()
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await env.wait_process(process.id)).exit_code == -15


async def test_input_from_the_server_is_written_to_the_terminal_without_blocking(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    watch = Watch()

    async def answer() -> None:
        await watch.until_waits()
        assert watch.terminal
        await watch.terminal.write("ü\r")

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(answer)
            result = await env.exec_command("read -rp 'name: ' name; echo $name", call(watch=watch))

    assert result.output == "name: ü\nü\n"
    assert watch.reports == [True, False]
    assert watch.terminal
    await watch.terminal.write("to nobody")


async def test_a_command_whose_question_is_not_answered_is_ended_and_the_model_informed(
    tmp_path: Path, host: FakeTerminalHost
) -> None:
    local = LocalEnvironment(
        str(tmp_path),
        terminals=host,
        limits=LocalLimits(terminate_grace_ms=SHORT_GRACE_MS, input_wait_ms=1),
    )
    with anyio.fail_after(LIMIT_SECONDS):
        result = await local.exec_command("read -rp 'Go on? ' word", call())

    assert result.timed_out and result.output == "Go on? "
    assert "waited for input" in result.note and "needs no input" in result.note
    await local.cleanup()
    host.end()


@pytest.mark.req("L2")
async def test_waiting_for_terminal_input_does_not_extend_a_command_beyond_its_time_limit(
    tmp_path: Path, host: FakeTerminalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        terminal_commands, "MAX_DURATION_MS", 1
    )  # so that the limit is the time that the call asks for
    an_hour_ms = 3_600_000
    local = LocalEnvironment(
        str(tmp_path),
        terminals=host,
        limits=LocalLimits(terminate_grace_ms=SHORT_GRACE_MS, input_wait_ms=an_hour_ms),
    )
    with anyio.fail_after(LIMIT_SECONDS):
        result = await local.exec_command("read -rp 'Go on? ' word", replace(call(), timeout_ms=3_000))

    assert result.timed_out
    await local.cleanup()
    host.end()


async def test_the_last_output_is_read_even_if_the_editor_does_not_read_its_terminal(
    tmp_path: Path,
) -> None:
    host = FakeTerminalHost(is_read=False)
    local = LocalEnvironment(str(tmp_path), terminals=host)
    with anyio.fail_after(LIMIT_SECONDS):
        result = await local.exec_command("head -c 280000 /dev/zero | tr '\\0' x; echo end", call())

    assert (len(result.output), result.output[-5:], result.note) == (280_004, "xend\n", "")
    await local.cleanup()
    assert host.terminals[0].process.wait(LIMIT_SECONDS) == 0, "nor does the relay wait for it"
    host.end()


async def test_terminal_modes_left_by_a_program_are_reset_for_the_next(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    await env.exec_command("printf '\\033[?1047h\\033(0\\016\\033[1;5r'", call())
    await host.terminals[0].until("[exit 0")
    after = host.terminals[0].screen.partition("\x1b[1;5r")[2]

    for taken_back in ("\x1b[?1049l", "\x0f\x1b(B", "\x1b7\x1b[r\x1b8"):
        assert taken_back in after


async def test_a_busy_or_sleeping_command_is_not_reported_as_waiting_for_input(env: LocalEnvironment) -> None:
    watch = Watch()
    await env.exec_command("printf 'no line end'; sleep 0.8; echo; sleep 0.8 | cat", call(watch=watch))

    assert watch.reports == []


async def test_a_command_gets_the_size_of_its_terminal_also_after_a_resize(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    async def resize() -> None:
        await eventually(lambda: bool(host.terminals))
        await host.terminals[0].until("\nbegun\n")
        host.terminals[0].resize(33, 101)

    command = "trap 'stty size; exit' WINCH; echo begun; while :; do sleep 0.05; done"
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(resize)
            result = await env.exec_command(command, call())

    assert result.output == "begun\n33 101\n"


async def test_a_command_in_a_terminal_gets_its_own_variables_and_none_of_the_editor(
    env: LocalEnvironment,
) -> None:
    result = await env.exec_command(
        "echo $TERM $PAGER; env | grep -c of-the-editor",
        CommandOptions(LONG_MS, env_vars={"PAGER": "less"}, attribution=Attribution("s", "t", "c1")),
    )

    assert result.output == "xterm-256color less\n0\n"


async def test_control_characters_of_a_command_line_do_nothing_in_the_terminal(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    await env.exec_command("echo on # \x1b]0;title\x07\x1b[2J", call())
    await host.terminals[0].until("[exit 0")

    assert "\x1b]0;" not in host.terminals[0].screen and "\x1b[2J" not in host.terminals[0].screen


class Nosy(FakeTerminalHost):
    """A host that checks the files for the relay and connects before it with wrong tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.modes: list[int] = []
        self.turned_away: list[bytes] = []

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        token_file = Path(terminal.argv[-1])
        address, token = (await anyio.Path(token_file).read_text()).split("\n")
        self.modes = [stat.S_IMODE(path.stat().st_mode) for path in (token_file.parent, token_file)]
        assert token not in " ".join(terminal.argv)
        for wrong in (
            encode_words(HELLO, "wrong", os.getpid()),
            encode_words(HELLO, token, 1),
            b"\xff" * 100,
        ):
            with socket.socket(socket.AF_UNIX) as caller:
                caller.settimeout(LIMIT_SECONDS)
                await anyio.to_thread.run_sync(caller.connect, address)
                caller.sendall(wrong)
                self.turned_away.append(await anyio.to_thread.run_sync(caller.recv, 1))
        opened = await super().open_terminal(terminal)
        await eventually(lambda: not token_file.exists())
        return opened


async def test_only_a_relay_with_the_right_token_and_pid_is_accepted_and_its_socket_is_removed(
    tmp_path: Path,
) -> None:
    host = Nosy()
    local = LocalEnvironment(str(tmp_path), terminals=host)
    result = await local.exec_command("echo on", call())
    meeting = Path(host.asked[0].argv[-1]).parent

    assert result.output == "on\n"
    assert host.turned_away == [b"", b"", b""] and host.modes == [0o700, 0o600]
    assert not meeting.exists()
    await local.cleanup()
    host.end()


async def test_a_relay_that_connects_too_late_prints_a_message_and_exits(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    host = FakeTerminalHost()
    local = LocalEnvironment(str(tmp_path), terminals=host)
    await local.exec_command("echo on", call())
    (asked,) = host.asked
    await host.open_terminal(asked)
    await host.terminals[1].until("no longer waits")

    assert host.terminals[1].process.wait(LIMIT_SECONDS) == 0
    await local.cleanup()
    host.end()


async def test_cleanup_of_terminals_leaves_no_open_file_descriptors(tmp_path: Path) -> None:
    host = FakeTerminalHost()

    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    local = LocalEnvironment(str(tmp_path), terminals=host)
    await local.exec_command("echo on", call())
    await local.start_process("sleep 600", call())
    await local.cleanup()
    host.end()

    await eventually(lambda: count() <= before)


async def test_input_for_a_background_process_is_typed_into_its_terminal(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    process = await env.start_process("read line; echo [$line]; cat; exit 7", call())
    await env.write_process(process.id, "one\n")
    await host.terminals[0].until("[one]")
    await env.write_process(process.id, "two\n", close=True)
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await env.wait_process(process.id)).exit_code == 7

    assert (await env.read_process(process.id))[0] == "one\n[one]\ntwo\ntwo\n"


@pytest.mark.req("L16", "T5")
async def test_a_background_process_that_waits_for_input_is_listed_as_waiting(env: LocalEnvironment) -> None:
    watch = Watch()
    process = await env.start_process("read -rp 'name: ' name; exec sleep 600", call(watch=watch))
    with anyio.fail_after(LIMIT_SECONDS):
        await watch.until_waits()
    (found,) = await env.list_processes()
    assert found.is_waiting
    assert not (await env.kill_process(process.id)).is_waiting


async def test_closing_the_input_after_an_incomplete_line_ends_the_input_of_the_process(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    process = await env.start_process("cat > got; exit 7", call())
    await env.write_process(process.id, "one\ntw")
    await env.write_process(process.id, "o", close=True)
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await env.wait_process(process.id)).exit_code == 7

    assert (tmp_path / "got").read_text() == "one\ntwo"


async def test_an_input_line_longer_than_the_terminal_line_buffer_arrives_complete(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    text = "z" * 20_000 + "\n" + "y" * 4_000 + "\n" + "ü" * 5_000 + "\nend\n"
    process = await env.start_process("stty -echo; cat > got; exit 7", call())
    await env.write_process(process.id, text, close=True)
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await env.wait_process(process.id)).exit_code == 7

    assert (tmp_path / "got").read_text() == text
