"""Run tests in Python for Windows under Wine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.editors.vscode_rig import CACHE
from tests.support import REPOSITORY

RIG = Path(CACHE) / "windows"
WINE = "/usr/lib/wine/wine64"
DEADLINE_S = 600


def why_not() -> str:
    """Return why Python for Windows cannot run here; "" if it can."""
    if not os.path.exists(WINE):
        return "needs wine64 (make test-editors installs it where it may)"
    return (
        ""
        if (RIG / "stamp").exists()
        else "needs Python for Windows (make test-editors sets it up where it may)"
    )


def run_tests(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run pytest under Wine; return its exit code and output. Temporary files are below `folder`.

    A process that outlives pytest would keep the pipe of the output open, so `cat` reads it; it fails the run.
    """
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WINEPREFIX": str(RIG / "wine"),
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "LC_ALL": "C.UTF-8",  # for file names
    }
    command = [
        *(WINE, str(RIG / "python/python.exe"), "-m", "pytest", "-q", "-n", "0", "--timeout=300"),
        *("-o", "python_files=check_*.py test_*.py", "--basetemp", _windows(folder / "tmp")),
        *arguments,
    ]
    output = folder / "output.txt"
    with output.open("wb") as stream, subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=stream) as cat:
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=environment,
            input=b"",  # Python under Wine starts only with pipes
            stdout=cat.stdin,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE_S,
            check=False,
        )
        left = _left_processes(environment)
    assert not left, f"these outlived pytest, which ended with {done.returncode}: {left}"
    return done.returncode, output.read_text("utf-8", "replace").replace("\r\n", "\n")


def _left_processes(environment: Mapping[str, str]) -> list[str]:
    """Return the command lines of Python's processes that Wine still runs when it should have ended; end them."""
    server = Path(WINE).parent / "wineserver"
    try:
        subprocess.run([server, "-w"], env=environment, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        lines = [it.read_bytes().replace(b"\0", b" ").decode() for it in Path("/proc").glob("[0-9]*/cmdline")]
        subprocess.run([server, "-k"], env=environment, check=False)
        return [line for line in lines if ".exe" in line]
    return []


def _windows(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")
