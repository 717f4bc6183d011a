"""Ask grep whether a pattern matches in one file. grep is confined to reading where the machine can confine it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from agent_ls.environments.local.processes.starting import run_confined
from agent_ls.program_lookup import require_program

LIMIT_S = 2.0
_NO_MATCH = 1  # the exit code of grep


def may_match(options: Sequence[str], path: str, language: str) -> bool:
    """Return False only if grep with these options finds no line in the file. Blocks for `LIMIT_S` at most."""
    from agent_ls.confinement.confine import unavailable
    from agent_ls.confinement.wanted import Confinement

    try:
        confinement = None if unavailable() else Confinement(is_read_only=True)
        program = require_program("grep")
        environ = {"PATH": os.path.dirname(program), "LC_ALL": language}
        argv = [program, *options, "-s", "-l", "--", path]
        return run_confined(argv, environ, confinement, LIMIT_S)[0] != _NO_MATCH
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
