"""ENGINE: where a path lies: inside the roots, among credentials, among files that configure tools (X6).

Paths are absolute. Names are compared without regard to case: on some disks `.SSH` is `.ssh`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import path as ospath

from agent_ls.policy.rules import DENIED_FILES, DENIED_HOME_PLACES, SENSITIVE_NAMES

_SENSITIVE = frozenset(name.casefold() for name in SENSITIVE_NAMES)


@dataclass(frozen=True, slots=True)
class Places:
    """`roots` are the folders to work in, each as the user named it and as resolved; `home` is resolved."""

    roots: Sequence[str]
    home: str

    def is_inside(self, path: str) -> bool:
        return any(_below(path, root) for root in self.roots)

    def is_denied(self, path: str) -> bool:
        """Credentials: never read or written, in no mode, also where a root holds them."""
        folded = path.casefold()
        denied = (*DENIED_FILES, *(ospath.join(self.home, name) for name in DENIED_HOME_PLACES))
        return any(_below(folded, place.casefold()) for place in denied)

    def is_sensitive(self, path: str) -> bool:
        """What configures tools that run by themselves. The roots' own names do not count."""
        root = next((root for root in self.roots if _below(path, root)), "")
        parts = path.removeprefix(root).split(ospath.sep)
        return any(part.casefold() in _SENSITIVE for part in parts)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/\\") + ospath.sep)
