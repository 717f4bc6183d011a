"""Find files of the working directory that python would run in place of its own modules."""

from __future__ import annotations

import os
import sys

_ENDINGS = (".py", ".pyc", ".so", ".pyd")
MAX_ENTRIES = 20_000


def replaced_module(folder: str) -> str:
    """Return why `python -m` may run a file of the folder in place of a module of python; "" if it runs none.

    A folder replaces a module only if it is a package. Blocks.
    """
    try:
        with os.scandir(folder) as entries:
            for seen, entry in enumerate(entries):
                if seen > MAX_ENTRIES:
                    return f"{folder} has too many files to check whether python runs one of them."
                if entry.name.partition(".")[0] in sys.stdlib_module_names and _can_be_imported(entry):
                    return f"{entry.path} may run in place of a module of python."
    except OSError:
        return f"agent-ls cannot read {folder}, so python may run a file of it."
    return ""


def _can_be_imported(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir():
        return entry.name.endswith(_ENDINGS)
    return any(name.startswith("__init__.") for name in os.listdir(entry.path))
