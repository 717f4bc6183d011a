"""Sessions: list, create, follow, rename, fork, export, delete."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Access, Activity, Mode, Params, ReviewSetting, State, Wire
from agent_ls.server.protocol.inputs import InputPart
from agent_ls.server.protocol.review import FileHunks


class OwnerInfo(Wire):
    """A process that has a session open. `program` is its name for the user, "" if it was not reported."""

    pid: int
    host: str
    program: str = ""


class SessionInfo(Wire):
    """A session for lists and views. Times are ISO 8601. `access` readOnly: another process owns it.

    `owner` is that process, if known. `activity` closed: no process has it open; waiting: it waits for an
    approval or an answer. `worktree` is the session's own git worktree, missing if it works in the folder
    itself. `costUsd` is set only in lists.
    """

    id: str
    title: str
    state: State
    provider: str
    model: str
    effort: str | None = None
    mode: Mode = "ask"
    review: ReviewSetting = "after"
    workspace_folder: str
    created: str
    updated: str
    last_seq: int
    live: bool
    access: Access = "owner"
    owner: OwnerInfo | None = None
    is_walkthrough: bool = False
    worktree: str | None = None
    activity: Activity = "closed"
    cost_usd: float | None = None
    queue: tuple[dict[str, Any], ...] = ()
    steering: tuple[dict[str, Any], ...] = ()


class TakeOver(Params):
    """Takes a session over for this process: its owner is asked to release it, which takes seconds.

    `force`: take it from an owner that is running but does not respond. Ask the user first.
    """

    method: ClassVar[str] = "agent/takeOver"
    session_id: str
    client_key: str
    force: bool = False


class NewSession(Params):
    """Creates a session. `worktree`: the session works in a git worktree of its own, which begins with the
    uncommitted changes of the folder (`current`) or without them (`head`). The session's changes are copied to
    the folder as hunks.
    """

    method: ClassVar[str] = "agent/newSession"
    client_key: str
    workspace_folder: str | None = None
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None
    title: str | None = None
    worktree: Literal["current", "head"] | None = None


class SessionResult(Wire):
    session: SessionInfo


class Sessions(Params):
    """Lists live and stored sessions, newest first. `cursor` is the `nextCursor` of the previous answer.

    `running`: only those that a process has open, in this editor or another one.
    """

    method: ClassVar[str] = "agent/sessions"
    workspace_folder: str | None = None
    cursor: str | None = None
    limit: int = Field(default=50, ge=1, le=500)
    query: str = ""
    running: bool = False


class SessionsResult(Wire):
    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None


class BringChanges(Params):
    """Copies the changes in the session's git worktree to the folder now, as hunks."""

    method: ClassVar[str] = "agent/bringChanges"
    session_id: str
    client_key: str


class BroughtFile(Wire):
    """A file that the session has changed in its worktree. State `left`: the file in the user's folder was
    not changed, and `reason` says why.
    """

    uri: str
    state: Literal["brought", "proposed", "left"]
    reason: str = ""


class BringChangesResult(Wire):
    files: tuple[BroughtFile, ...]


class Subscribe(Params):
    """Returns the events after `since` (0: all); `agent/event` notifications follow. Opens a session that is
    closed (resume).

    If there are more than `maxEvents` events (0: no limit), returns a snapshot instead.
    """

    method: ClassVar[str] = "agent/subscribe"
    session_id: str
    since: int = Field(default=0, ge=0)
    max_events: int = Field(default=0, ge=0)


class Snapshot(Wire):
    """The newest items of the conversation as of event `lastSeq`, newest first. `usage` and `plan` are the
    data of the last events of these kinds.
    """

    items: tuple[dict[str, Any], ...]
    more: bool
    usage: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None


class DraftInfo(Wire):
    """The unsent message of the user."""

    text: str = ""
    attachments: tuple[InputPart, ...] = ()


class Pending(Wire):
    """Pending requests to the user: approval_requested payloads, questions, and hunks by file."""

    approvals: tuple[dict[str, Any], ...] = ()
    questions: tuple[dict[str, Any], ...] = ()
    hunks: tuple[FileHunks, ...] = ()


class OpenPart(Wire):
    """The text so far of a part that is still streaming; its next delta has `offset == len(text)`."""

    part_id: str
    kind: str
    text: str
    name: str = ""
    agent_id: str | None = None


class SubscribeResult(Wire):
    """`clientId` is the id of this client in `client_request` events. The deltas that follow continue the
    texts of `openParts`.
    """

    client_id: str
    session: SessionInfo
    events: tuple[dict[str, Any], ...]
    last_seq: int
    open_parts: tuple[OpenPart, ...] = ()
    pending: Pending
    snapshot: Snapshot | None = None
    draft: DraftInfo | None = None


class Unsubscribe(Params):
    method: ClassVar[str] = "agent/unsubscribe"
    session_id: str


class History(Params):
    """Returns items that began before event number `before`, newest first; also of a stored session."""

    method: ClassVar[str] = "agent/history"
    session_id: str
    before: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=500)


class HistoryResult(Wire):
    items: tuple[dict[str, Any], ...]
    more: bool


class Rename(Params):
    """Changes the title of a live or stored session."""

    method: ClassVar[str] = "agent/rename"
    session_id: str
    client_key: str
    title: str = Field(min_length=1)


class Fork(Params):
    """Creates a session with the history up to and including an ended turn; by default the last ended one."""

    method: ClassVar[str] = "agent/fork"
    session_id: str
    client_key: str
    at_turn_id: str | None = None


class Revert(Params):
    """Restores a session to its state before the input of the turn `atTurnId`. If `atTurnId` is the `revertId`
    of an earlier rollback, restores the state before that rollback.

    `files`: preview changes nothing and returns what restore would do; keep leaves the files unchanged. `uris`:
    only these files.
    """

    method: ClassVar[str] = "agent/revert"
    session_id: str
    client_key: str
    at_turn_id: str
    conversation: bool = True
    files: Literal["restore", "keep", "preview"] = "restore"
    uris: tuple[str, ...] | None = None
    force: bool = False


class RevertConflict(Wire):
    """Lines [start, end) of the current text, zero-based, that differ from the agent's text."""

    start: int
    end: int
    reason: str


class RevertFile(Wire):
    """The effect of a rollback on a file; files in state `conflict` or `unknown` are left as they are."""

    path: str
    uri: str
    action: Literal["create", "modify", "delete"]
    state: Literal["planned", "restored", "conflict", "unknown"]
    diff: str = ""
    reason: str = ""
    conflicts: tuple[RevertConflict, ...] = ()


class RevertResult(Wire):
    session: SessionInfo
    revert_id: str
    input_text: str
    turns: tuple[str, ...]
    restored_turns: tuple[str, ...]
    files: tuple[RevertFile, ...]


class CloseSession(Params):
    """Ends the session in this process. Its stored data is kept."""

    method: ClassVar[str] = "agent/closeSession"
    session_id: str
    client_key: str


class DeleteSession(Params):
    """Ends a session and deletes its stored data. `force`: deletes the session even if some of its hunks need
    a decision.
    """

    method: ClassVar[str] = "agent/deleteSession"
    session_id: str
    client_key: str
    force: bool = False


class Export(Params):
    """Returns the whole session as text: as Markdown, as a web page, or its events as JSON, one per line."""

    method: ClassVar[str] = "agent/export"
    session_id: str
    format: Literal["markdown", "jsonl", "html"]
    redact: bool = False


class ExportResult(Wire):
    text: str


class Output(Params):
    """Returns a section of a tool's output that was too long for its event."""

    method: ClassVar[str] = "agent/output"
    session_id: str
    output_ref: str
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=65_536, ge=1, le=4_194_304)


class OutputResult(Wire):
    text: str
    total_chars: int
    next_offset: int | None = None
