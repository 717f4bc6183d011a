"""Pure: recognize calls of node that only print a fact of the project's package.json."""

from __future__ import annotations

import re
from collections.abc import Sequence

NAMES = frozenset(("node",))
PACKAGE = "package.json"
REPLACING = tuple(
    f"{PACKAGE}{ending}"
    for ending in (".js", ".json", ".node", "/index.js", "/index.json", "/index.node", "/package.json")
)
"""Files that node would run or read in place of a missing package.json, or if package.json is a folder."""

_PRINTS_A_FACT = re.compile(
    r"""(?:console\.log\()?require\((['"])\./package\.json\1\)(?:\.[A-Za-z]\w*|\[(['"])[\w@./-]+\2\])*(?P<end>\)?);?"""
)


_FACT = r"process\.(?:version|versions(?:\.\w+)?|platform|arch|execPath|release\.name)"
_PRINTS_OWN_FACTS = re.compile(rf"(?:console\.log\({_FACT}(?:, ?{_FACT})*\)|{_FACT});?")


def prints_own_facts(arguments: Sequence[str]) -> bool:
    """Return whether node prints facts about itself, and does nothing else."""
    known = len(arguments) == 2 and arguments[0] in ("-e", "--eval", "-p", "--print", "-pe")
    return known and _PRINTS_OWN_FACTS.fullmatch(arguments[1]) is not None


def reads_package(arguments: Sequence[str]) -> bool:
    """Return whether node prints the value that a plain path in package.json leads to, and does nothing else."""
    if len(arguments) != 2:
        return False
    found = _PRINTS_A_FACT.fullmatch(arguments[1])
    is_logged = arguments[1].startswith("console.log(")
    options = ("-e", "--eval") if is_logged else ("-p", "--print", "-pe")
    return found is not None and arguments[0] in options and bool(found["end"]) == is_logged
