"""Run tests in Python for Windows under Wine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
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
    """Run pytest under Wine; return its exit code and output. Temporary files are below `folder`."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WINEPREFIX": str(RIG / "wine"),
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "LC_ALL": "C.UTF-8",  # for file names
    }
    done = subprocess.run(
        [
            *(WINE, str(RIG / "python/python.exe"), "-m", "pytest", "-q", "-n", "0", "--timeout=300"),
            *("-o", "python_files=check_*.py test_*.py", "--basetemp", _windows(folder / "tmp")),
            *arguments,
        ],
        cwd=REPOSITORY,
        env=environment,
        input=b"",  # Python under Wine only starts with a pipe as standard input
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def _windows(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")
