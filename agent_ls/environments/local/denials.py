"""Distinguish denials caused by a command's confinement from denials that would also occur without confinement."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_DENIED = re.compile(r"permission denied|operation not permitted|EACCES|EPERM", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`\u2018]([^\"'`\u2018\u2019]+)[\"'\u2019]")


def is_denied_anyway(output: str, folder: str) -> bool:
    """Return whether each line about a denial names a path that this user cannot read anyway.

    For example `find /` reports many of these. Blocks, because it checks the paths. `folder` is where the
    command ran.
    """
    lines = [line for line in output.splitlines() if _DENIED.search(line)]
    return bool(lines) and all(any(map(_is_closed, _places(line, folder))) for line in lines)


def _places(line: str, folder: str) -> Iterator[str]:
    """Yield names in quotes and between colons, as programs write them in error messages."""
    for name in (*_QUOTED.findall(line), *line.split(":")):
        if name.strip():
            yield os.path.join(folder, os.path.expanduser(name.strip()))


def _is_closed(place: str) -> bool:
    """Return whether the path, or a parent folder, exists and cannot be read by this user."""
    if os.path.lexists(place):
        return not os.access(place, os.R_OK | (os.X_OK if os.path.isdir(place) else 0))
    around = os.path.dirname(place)
    return os.path.isdir(around) and not os.access(around, os.X_OK)
