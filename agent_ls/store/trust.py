"""The user's trust decisions about workspaces, by canonical path and owner, in a file in the user's state folder.

ROOT/trust.json     {"version": 1, "trust": [{"path", "owner", "trust", "decided", …}]}
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.environments.remote.place import is_place_name
from agent_ls.store.json_list import JsonList
from agent_ls.store.layout import Layout, canonical
from agent_ls.store.shown import digest_shown

Trust: TypeAlias = Literal["trusted", "restricted"]


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """A trust decision. `owner` is the id of the folder's owner at the time of the decision, "" where files
    have no owner.

    `decided` is ISO 8601. `shown` is the text that was displayed, with its `digest`; both are "" in older entries.
    """

    path: str
    owner: str
    trust: Trust
    decided: str
    shown: str = ""
    digest: str = ""


class TrustStore:
    """Stored trust decisions.

    A decision is ignored if it cannot be read or if the folder now has another owner. Methods block.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._list = JsonList(Layout(root).root, "trust")
        self.path = self._list.path

    def folders(self) -> Sequence[TrustRecord]:
        """Return the decisions, oldest first."""
        return [folder for entry in self._list.read() if (folder := _folder(entry))]

    def read_decision(self, workspace: str) -> Trust | None:
        path, owner = canonical(workspace), owner_of(workspace)
        found = (it.trust for it in self.folders() if it.path == path and it.owner == owner)
        return next(found, None) if owner is not None else None

    def store_decision(self, workspace: str, trust: Trust, now: str, shown: str = "") -> None:
        """Store a decision. `shown` is the question that the user answered, "" if they named the folder themselves.

        Raises:
            OSError: the file cannot be written, or the folder does not exist.
        """
        owner = owner_of(workspace)
        if owner is None:
            raise FileNotFoundError(2, "there is no such folder", workspace)
        path = canonical(workspace)
        shown = shown or f"{trust}: {path}"
        new = TrustRecord(path, owner, trust, now, shown, digest_shown(shown))
        self._list.change(lambda entries: [*_remove_path(entries, new.path), asdict(new)])

    def delete_decision(self, workspace: str) -> bool:
        """Delete the decision about a workspace. Returns False if no decision was stored.

        Raises:
            OSError: the file cannot be written.
        """
        path = canonical(workspace)
        known = any(folder.path == path for folder in self.folders())
        if known:
            self._list.change(lambda entries: _remove_path(entries, path))
        return known


def owner_of(folder: str) -> str | None:
    """Return the user id of a folder's owner; None if the folder does not exist.

    "" on Windows and for a folder on another machine, where the owner is not known.
    """
    if is_place_name(folder):
        return ""  # a folder on another machine
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return "" if sys.platform == "win32" else str(found.st_uid)


def _remove_path(entries: Sequence[Any], path: str) -> list[Any]:
    return [entry for entry in entries if not (isinstance(entry, dict) and entry.get("path") == path)]


def _folder(entry: Any) -> TrustRecord | None:
    """Return the decision in an entry of the file, None if the entry is invalid."""
    if not isinstance(entry, dict):
        return None
    given = {"shown": "", "digest": "", **entry}
    wanted = ("path", "owner", "decided", "shown", "digest")
    texts = {name: text for name in wanted if isinstance(text := given.get(name), str)}
    if len(texts) < len(wanted) or not texts["path"]:
        return None
    match entry.get("trust"):
        case "trusted" | "restricted" as trust:
            return TrustRecord(trust=trust, **texts)
        case _:
            return None
