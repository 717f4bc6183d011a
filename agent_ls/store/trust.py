"""Which workspaces the user trusts, by canonical path and owner: one readable file in his folder, never in theirs.

ROOT/trust.json     {"version": 1, "trust": [{"path", "owner", "trust", "decided"}]}
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.store.kept_list import KeptList
from agent_ls.store.layout import Layout, canonical

Trust: TypeAlias = Literal["trusted", "restricted"]


@dataclass(frozen=True, slots=True)
class TrustedFolder:
    """What the user has decided about a folder. `owner` is the id of who owned it then, "" where files have none.

    `decided` is ISO 8601.
    """

    path: str
    owner: str
    trust: Trust
    decided: str


class TrustStore:
    """What cannot be read, or is of another owner by now, was never decided. All of it blocks."""

    def __init__(self, root: Path | None = None) -> None:
        self._list = KeptList(Layout(root).root, "trust")

    def folders(self) -> Sequence[TrustedFolder]:
        """Oldest first."""
        return [folder for entry in self._list.read() if (folder := _folder(entry))]

    def decided(self, workspace: str) -> Trust | None:
        path, owner = canonical(workspace), owner_of(workspace)
        found = (it.trust for it in self.folders() if it.path == path and it.owner == owner)
        return next(found, None) if owner is not None else None

    def keep(self, workspace: str, trust: Trust, now: str) -> None:
        """
        Raises:
            OSError: it cannot be written, or there is no such folder.
        """
        owner = owner_of(workspace)
        if owner is None:
            raise FileNotFoundError(2, "there is no such folder", workspace)
        new = TrustedFolder(canonical(workspace), owner, trust, now)
        self._list.change(lambda entries: [*_without(entries, new.path), asdict(new)])

    def forget(self, workspace: str) -> bool:
        """Whether anything had been decided about it.

        Raises:
            OSError: it cannot be written.
        """
        path = canonical(workspace)
        known = any(folder.path == path for folder in self.folders())
        if known:
            self._list.change(lambda entries: _without(entries, path))
        return known


def owner_of(folder: str) -> str | None:
    """None: there is no such folder."""
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return "" if sys.platform == "win32" else str(found.st_uid)


def _without(entries: Sequence[Any], path: str) -> list[Any]:
    return [entry for entry in entries if not (isinstance(entry, dict) and entry.get("path") == path)]


def _folder(entry: Any) -> TrustedFolder | None:
    """None for what is no entry of ours: it trusts nothing."""
    if not isinstance(entry, dict):
        return None
    path, owner, decided = (entry.get(name) for name in ("path", "owner", "decided"))
    if not (isinstance(path, str) and isinstance(owner, str) and isinstance(decided, str) and path):
        return None
    match entry.get("trust"):
        case "trusted" | "restricted" as trust:
            return TrustedFolder(path, owner, trust, decided)
        case _:
            return None
