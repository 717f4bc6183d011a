"""Stored sessions for the command line: nothing is opened, resumed or run. Everything here blocks."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.app.archive import open_hunks, session_text
from agent_ls.app.errors import BadChoiceError, SessionHasHunksError
from agent_ls.app.keys import load_credentials
from agent_ls.app.store_errors import STATE_VARIABLE, store_errors
from agent_ls.loop.figures import Figures, figures_of
from agent_ls.loop.items import Item
from agent_ls.loop.redaction import without_known
from agent_ls.loop.tool_records import tool_records
from agent_ls.store import pages, upkeep
from agent_ls.store.errors import StoreError
from agent_ls.store.layout import SessionSummary, lock_path, log_path
from agent_ls.store.locks import owner_of
from agent_ls.store.sessions import SessionStore
from agent_ls.store.upkeep import Swept


@dataclass(frozen=True, slots=True)
class KeptSession:
    """Times are ISO 8601. `size_bytes` is all that is kept of it. `owner` has it open now, "" when nobody has."""

    id: str
    title: str
    provider: str
    model: str
    folder: str
    created: str
    updated: str
    events: int
    size_bytes: int
    owner: str = ""

    @property
    def facts(self) -> dict[str, str | int]:
        """As it is written for programs. `owner` is there when a process has it open."""
        return {
            "id": self.id,
            "title": self.title,
            "provider": self.provider,
            "model": self.model,
            "workspaceFolder": self.folder,
            "created": self.created,
            "updated": self.updated,
            "lastSeq": self.events,
            "sizeBytes": self.size_bytes,
            **({"owner": self.owner} if self.owner else {}),
        }


class KeptSessions:
    """`root` None: the user's state folder, or where the variable says. All methods raise AppError."""

    def __init__(self, root: Path | None = None) -> None:
        chosen = os.environ.get(STATE_VARIABLE)
        self._store = SessionStore(
            root or (Path(chosen) if chosen else None), on_failure=lambda session_id, error: None
        )

    def listed(self, workspace: str | None) -> list[KeptSession]:
        """Newest first. None: of all folders."""
        return [_kept(found) for found in self._store.sessions(workspace)]

    def one(self, session_id: str) -> KeptSession:
        with store_errors(session_id):
            return _kept(self._store.summary(session_id))

    def transcript(self, session_id: str) -> str:
        return self.export(session_id, "markdown")

    def items(self, session_id: str) -> tuple[Item, ...]:
        with store_errors(session_id):
            return pages.all_items(log_path(self._store.folder(session_id)))

    def figures(self, session_id: str) -> Figures:
        """What its model calls, rounds and tools took."""
        with store_errors(session_id):
            return figures_of(pages.all_events(log_path(self._store.folder(session_id))))

    def export(self, session_id: str, format_: Literal["markdown", "jsonl", "calls"]) -> str:
        """`calls`: the record of each tool call that has ended, one a line (T9)."""
        with store_errors(session_id):
            path = log_path(self._store.folder(session_id))
            text = _calls(path) if format_ == "calls" else session_text(path, format_)
        # It may have been said before the key was one of ours.
        return without_known(text, load_credentials().known_secrets())

    def delete(self, session_id: str, *, force: bool) -> None:
        """Files of the project are left as they are.

        Raises:
            SessionHasHunksError: changes of its own wait for a verdict, and no `force`.
        """
        with store_errors(session_id):
            waiting = open_hunks(log_path(self._store.folder(session_id)))
            if waiting and not force:
                raise SessionHasHunksError(session_id, waiting)
            self._store.delete(session_id)

    def delete_all(self) -> Swept:
        return upkeep.delete_all(self._store.layout)

    def relink(self, old: str, new: str) -> list[str]:
        """The ids of the sessions that belong to `new` now."""
        if not Path(new).is_dir():
            raise BadChoiceError(f"no such folder: {new}", "name the place that the folder was moved to")
        try:
            with store_errors(""):
                return upkeep.relink(self._store.layout, old, new)
        except StoreError as error:
            raise BadChoiceError(str(error), "`agent-ls sessions --all` lists what is stored") from None

    def moved_to(self, folder: Path) -> list[str]:
        """Folders of the same name that are not there any more."""
        lost = upkeep.lost_workspaces(self._store.layout)
        return [path for path in lost if Path(path).name == folder.name]


def _kept(found: SessionSummary) -> KeptSession:
    header = found.header
    return KeptSession(
        header.session_id,
        found.title,
        header.provider,
        header.model,
        header.workspace_folder,
        header.created,
        found.updated,
        found.last_seq,
        upkeep.size_bytes(found.folder),
        str(owner_of(lock_path(found.folder)) or ""),
    )


def _calls(path: Path) -> str:
    records = tool_records(pages.all_events(path))
    return "".join(f"{json.dumps(record.as_json(), ensure_ascii=False)}\n" for record in records)
