"""A panel whose server cannot start ends with one sentence and exit code 1, never with a traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import REPOSITORY, commands

pytestmark = pytest.mark.req("H29", "H13")

ENDS_AS_SERVER = "import os, sys\nif 'serve' in sys.orig_argv:\n    os._exit(3)\n"


def test_a_server_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ENDS_AS_SERVER)
    environ = commands.environment(tmp_path / "home", PYTHONPATH=f"{tmp_path}:{REPOSITORY}")
    done = commands.run("panel", "--no-open", cwd=tmp_path, environ=environ)
    assert (done.code, done.out) == (1, ""), done
    assert done.err.startswith("agent-ls panel: ") and len(done.err.splitlines()) == 1, done


def test_a_disk_that_takes_no_byte_is_reported_before_the_server_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *commands.command("panel", "--no-open")],
        cwd=tmp_path,
        env=commands.environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=commands.DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("agent-ls panel: ") and len(done.stderr.splitlines()) == 1, done
