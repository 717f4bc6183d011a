"""Distinguish denials that a command's confinement causes from denials that also occur without confinement."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from agent_ls.patterns import regex

_DENIED = regex(r"permission denied|operation not permitted|EACCES|EPERM", re.IGNORECASE)
_QUOTED = regex(r"[\"'`\u2018]([^\"'`\u2018\u2019]+)[\"'\u2019]")


def is_denied_anyway(output: str, folder: str) -> bool:
    """Return whether each "permission denied" line in `output` names a path that this user can never read, even
    unconfined.

    For example, `find /` prints many such lines. The result is False if `output` contains no such line.
    `folder` is the working directory of the command. Blocks.
    """
    lines = [line for line in output.splitlines() if _DENIED.search(line)]
    return bool(lines) and all(any(map(_is_closed, _places(line, folder))) for line in lines)


def _places(line: str, folder: str) -> Iterator[str]:
    """Yield the paths in an error message: programs write them in quotes or between colons."""
    for name in (*_QUOTED.findall(line), *line.split(":")):
        if name.strip():
            yield os.path.join(folder, os.path.expanduser(name.strip()))


def _is_closed(place: str) -> bool:
    """Return whether this user cannot access the path `place`: it cannot be read, or its folder cannot be
    entered.
    """
    if os.path.lexists(place):
        return not os.access(place, os.R_OK | (os.X_OK if os.path.isdir(place) else 0))
    around = os.path.dirname(place)
    return os.path.isdir(around) and not os.access(around, os.X_OK)
