"""Pure: recognize calls of python that only print: formatted JSON, or a fact about python."""

from __future__ import annotations

import re
from collections.abc import Sequence

MODULES_OF_JSON_TOOL = tuple(
    f"{name}{ending}"
    for name in (
        "json argparse gettext locale re pathlib shutil os sys runpy pkgutil importlib fnmatch ntpath posixpath urllib "
        "ipaddress functools itertools operator collections keyword reprlib types enum copyreg "
        "contextlib warnings typing "
        "weakref errno io abc codecs encodings stat glob string threading zipimport zlib bz2 lzma "
        "_compression tokenize "
        "token linecache inspect ast dis opcode struct textwrap traceback ctypes dataclasses copy site "
        "platform _colorize"
    ).split()
    for ending in ("", ".py", ".pyc", ".so")
)
"""Names with which a file of the working directory would run in place of a module that `json.tool` imports."""

_PRINTS_A_FACT = re.compile(
    r"import sys; ?print\(sys\.(?:version|version_info|executable|path|prefix|base_prefix|platform|maxsize|byteorder)\)"
)
"""No file can take the place of `sys`, which is a part of python."""


def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether python only prints formatted JSON or a fact. A second file of `json.tool` would be written."""
    if len(arguments) == 2 and arguments[0] == "-c" and not patterns:
        return bool(_PRINTS_A_FACT.fullmatch(arguments[1]))
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
