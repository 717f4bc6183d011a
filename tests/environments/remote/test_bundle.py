"""The remote end starts from the zip that is sent to another machine, and from nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.environments.remote.bundle import make_bundle


@pytest.mark.req("X3")
def test_the_remote_end_needs_no_module_that_is_not_in_the_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(make_bundle().data)
    code = "import sys; sys.path[:0] = [sys.argv[1]]; import agent_ls.environments.remote.end as it; print(it.__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(bundle)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(str(bundle)), done.stderr
