"""Pure: recognize calls of python that only print: formatted JSON, or a fact about python."""

from __future__ import annotations

import re
from collections.abc import Sequence

OWN_MODULES = "a module of python"
"""In place of the name of a file: each file of the working directory that has the name of one of python's modules."""

_PRINTS_A_FACT = re.compile(
    r"import sys; ?print\(sys\.(?:version|version_info|executable|path|prefix|base_prefix|platform|maxsize|byteorder)\)"
)
"""No file can take the place of `sys`, which is a part of python."""


_PRINTS_A_FACT_OF_A_MODULE = re.compile(
    r"import (?P<name>platform|os|sysconfig); ?print\((?P=name)\.(?:platform|python_version|system"
    r"|machine|release|python_implementation|cpu_count|getcwd|get_paths|get_python_version)\(\)\);?"
)
_CALCULATES = re.compile(r"print\([\d\s.+*/()%-]+\);?")


def imports(arguments: Sequence[str]) -> bool:
    """Return whether files of the working directory may take the place of modules that python imports."""
    if tuple(arguments[:2]) in (("-m", "json.tool"), ("-m", "site")):
        return True
    return tuple(arguments[:1]) == ("-c",) and not any(map(_PRINTS_A_FACT.fullmatch, arguments[1:]))


def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether python only prints formatted JSON or a fact. A second file of `json.tool` would be written."""
    if len(arguments) == 2 and arguments[0] == "-c" and not patterns:
        facts = (_PRINTS_A_FACT, _PRINTS_A_FACT_OF_A_MODULE, _CALCULATES)
        return any(pattern.fullmatch(arguments[1]) for pattern in facts)
    if arguments == ["-m", "site"]:
        return True
    if arguments[:2] != ["-m", "json.tool"] or patterns:
        return False
    operands = [word for word in arguments[2:] if word == "-" or not word.startswith("-")]
    options = [word for word in arguments[2:] if word not in operands]
    known = (
        "--sort-keys",
        "--no-ensure-ascii",
        "--json-lines",
        "--compact",
        "--tab",
        "--no-indent",
        "--help",
    )
    return len(operands) <= 1 and all(it in known or re.fullmatch(r"--indent=\d+", it) for it in options)
