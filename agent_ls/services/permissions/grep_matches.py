"""Ask grep whether a search of folders would print lines of one file, by the same search of this file alone.

grep runs confined to reading where the machine can confine. All functions block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_ls.environments.local.confined_grep import may_match

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis

_PROGRAMS = {"grep": (), "egrep": ("-E",), "fgrep": ("-F",)}
_LANGUAGES = ("C", "C.UTF-8")
"""What a pattern matches may depend on the language, which the command may set."""


def may_print(found: CommandAnalysis, path: str) -> bool:
    """Return whether the command, which reads the folders above `path`, may print lines of this file.

    It is False only if all that reads folders is grep, and grep finds no line in the file.
    """
    from agent_ls.policy.shell.recursive import reads_folders  # imported late, because it loads a grammar

    readers = [argv for argv, _ in found.runs if argv[0] != "git" and reads_folders((argv,))]
    if found.uses_xargs or not readers:
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
    return any(may_match((*_PROGRAMS[argv[0]], *options), path, it) for it in _LANGUAGES)
