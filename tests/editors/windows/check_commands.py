"""Commands on Windows, which run with pipes in job objects: difficult programs, and the end of all processes.

No process outlives its command, unless the result reports it, and none outlives agent-ls.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions, ExecResult
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.processes.background import INPUT_SECONDS
from agent_ls.system import is_alive

pytestmark = [pytest.mark.req("H19", "T5", "L16"), pytest.mark.anyio]

PYTHON = f'"{sys.executable}"'
DEADLINE_SECONDS = 30
LONG = CommandOptions(timeout_ms=DEADLINE_SECONDS * 1000)


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[LocalEnvironment]:
    folder = tmp_path / "naïve folder"
    folder.mkdir()
    environment = LocalEnvironment(str(folder))
    await environment.initialize()
    yield environment
    await environment.cleanup()


def script(env: LocalEnvironment, text: str) -> str:
    """Write this Python program, and return a command that runs it."""
    path = Path(env.working_directory()) / "script.py"
    path.write_text(text, encoding="utf-8")
    return f"{PYTHON} script.py"


def prints(text: str) -> Callable[[ExecResult], bool]:
    return lambda result: result.output.replace("\r\n", "\n") == text


@dataclass(frozen=True)
class Program:
    name: str
    python: str
    is_right: Callable[[ExecResult], bool]
    exit_code: int = 0

    def __str__(self) -> str:
        return self.name


RAW = "import sys; out = sys.stdout.buffer; "
PROGRAMS = [
    Program("exit code", "raise SystemExit(7)", prints(""), 7),
    Program(
        "200,000 lines",
        RAW + "[out.write(b'line %d\\n' % n) for n in range(200_000)]",
        lambda r: "line 199999\n" in r.output,
    ),
    Program("binary output", RAW + "out.write(bytes(range(1, 128)))", lambda r: "\x01\x02" in r.output),
    Program("invalid UTF-8", RAW + "out.write(b'a\\xff\\xfeb')", prints("a\ufffd\ufffdb")),
    Program("UTF-8", RAW + "out.write('grüße 漢字'.encode())", prints("grüße 漢字")),
    Program("one huge line", RAW + "out.write(b'x' * 3_000_000)", prints("x" * 3_000_000)),
    Program("no input", "print(repr(input('name? ')))", lambda r: "EOFError" in r.stderr, 1),
    Program("input that is read to its end", "import sys; print(len(sys.stdin.read()))", prints("0\n")),
    Program("progress bar", "print('10%\\r20%\\r100%')", lambda r: "100%" in r.output),
    Program("slow drip", "import time\nfor n in '1234': print(n, end='', flush=True); time.sleep(.05)", prints("1234")),
    Program("unicode path", "open('ö.txt', 'w').close(); import os; print('ö.txt' in os.listdir())", prints("True\n")),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_a_difficult_program_returns_its_output_and_exit_code(
    env: LocalEnvironment, program: Program
) -> None:
    result = await env.exec_command(script(env, program.python), LONG)
    assert program.is_right(result), result.output[:500]
    assert (result.exit_code, result.timed_out) == (program.exit_code, False)


async def test_quotes_and_blanks_reach_cmd_unchanged(env: LocalEnvironment) -> None:
    command = script(env, "import sys; print(sys.argv[1:])")
    result = await env.exec_command(f'{command} "a b" c "&" & echo done', LONG)
    assert result.output.split() == ["['a", "b',", "'c',", "'&']", "done"]


async def test_arguments_are_passed_unchanged_to_cmd(env: LocalEnvironment) -> None:
    argv = ("cmd.exe", "/c", "echo", "one", "two")
    result = await env.exec_command("", CommandOptions(argv=argv, timeout_ms=LONG.timeout_ms))
    assert (result.output.split(), result.exit_code) == (["one", "two"], 0)


async def test_multi_line_commands_are_refused(env: LocalEnvironment) -> None:
    with pytest.raises(ProcessStartError, match="&&"):
        await env.exec_command("echo one\necho two", LONG)


GRANDCHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(child.pid, flush=True)
time.sleep(1000)
"""


async def test_a_cancelled_command_ends_with_its_child_processes(env: LocalEnvironment) -> None:
    pids: list[int] = []

    def take(stream: str, text: str) -> None:
        pids.extend(map(int, text.split()))

    async with anyio.create_task_group() as group:
        with anyio.fail_after(DEADLINE_SECONDS):
            stop = anyio.Event()

            async def run() -> None:
                with anyio.CancelScope() as scope:
                    group.start_soon(_cancelled_by, stop, scope)
                    await env.exec_command(script(env, GRANDCHILD), LONG, take)

            group.start_soon(run)
            while not pids:  # noqa: ASYNC110  # the output callback sets no event
                await anyio.sleep(0.01)
            assert is_alive(pids[0])
            stop.set()
    assert not is_alive(pids[0])


async def _cancelled_by(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


async def test_a_process_left_by_a_command_is_reported_and_ends_with_the_environment(
    env: LocalEnvironment,
) -> None:
    result = await env.exec_command(
        script(env, "import subprocess, sys; print(subprocess.Popen("
               "[sys.executable, '-c', 'import time; time.sleep(1000)']).pid)"),
        LONG,
    )  # fmt: skip
    pid = int(result.output)
    assert f"{pid}" in result.note and is_alive(pid)
    await env.cleanup()
    assert not is_alive(pid)


async def test_no_process_outlives_a_killed_agent(tmp_path: Path) -> None:
    server = f"""
import anyio
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment

async def main():
    env = LocalEnvironment({str(tmp_path)!r})
    await env.initialize()
    print((await env.start_process("ping -n 1000 127.0.0.1 >nul", CommandOptions())).pid, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""
    async with await anyio.open_process([sys.executable, "-c", server]) as process:
        assert process.stdout
        pid = int(await process.stdout.receive())
        assert is_alive(pid)
        process.kill()
    with anyio.fail_after(DEADLINE_SECONDS):
        while is_alive(pid):  # noqa: ASYNC110  # the system sends no event
            await anyio.sleep(0.01)


async def test_a_background_process_that_does_not_read_can_be_ended(
    env: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_ls.environments.local.processes.background.INPUT_SECONDS", 1)
    assert INPUT_SECONDS > 1
    started = await env.start_process("ping -n 1000 127.0.0.1 >nul", LONG)
    with pytest.raises(Exception, match="did not read"):
        await env.write_process(started.id, "x" * 1_000_000)
    assert (await env.kill_process(started.id)).exit_code is not None
