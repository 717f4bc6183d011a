"""Pure: recognize calls of python that only print formatted JSON."""

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


def only_prints(arguments: list[str], patterns: Sequence[int]) -> bool:
    """Return whether python only prints formatted JSON. A second file of `json.tool` would be written."""
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
