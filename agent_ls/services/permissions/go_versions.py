"""Tell which files of go select only a released version of go."""

from __future__ import annotations

import os
from pathlib import Path

from agent_ls.patterns import regex

_PLAIN = regex(r"(?:go|toolchain go)[ \t]*\d+(?:\.\d+){1,2}(?:(?:rc|beta)\d+)?\s*(?://.*)?")
_SELECTS = regex(r"\s*(?:go|toolchain|godebug)\b")
MAX_BYTES = 1_000_000


def names_plain_go(path: str) -> bool:
    """Return whether a go.mod or go.work selects a version of go by a plain number, as in `go 1.22`.

    Other names, such as `toolchain go1.22-mine`, select a program of any kind with this name. Blocks.
    """
    if os.path.basename(path) not in ("go.mod", "go.work") or not os.path.isfile(path):
        return False
    try:
        if os.path.getsize(path) > MAX_BYTES:
            return False
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    selecting = [line.strip() for line in text.split("\n") if _SELECTS.match(line)]
    return bool(selecting) and all(map(_PLAIN.fullmatch, selecting))
