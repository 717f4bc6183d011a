"""Ask grep whether a search of folders would print lines of one file, by the same search of this file alone.

grep runs confined to reading where the machine can confine. All functions block.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis

_PROGRAMS = {"grep": (), "egrep": ("-E",), "fgrep": ("-F",)}
_LANGUAGES = ("C", "C.UTF-8")
"""What a pattern matches may depend on the language, which the command may set."""
LIMIT_S = 2.0


def may_print(command: str, found: CommandAnalysis, path: str) -> bool:
    """Return whether the command, which reads the folders above `path`, may print lines of this file.

    It is False only if all that reads folders is grep, and grep finds no line in the file.
    """
    from agent_ls.policy.shell.recursive import reads_folders  # imported late, because it loads a grammar

    readers = [argv for argv, _ in found.runs if argv[0] != "git" and reads_folders("", (argv,))]
    if "xargs" in command or not readers:
        return True
    return any(_may_match(argv, path) for argv in dict.fromkeys(readers))


def _may_match(argv: Sequence[str], path: str) -> bool:
    from agent_ls.policy.shell.read_only import words_of

    words = words_of(argv) if argv[0] in _PROGRAMS else None
    if words is None:
        return True
    options = [argv[at] for at in sorted(words.options)]
    operands = (*words.operands, *words.after)
    if not words.patterns:
        if not operands:
            return True
        options += ["-e", argv[operands[0]]]
    return any(_matches((*_PROGRAMS[argv[0]], *options, "-s", "-l"), path, it) for it in _LANGUAGES)


def _matches(options: Sequence[str], path: str, language: str) -> bool:
    from agent_ls.confinement.confine import unavailable
    from agent_ls.confinement.wanted import Confinement
    from agent_ls.environments.local.processes.starting import run_confined
    from agent_ls.program_lookup import require_program

    try:
        confinement = None if unavailable() else Confinement(is_read_only=True)
        program = require_program("grep")
        environ = {"PATH": os.path.dirname(program), "LC_ALL": language}
        return run_confined([program, *options, "--", path], environ, confinement, LIMIT_S)[0] != 1
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
