"""Programs that are hard to run: each gives its output and exit code, and none blocks the session."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import CommandOptions, ExecResult
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.local import LocalEnvironment
from tests.support.environments import ended_at_its_limit, opened_local
from tests.support.processes import LIMIT_SECONDS, new_token, processes_with

pytestmark = pytest.mark.req("H5", "T5", "X2")

LONG_MS = 60_000


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[LocalEnvironment]:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ADA_API_KEY": "secret"}
    async with opened_local(tmp_path, environ=environ) as environment:
        yield environment


def prints(text: str) -> Callable[[ExecResult], bool]:
    return lambda result: result.output == text


@dataclass(frozen=True)
class Program:
    """A program. Each of `keys` is typed when the command waits for input."""

    name: str
    command: str
    says: Callable[[ExecResult], bool]
    code: int = 0
    keys: tuple[str, ...] = ()


def lines(count: int) -> str:
    return "".join(f"{number}\n" for number in range(1, count + 1))


PYTHON = sys.executable
ANYWHERE = [
    Program(
        "progress bar",
        "for n in 1 2 3; do printf '%s0%%\\r' $n; done; echo done",
        prints("10%\r20%\r30%\rdone\n"),
    ),
    Program("200,000 lines", "seq 200000", prints(lines(200_000))),
    Program("binary output", "printf '\\000\\001\\377\\n'", prints("\0\1\ufffd\n")),
    Program("invalid UTF-8", "printf 'gr\\374\\303\\274n\\303'", prints("gr\ufffdün\ufffd")),
    Program(
        "alternate screen", "printf '\\033[?1049hfull\\033[?1049l'", prints("\x1b[?1049hfull\x1b[?1049l")
    ),
    Program("writer that goes on", "(sleep 600; echo late) & echo now", prints("now\n")),
    Program("slow drip", "for n in 1 2 3 4; do printf $n; sleep 0.05; done", prints("1234")),
    Program("end by a signal", "kill -SEGV $$", prints(""), -11),
    Program("one huge line", "head -c 3000000 /dev/zero | tr '\\0' x", prints("x" * 3_000_000)),
    Program("cwd removed", "mkdir d && cd d && rmdir ../d && echo still here", prints("still here\n")),
    Program("no such program", "no-such-program-here", lambda r: "not found" in r.output, 127),
    Program("output closed", "exec >&- 2>&-; exit 5", prints(""), 5),
    Program(
        "daemon",
        f"{PYTHON} -c 'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
        'os.execlp("sleep", "sleep", "600")\' >/dev/null 2>&1 </dev/null; echo started',
        prints("started\n"),
    ),
]
"""Programs with the same result with and without a terminal."""

PROGRAMS = [
    *ANYWHERE,
    # The program asks on the terminal. Without one, it must end instead of waiting for a person.
    Program(
        "password prompt",
        "read -r word </dev/tty; echo $?",
        lambda r: "1\n" in r.stdout and "/dev/tty" in r.stderr,
    ),
    Program("prompt on its input", "printf 'Go on? '; read -r word; echo \"[$word]\"", prints("Go on? []\n")),
    Program("REPL", f"{PYTHON} -q", prints("")),
    Program("REPL that insists", f"{PYTHON} -i -q -c 'print(6*7)' 2>&1", lambda r: "42" in r.output),
    Program("pager", "printf 'a\\nb\\n' | more", prints("a\nb\n")),
    Program("input that is read to its end", "cat; echo end", prints("end\n")),
    Program("killed in a pipe", "sh -c 'kill -KILL $$'; echo $?", lambda r: "137" in r.output.split("\n")),
    Program("dump of the environment", "env", lambda r: "HOME=" in r.output and "secret" not in r.output),
    Program(
        "both streams and a code",
        "echo out; echo err >&2; exit 3",
        lambda r: r.stdout == "out\n" and r.stderr == "err\n",
        3,
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
async def test_a_difficult_program_returns_its_output_and_exit_code(
    program: Program, env: LocalEnvironment
) -> None:
    pieces: list[str] = []
    with anyio.fail_after(LIMIT_SECONDS):
        result = await env.exec_command(
            program.command, CommandOptions(LONG_MS), lambda stream, text: pieces.append(text)
        )

    assert program.says(result), (result.output[:500], result.note)
    assert (result.exit_code, result.timed_out) == (program.code, False)
    assert "".join(pieces) == result.output


async def test_a_program_that_ignores_sigterm_is_killed_and_its_output_kept(
    env: LocalEnvironment,
) -> None:
    token = new_token()
    command = f"trap '' TERM INT HUP; echo ready; : {token}; sleep 600; sleep 600"
    result = await ended_at_its_limit(env, command, "ready")

    assert result.timed_out and result.stdout == "ready\n"
    assert not processes_with(token)


async def test_a_server_running_in_the_background_can_be_read_while_it_runs_and_killed(
    env: LocalEnvironment,
) -> None:
    command = f"{PYTHON} -u -m http.server 0 --bind 127.0.0.1"
    process = await env.start_process(command, CommandOptions())
    text, end = "", 0
    with anyio.fail_after(LIMIT_SECONDS):
        while "Serving HTTP" not in text:
            more, end = await env.read_process(process.id, end)
            text += more
            await anyio.lowlevel.checkpoint()

    assert (await env.kill_process(process.id)).exit_code is not None


async def test_a_command_runs_in_a_folder_with_a_non_ascii_name(
    env: LocalEnvironment, tmp_path: Path
) -> None:
    folder = tmp_path / "größe 漢字 'quoted'"
    folder.mkdir()
    result = await env.exec_command("pwd; echo ü > ä", CommandOptions(LONG_MS, str(folder)))

    assert result.output == f"{folder}\n" and (folder / "ä").read_text() == "ü\n"
    folder.joinpath("ä").unlink()
    folder.rmdir()
    with pytest.raises(PathNotFoundError):
        await env.exec_command("pwd", CommandOptions(LONG_MS, str(folder)))
