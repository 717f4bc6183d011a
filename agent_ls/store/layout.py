"""Paths of the store: one folder per workspace in the user's state folder, one folder per session in it.

ROOT/workspaces/KEY/workspace.json          the workspace's path, for readers and to detect moved folders
ROOT/workspaces/KEY/sessions/ID/log.jsonl   lock   title   draft.json   outputs/   blobs/
ROOT/worktrees/ID                           the git worktree of a session (worktrees.py)
ROOT/forgotten/KEY                          hashes of lines that deleted sessions wrote (forgotten.py)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_state_path

from agent_ls.environments.remote.place import is_place_name
from agent_ls.loop.context.titles import title_of
from agent_ls.patterns import regex
from agent_ls.store.errors import StoreError
from agent_ls.store.log import FILE_MODE, Header, make_private_folder, parse_header
from agent_ls.system import file_signature

PEEK_BYTES = 64 * 1024  # size of a log's head and tail; lists of sessions read no more than these
LOG = "log.jsonl"
MAX_REMEMBERED = 10_000
"""The number of sessions whose summaries a Layout caches. Listing these sessions again reads no logs."""

_SESSION_ID = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TITLE = regex(rb'"kind":"title".*?"data":(\{.*?\})\}\}$', re.MULTILINE)
_FIRST_INPUT = regex(rb'"kind":"user_input".*?"data":(\{.*\})\}\}$', re.MULTILINE)
_SEQ = regex(rb'^\{"event":\{"sessionId":"[^"]*","seq":(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """The summary of a stored session in a list. `updated` is ISO 8601. Without a title, `title` is the start
    of the first user message.
    """

    header: Header
    folder: Path
    title: str
    updated: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session that was found without reading its log. `updated` is ISO 8601: the time of the log's last change."""

    session_id: str
    folder: Path
    updated: str


class Layout:
    """Computes paths of the store and finds sessions. `root` None means the user's state folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else user_state_path("agent-ls", appauthor=False)
        self._remembered: dict[Path, tuple[object, StoredSummary | None]] = {}

    def workspace_folder(self, workspace: str) -> Path:
        return self.root / "workspaces" / workspace_key(workspace)

    def session_folder(self, workspace: str, session_id: str) -> Path:
        """Return the folder of a session.

        Raises:
            StoreError: the id is invalid.
        """
        return self.workspace_folder(workspace) / "sessions" / _check_id(session_id)

    def describe_workspace(self, workspace: str) -> None:
        """Write the workspace's path to a file in its folder.

        Raises:
            OSError: the file cannot be written.
        """
        folder = self.workspace_folder(workspace)
        make_private_folder(folder)
        note = folder / "workspace.json"
        if not note.exists():
            descriptor = os.open(note, os.O_WRONLY | os.O_CREAT, FILE_MODE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"path": canonical(workspace)}, file)

    def find(self, session_id: str) -> Path | None:
        """Return the folder of a stored session in any workspace; None if no session with this id is stored."""
        if not is_session_id(session_id):
            return None
        return next(iter(self.root.glob(f"workspaces/*/sessions/{session_id}")), None)

    def recording(self, session_id: str) -> Path:
        """Return the path of the recording of a session's model calls. The file may not exist."""
        return self.root / "recordings" / f"{_check_id(session_id)}.jsonl"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees"

    def worktree(self, session_id: str) -> Path:
        """Return the path of a session's worktree folder. The folder may not exist."""
        return self.worktrees / _check_id(session_id)

    def lost_recordings(self) -> list[Path]:
        """Return the paths of recordings that belong to no stored session."""
        return [it for it in self.root.glob("recordings/*.jsonl") if self.find(it.stem) is None]

    def list_sessions(self, workspace: str | None = None) -> list[ListedSession]:
        """List the sessions of one workspace or (None) of all workspaces, newest first, without reading their
        logs.

        Sessions with an unreadable log are included; `summary` returns None for them.
        """
        key = "*" if workspace is None else workspace_key(workspace)
        found = [
            listed
            for folder in self.root.glob(f"workspaces/{key}/sessions")
            for listed in _list_folder(folder)
        ]
        return sorted(found, key=lambda listed: (listed.updated, listed.session_id), reverse=True)

    def sessions(self, workspace: str | None = None) -> list[StoredSummary]:
        """Read the summaries of the sessions of one workspace or (None) of all workspaces, newest first.
        Unreadable sessions are left out.
        """
        return list(self.summaries(self.list_sessions(workspace)))

    def summaries(self, listed: Sequence[ListedSession]) -> Iterator[StoredSummary]:
        """Yield the summaries of the readable sessions in `listed`. Each is read when it is needed."""
        return (found for session in listed if (found := self.summary(session.folder)))

    def summary(self, folder: Path) -> StoredSummary | None:
        """Return the summary of the session in a folder; None if the folder has no log or the log cannot be
        read.

        A summary is read again only if the log or the title has changed since the last call.
        """
        signature = (_signature(log_path(folder)), _signature(title_path(folder)))
        known = self._remembered.get(folder)
        if known and known[0] == signature:
            return known[1]
        found = summary(folder)
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[folder] = signature, found
        return found


def is_session_id(name: str) -> bool:
    return _SESSION_ID.fullmatch(name) is not None


def workspace_key(workspace: str) -> str:
    return hashlib.sha256(canonical(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def canonical(workspace: str) -> str:
    """Return the name under which a workspace is stored: the folder's real path. The name of a folder on
    another machine is returned unchanged.
    """
    if is_place_name(workspace):
        return workspace
    return os.path.normcase(os.path.realpath(workspace))


def root_of(session_folder: Path) -> Path:
    """Return the root of the store that has this session folder."""
    return session_folder.parents[3]


def log_path(session_folder: Path) -> Path:
    return session_folder / LOG


def lock_path(session_folder: Path) -> Path:
    return session_folder / "lock"


def outputs_path(session_folder: Path) -> Path:
    return session_folder / "outputs"


def draft_path(session_folder: Path) -> Path:
    return session_folder / "draft.json"


def title_path(session_folder: Path) -> Path:
    return session_folder / "title"


def blobs_path(session_folder: Path) -> Path:
    return session_folder / "blobs"


def _check_id(session_id: str) -> str:
    if not is_session_id(session_id):
        raise StoreError(f"{session_id!r} is not the id of a session.")
    return session_id


def _list_folder(folder: Path) -> Iterator[ListedSession]:
    """Yield the sessions in `folder`, the `sessions` folder of a workspace. Subfolders that are not named
    like a session id are skipped.
    """
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if not is_session_id(entry.name):
            continue
        try:
            stat = os.stat(os.path.join(entry.path, LOG))
        except OSError:
            continue
        yield ListedSession(entry.name, Path(entry.path), _iso(stat.st_mtime))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _signature(path: Path) -> object:
    """Return a value that changes when a log or title file changes; None if the file does not exist.

    A log grows with each change, and a new title is a new file with another inode.
    """
    try:
        return file_signature(path.stat())
    except OSError:
        return None


def summary(folder: Path) -> StoredSummary | None:
    """Return the summary of the session in a folder. Only the head and the tail of the log are read.

    None: the folder has no log, or the log cannot be read.
    """
    log = log_path(folder)
    try:
        with log.open("rb") as file:
            stat = os.fstat(file.fileno())
            head = file.read(PEEK_BYTES)
            file.seek(max(0, stat.st_size - PEEK_BYTES))
            tail = file.read(PEEK_BYTES)
        header = parse_header(head.partition(b"\n")[0], str(log))
    except (OSError, StoreError):
        return None
    seqs = _SEQ.findall(tail) or _SEQ.findall(head)
    return StoredSummary(
        header=header,
        folder=folder,
        title=_title(folder, header, head, tail),
        updated=_iso(stat.st_mtime),
        last_seq=int(seqs[-1]) if seqs else 0,
    )


def _title(folder: Path, header: Header, head: bytes, tail: bytes) -> str:
    try:
        return title_path(folder).read_text("utf-8", "replace")
    except OSError:
        pass  # no title was set, or an older version, which wrote no title file, set it
    named = _TITLE.findall(tail) or _TITLE.findall(head)
    if named and (title := _field(named[-1], "title")):
        return title
    if header.title:
        return header.title
    said = _FIRST_INPUT.search(head)
    return title_of(_field(said[1], "text")) if said else ""


def _field(data: bytes, name: str) -> str:
    try:
        value = json.loads(data)[name]
    except (ValueError, KeyError):
        return ""
    return value if isinstance(value, str) else ""
