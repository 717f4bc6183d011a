"""ENGINE: where a path lies: inside the roots, among credentials, among files that configure tools (X6).

Paths are absolute. Names are compared without regard to case or Unicode form: on some disks `.SSH` is `.ssh`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from os import path as ospath

from agent_ls.policy.named_places import (
    DENIED_FILES,
    DENIED_HOME_PLACES,
    HARMLESS_FILES,
    SECRET_FILES,
    SENSITIVE_NAMES,
)


def folded(text: str) -> str:
    """Without regard to case and Unicode form."""
    return unicodedata.normalize("NFKC", text).casefold()


def nothing(path: str) -> bool:
    return False


_SECRET = re.compile("|".join(map(translate, SECRET_FILES)))
_SENSITIVE = frozenset(folded(name) for name in SENSITIVE_NAMES)


@dataclass(frozen=True, slots=True)
class Places:
    """`roots` are the folders to work in, each as the user named it and as resolved; `home` is resolved.

    `is_ignored` tells whether the user's ignore file names a path below a root.
    """

    roots: Sequence[str]
    home: str
    is_ignored: Callable[[str], bool] = nothing

    def is_inside(self, path: str) -> bool:
        return any(_below(path, root) for root in self.roots)

    def is_denied(self, path: str) -> bool:
        """Credentials: never read or written, in no mode, also where a root holds them."""
        name = folded(_without_stream(path))
        return any(_below(name, place) for place in _folded_denied(self.home))

    def holds_denied(self, path: str) -> bool:
        """Credentials lie somewhere below it."""
        name = folded(path)
        return any(_below(place, name) for place in _folded_denied(self.home))

    def is_sensitive(self, path: str) -> bool:
        """What configures tools that run by themselves. The roots' own names do not count."""
        root = next((root for root in self.roots if _below(path, root)), "")
        parts = path.removeprefix(root).split(ospath.sep)
        return any(folded(part) in _SENSITIVE for part in parts)

    def is_secret(self, path: str) -> bool:
        """By its name a file that holds secrets."""
        name = folded(ospath.basename(_without_stream(path)))
        return name not in HARMLESS_FILES and _SECRET.match(name) is not None

    def denied_places(self) -> Sequence[str]:
        """Files and folders of credentials, whether they are there or not."""
        return _denied(self.home)


@lru_cache(maxsize=8)
def _denied(home: str) -> tuple[str, ...]:
    """Asked several times for each path of each call."""
    return (*DENIED_FILES, *(ospath.normpath(ospath.join(home, name)) for name in DENIED_HOME_PLACES))


@lru_cache(maxsize=8)
def _folded_denied(home: str) -> tuple[str, ...]:
    return tuple(map(folded, _denied(home)))


def _without_stream(path: str) -> str:
    """On Windows `.netrc::$DATA` and `.netrc.` are `.netrc`."""
    if ospath.sep != "\\":
        return path
    drive, rest = ospath.splitdrive(path)
    return drive + rest.partition(":")[0].rstrip(". ")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/\\") + ospath.sep)
