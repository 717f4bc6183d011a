"""Pure: recognize calls of python that only print: formatted JSON, or a fact about python."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.patterns import regex
from agent_ls.policy.shell.arguments import one_a_line
from agent_ls.policy.shell.python_code import read_listed, read_paths
from agent_ls.policy.shell.python_paths import Listed

_PRINTS_A_FACT = regex(
    r"import sys; ?print\(sys\.(?:version|version_info|executable|path|prefix|base_prefix|platform|maxsize|byteorder)\)"
)
"""No file can take the place of `sys`, which is a part of python."""

_MODULES = regex(
    r"-m\n(?:site\n(?:--user-(?:site|base)\n)?|calendar\n(?:\d+\n){0,2}|platform\n|sysconfig\n"
    r"|(?:zipfile|tarfile)\n(?:-l|--list)\n(?!-)[\w./-]+\n|(?:ast|tokenize|dis)\n(?!-)[\w./-]+\n"
    r"|(?:ast|calendar|compileall|cProfile|dis|ensurepip|http\.server|json\.tool|pdb|profile|py_compile|tarfile|timeit"
    r"|tokenize|trace|unittest|venv|zipapp|zipfile)\n(?:--help|-h)\n)"
)
"""Modules of python itself that print facts, list an archive, read code without running it, or print their help."""

_HARMLESS_OPTIONS = frozenset(("-B", "-E", "-I", "-q", "-s", "-u"))


def code_index(arguments: Sequence[str]) -> int | None:
    """Return the index of the code in the words after `python`, None if they name a file or a module."""
    at = next((at for at, word in enumerate(arguments) if word not in _HARMLESS_OPTIONS), len(arguments))
    return at + 1 if tuple(arguments[at : at + 1]) == ("-c",) and at + 1 < len(arguments) else None


def files_of_code(arguments: Sequence[str]) -> tuple[str, ...] | None:
    """Return the paths that code in the words after `python` reads; None if it may do more than to print."""
    at = code_index(arguments)
    return None if at is None else read_paths(arguments[at])


def listed_by_code(arguments: Sequence[str]) -> tuple[Listed, ...]:
    """Return which files code in the words after `python` reads after it has listed them."""
    at = code_index(arguments)
    return () if at is None else read_listed(arguments[at])


def imports(arguments: Sequence[str]) -> bool:
    """Return whether files of the working directory may take the place of modules that python imports."""
    if tuple(arguments[:1]) == ("-m",):
        return True
    at = code_index(arguments)
    return at is not None and _PRINTS_A_FACT.fullmatch(arguments[at]) is None


def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether python only prints: what harmless code computes, facts, or formatted JSON of one file.

    A second file of `json.tool` would be written.
    """
    if files_of_code(arguments) is not None:
        return not patterns
    if not patterns and _MODULES.fullmatch(one_a_line(arguments)):
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
