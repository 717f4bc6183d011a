"""Commands that get a signal during their start, and servers without standard input or output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.support.commands import DEADLINE_S, command, environment, finish, start
from tests.support.processes import eventually
from tests.support.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.real_start


def is_blocked_in_read(pid: int, path: Path) -> bool:
    """Return whether a process has opened a file and its main thread sleeps. Without /proc, return True.

    Python runs its signal handlers between two instructions, so a signal just before a read takes effect after it.
    """
    folder = Path(f"/proc/{pid}")
    if not folder.exists():
        return True
    opened = {os.readlink(link) for link in (folder / "fd").iterdir() if link.is_symlink()}
    return str(path) in opened and (folder / "stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.req("H2", "L16")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_signal_before_the_session_is_open_ends_exec_with_130_and_no_traceback(
    number: signal.Signals, tmp_path: Path
) -> None:
    settings = tmp_path / "settings.json"
    os.mkfifo(settings)
    process = start(
        "exec", "--settings", str(settings), "hello", cwd=tmp_path, environ=environment(tmp_path / "home")
    )
    with settings.open("w"):  # blocks until the command opens its settings
        await eventually(lambda: is_blocked_in_read(process.pid, settings))
        process.send_signal(number)
        done = await anyio.to_thread.run_sync(finish, process)
    assert (done.code, done.out, done.err) == (130, "", "")


def test_exec_started_with_nohup_ignores_sighup(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    os.mkfifo(settings)
    words = command("exec", "--settings", str(settings), "--provider", "none-such", "hello")
    process = subprocess.Popen(
        ["nohup", *words],
        cwd=tmp_path,
        env=environment(tmp_path / "home"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with settings.open("w") as file:
        process.send_signal(signal.SIGHUP)
        file.write("{}")
    done = finish(process)
    assert done.code == 2 and "none-such" in done.err


@pytest.mark.parametrize("target", ["<&-", ">&-"])
@pytest.mark.parametrize("name", ["serve", "acp"])
def test_a_server_without_standard_input_or_output_reports_it_in_one_line(
    name: str, target: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {target}', "sh", *command(name)],
        env=environment(tmp_path),
        input="" if target != "<&-" else None,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"agent-ls {name}: standard ") and "is closed" in line


INTERRUPTED_IMPORT = """
import os, signal, sys

class InterruptingFinder:
    def find_spec(self, name, path=None, target=None):
        if name == "agent_ls.cli.parser":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, InterruptingFinder())
sys.argv = ["agent-ls", "exec", "hello"]
from agent_ls.cli.entry import main
sys.exit(main())
"""


@pytest.mark.req("L16")
@pytest.mark.report("Tracer-Cloud/opensre#2748")
@pytest.mark.report("ethereum/trinity#1335")
def test_ctrl_c_while_the_command_line_is_imported_ends_it_with_130_and_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.req("L16")
@pytest.mark.parametrize("name", ["serve", "acp"])
def test_a_server_that_a_user_starts_says_what_it_waits_for_and_ends_at_ctrl_c(
    name: str, tmp_path: Path
) -> None:
    with PseudoTerminal(command(name), cwd=tmp_path, environ=environment(tmp_path)) as shown:
        shown.until(f"agent-ls {name}: ")
        shown.until("Ctrl-C ends this command.")
        shown.type("\x03")
        assert shown.exit_code() == 130
    assert "Traceback" not in shown.printed
