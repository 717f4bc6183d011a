"""Sessions as things: listed, made, named, forked, exported, deleted; and what is followed of them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Access, Mode, Params, ReviewSetting, State, Wire
from agent_ls.server.protocol.inputs import InputPart
from agent_ls.server.protocol.review import FileHunks


class OwnerInfo(Wire):
    """A process that has a session open. `program` is what the user knows it by, "" when that was not told."""

    pid: int
    host: str
    program: str = ""


class SessionInfo(Wire):
    """A session as lists and views show it. Times are ISO 8601. `access` readOnly: another process owns it.

    `owner` is that process, as far as it is known.
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
    queue: tuple[dict[str, Any], ...] = ()
    steering: tuple[dict[str, Any], ...] = ()


class TakeOver(Params):
    """Makes a session this process's own: its owner is asked to hand it over, and does so within seconds.

    `force`: one that lives and does not answer is put out of its right. The user is to be asked before.
    """

    method: ClassVar[str] = "agent/takeOver"
    session_id: str
    client_key: str
    force: bool = False


class NewSession(Params):
    method: ClassVar[str] = "agent/newSession"
    client_key: str
    workspace_folder: str | None = None
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None
    title: str | None = None


class SessionResult(Wire):
    session: SessionInfo


class Sessions(Params):
    """Live and stored sessions, newest first. `cursor` is the last answer's `nextCursor`."""

    method: ClassVar[str] = "agent/sessions"
    workspace_folder: str | None = None
    cursor: str | None = None
    limit: int = Field(default=50, ge=1, le=500)
    query: str = ""


class SessionsResult(Wire):
    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None


class Subscribe(Params):
    """Events after `since` (0: all), then `agent/event` follows. Opens a stored session (resume).

    If there are more than `maxEvents` (0: no maximum), a snapshot is given in their place.
    """

    method: ClassVar[str] = "agent/subscribe"
    session_id: str
    since: int = Field(default=0, ge=0)
    max_events: int = Field(default=0, ge=0)


class Snapshot(Wire):
    """The newest items, newest first, as of `lastSeq`. `usage` and `plan` are the data of the last such events."""

    items: tuple[dict[str, Any], ...]
    more: bool
    usage: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None


class DraftInfo(Wire):
    """What the user is still writing."""

    text: str = ""
    attachments: tuple[InputPart, ...] = ()


class Pending(Wire):
    """What waits for the user: approval_requested payloads, questions, and hunks by file."""

    approvals: tuple[dict[str, Any], ...] = ()
    questions: tuple[dict[str, Any], ...] = ()
    hunks: tuple[FileHunks, ...] = ()


class OpenPart(Wire):
    """The text so far of a part that is still open; its next delta has `offset == len(text)`."""

    part_id: str
    kind: str
    text: str
    name: str = ""
    agent_id: str | None = None


class SubscribeResult(Wire):
    """`clientId` names this client for `client_request`. Deltas that follow go on from `openParts`."""

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
    """Items that began before the event number `before`, newest first; also of a stored session."""

    method: ClassVar[str] = "agent/history"
    session_id: str
    before: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=500)


class HistoryResult(Wire):
    items: tuple[dict[str, Any], ...]
    more: bool


class Rename(Params):
    """Gives a session, live or stored, another title."""

    method: ClassVar[str] = "agent/rename"
    session_id: str
    client_key: str
    title: str = Field(min_length=1)


class Fork(Params):
    """A new session with the history up to and including a turn that has ended; without one the last such."""

    method: ClassVar[str] = "agent/fork"
    session_id: str
    client_key: str
    at_turn_id: str | None = None


class Revert(Params):
    """Takes a session back to what it was before the input of a turn, or before another roll back (its `revertId`).

    `files`: preview changes nothing, and tells what restore would do; keep leaves them. `uris`: only these files.
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
    """Lines [start, end) of the current text, from 0, that are not as the agent left them."""

    start: int
    end: int
    reason: str


class RevertFile(Wire):
    """What a roll back does, or would do, to a file; `conflict` and `unknown` ones are left as they are."""

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
    """Ends the session here; it stays stored."""

    method: ClassVar[str] = "agent/closeSession"
    session_id: str
    client_key: str


class DeleteSession(Params):
    """Ends it and removes all that is stored of it. `force`: also while hunks wait for a verdict."""

    method: ClassVar[str] = "agent/deleteSession"
    session_id: str
    client_key: str
    force: bool = False


class Export(Params):
    """The whole session as text: for people, or its events, one a line."""

    method: ClassVar[str] = "agent/export"
    session_id: str
    format: Literal["markdown", "jsonl"]


class ExportResult(Wire):
    text: str


class Output(Params):
    """A part of an output that its event does not hold whole."""

    method: ClassVar[str] = "agent/output"
    session_id: str
    output_ref: str
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=65_536, ge=1, le=4_194_304)


class OutputResult(Wire):
    text: str
    total_chars: int
    next_offset: int | None = None
