"""Programs that are hard to run, in a terminal of the editor: their output, their exit code, and typed input."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.local import LocalEnvironment
from tests.environments.local.test_awkward_programs import ANYWHERE, PYTHON, Program, lines, prints
from tests.support.environments import ended_at_its_limit, opened_local
from tests.support.processes import LIMIT_SECONDS, new_token, processes_with
from tests.support.terminal_host import FakeTerminalHost, Watch

pytestmark = pytest.mark.req("H5", "T5", "X2")

LONG_MS = 60_000
CALL = Attribution("s", "t", "c1")


@pytest.fixture
def host() -> FakeTerminalHost:
    return FakeTerminalHost()


@pytest.fixture
async def env(tmp_path: Path, host: FakeTerminalHost) -> AsyncIterator[LocalEnvironment]:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ADA_API_KEY": "secret"}
    try:
        async with opened_local(tmp_path, environ=environ, terminals=host) as environment:
            yield environment
    finally:
        for terminal in host.terminals:
            assert terminal.process.wait(LIMIT_SECONDS) == 0, "the relay ends with its server"
        host.end()


def options(watch: Watch | None = None) -> CommandOptions:
    return CommandOptions(LONG_MS, attribution=CALL, terminal=watch)


PROGRAMS = [
    *ANYWHERE,
    Program(
        "password prompt",
        "read -rsp 'Password: ' word </dev/tty; echo; echo ${#word}",
        prints("Password: \n7\n"),
        keys=("hunter2\r",),
    ),
    Program(
        "prompt on its input",
        "read -rp 'Go on? ' word; echo \"[$word]\"",
        prints("Go on? yes\n[yes]\n"),
        keys=("yes\r",),
    ),
    Program(
        "REPL",
        f"TERM=dumb {PYTHON} -q",
        lambda r: "42\n" in r.output and ">>> " in r.output,
        keys=("6*7\r", "\x04"),
    ),
    Program(
        "REPL that insists",
        f"TERM=dumb {PYTHON} -i -q -c 'print(6*7)'",
        lambda r: r.output.startswith("42\n"),
        keys=("\x04",),
    ),
    Program("pager", "seq 60 | more", lambda r: "1\n2\n" in r.output and "60" not in r.output, keys=("q",)),
    Program("pager of git's", "seq 60 | ${GIT_PAGER:-less}", prints(lines(60))),
    Program("line ends of both kinds", "printf 'a\\r\\nb\\n\\r'", prints("a\r\nb\n\r")),
    Program("input that is read to its end", "cat; echo end", prints("a\na\nend\n"), keys=("a\r", "\x04")),
    Program("killed in a pipe", "sh -c 'kill -KILL $$'; echo $?", lambda r: r.output.endswith("137\n")),
    Program(
        "dump of the environment",
        "env",
        lambda r: "HOME=" in r.output and "secret" not in r.output and "of-the-editor" not in r.output,
    ),
    Program("both streams and a code", "echo out; echo err >&2; exit 3", prints("out\nerr\n"), 3),
    Program("everything closed", "exec <&- >&- 2>&-; sleep 0.4; exit 6", prints(""), 6),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
async def test_a_difficult_program_in_a_terminal_returns_its_output_and_exit_code(
    program: Program, env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    pieces: list[str] = []
    watch = Watch()

    async def type_keys() -> None:
        for keys in program.keys:
            await watch.until_waits()
            host.terminals[0].type(keys)
            await watch.until_goes_on()

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(type_keys)
            result = await env.exec_command(
                program.command, options(watch), lambda stream, text: pieces.append(text)
            )

    assert program.says(result), (result.output[:500], result.note)
    assert (result.exit_code, result.timed_out) == (program.code, False)
    assert "".join(pieces) == result.output


REDRAWS = """
import os, select, sys, threading, time, tty
tty.setcbreak(0)
ours, theirs = os.pipe()
def feed():
    for _ in range(8):
        time.sleep(0.4)
        os.write(theirs, b".")
if FED:
    threading.Thread(target=feed).start()
for n in range(8):
    print(end=f"\\r{n}% of all", flush=True)
    select.select([0, ours], [], [], None if FED else 0.4)
    FED and os.read(ours, 1)
print(end="\\rquit? ", flush=True)
select.select([0], [], [])
print(sys.stdin.read(1))
"""


@pytest.mark.parametrize("fed", [True, False], ids=["by another", "by its clock"])
async def test_a_program_that_redraws_its_screen_is_reported_as_waiting_only_when_it_asks_for_input(
    fed: bool, env: LocalEnvironment, host: FakeTerminalHost, tmp_path: Path
) -> None:
    (tmp_path / "redraws.py").write_text(f"FED = {fed}\n{REDRAWS}")
    watch = Watch()

    async def answer() -> None:
        await host_has_terminal(host)
        await host.terminals[0].until("quit? ")
        await watch.until_waits()
        host.terminals[0].type("q")

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(answer)
            result = await env.exec_command(f"{PYTHON} redraws.py", options(watch))

    assert result.output.endswith("quit? q\n") and result.exit_code == 0
    # Eight redraws could each be reported, but only the question should be; a slow machine may report some redraws.
    assert watch.reports.count(True) <= 6


async def host_has_terminal(host: FakeTerminalHost) -> None:
    while not host.terminals:
        await anyio.lowlevel.checkpoint()


async def test_ctrl_c_typed_in_a_terminal_interrupts_the_command_and_not_the_relay(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    async def interrupt() -> None:
        while not host.terminals:
            await anyio.lowlevel.checkpoint()
        await host.terminals[0].until("\nbegun\n")
        host.terminals[0].type("\x03")

    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(interrupt)
            result = await env.exec_command("echo begun; exec sleep 600", options())

    assert (result.output, result.exit_code) == ("begun\n^C", -2)
    assert (await env.exec_command("echo again", options())).output == "again\n"


async def test_a_program_in_a_terminal_that_ignores_sigterm_is_killed_at_the_limit(
    env: LocalEnvironment,
) -> None:
    token = new_token()
    command = f"trap '' TERM INT HUP; echo ready; : {token}; sleep 600; sleep 600"
    result = await ended_at_its_limit(env, command, "ready", options())

    assert result.timed_out and result.output == "ready\n"
    assert not processes_with(token)


async def test_a_server_running_in_a_terminal_can_be_read_while_it_runs_and_killed(
    env: LocalEnvironment, host: FakeTerminalHost
) -> None:
    command = f"{PYTHON} -u -m http.server 0 --bind 127.0.0.1"
    process = await env.start_process(command, options())
    text, end = "", 0
    with anyio.fail_after(LIMIT_SECONDS):
        while "Serving HTTP" not in text:
            more, end = await env.read_process(process.id, end)
            text += more
            await anyio.lowlevel.checkpoint()
    await host.terminals[0].until("Serving HTTP")
    (listed,) = await env.list_processes()

    assert (listed.pid, listed.exit_code) == (process.pid, None) and process.pid > 0
    assert (await env.exec_command("echo beside", options())).output == "beside\n"
    assert len(host.terminals) == 2
    assert (await env.kill_process(process.id)).exit_code == -15
    assert (await env.wait_process(process.id)).exit_code == -15
    assert (await env.exec_command("echo after", options())).output == "after\n"
    assert len(host.terminals) == 2


async def test_a_command_in_a_terminal_runs_in_a_folder_with_a_non_ascii_name(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    folder = tmp_path / "größe 漢字 'quoted'"
    folder.mkdir()
    within = CommandOptions(LONG_MS, str(folder), attribution=CALL)
    result = await env.exec_command("pwd; echo ü > ä", within)

    assert result.output == f"{folder}\n" and (folder / "ä").read_text() == "ü\n"
