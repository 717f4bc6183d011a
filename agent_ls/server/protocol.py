"""Every custom method with its parameters and result, and nothing else (wire names: docs/protocol.md).

camelCase on the wire, snake_case here; unknown fields are ignored, so that a newer client can talk to us.
Server to client there is one notification, `agent/event` (the envelope of loop/event_codec.py, to which the
server adds `uri` beside each `path` in `data` and in its hunks). Long because the whole wire stands in one place.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

VERSION = 1
EVENT_METHOD = "agent/event"


class Wire(BaseModel):
    # Built on first use: an editor uses few of these messages, and waits for the first answer.
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, defer_build=True
    )


class Params(Wire):
    """Parameters of a request. `method` is its name on the wire."""

    method: ClassVar[str]


Mode: TypeAlias = Literal["plan", "ask", "edits", "full"]
ReviewSetting: TypeAlias = Literal["after", "before"]
State: TypeAlias = Literal["IDLE", "PROCESSING", "AWAITING_INPUT", "CLOSED"]


class TextInput(Wire):
    type: Literal["text"] = "text"
    text: str


class FileInput(Wire):
    """A file mentioned: the model is told its path, and reads it by itself."""

    type: Literal["file"] = "file"
    uri: str


class SelectionInput(Wire):
    """A selection, sent with its text. Lines count from 0, `endLine` is exclusive."""

    type: Literal["selection"] = "selection"
    uri: str
    start_line: int
    end_line: int
    text: str


class ImageInput(Wire):
    """`data` is base64."""

    type: Literal["image"] = "image"
    media_type: str
    data: str


class FolderInput(Wire):
    """A folder mentioned: the model is told its path, and looks into it by itself."""

    type: Literal["folder"] = "folder"
    uri: str


class DiagnosticsInput(Wire):
    """The problems that the client has told (agent/diagnostics): of one file, else of all."""

    type: Literal["diagnostics"] = "diagnostics"
    uri: str | None = None


class CommandInput(Wire):
    """One of agent/commands; `arguments` is what the user wrote behind its name."""

    type: Literal["command"] = "command"
    name: str
    arguments: str = ""


InputPart: TypeAlias = (
    TextInput | FileInput | SelectionInput | ImageInput | FolderInput | DiagnosticsInput | CommandInput
)


class SessionInfo(Wire):
    """A session as lists and views show it. Times are ISO 8601. `access` readOnly: another process owns it."""

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
    access: Literal["owner", "readOnly"] = "owner"
    is_walkthrough: bool = False
    queue: tuple[dict[str, Any], ...] = ()
    steering: tuple[dict[str, Any], ...] = ()


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


class Empty(Wire):
    pass


class History(Params):
    """Items that began before the event number `before`, newest first; also of a stored session."""

    method: ClassVar[str] = "agent/history"
    session_id: str
    before: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=500)


class HistoryResult(Wire):
    items: tuple[dict[str, Any], ...]
    more: bool


class Draft(Params):
    """Notification: what the user has written so far. An empty one takes the kept one away."""

    method: ClassVar[str] = "agent/draft"
    session_id: str
    text: str = ""
    attachments: tuple[InputPart, ...] = ()


class Submit(Params):
    """Starts a turn, or does as `whenBusy` says when one is running."""

    method: ClassVar[str] = "agent/submit"
    session_id: str
    client_key: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    when_busy: Literal["queue", "steer", "refuse"] = "queue"


class SubmitResult(Wire):
    """Exactly one is set."""

    turn_id: str | None = None
    queued_id: str | None = None
    steer_id: str | None = None


class Steer(Params):
    method: ClassVar[str] = "agent/steer"
    session_id: str
    client_key: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    expected_turn_id: str | None = None


class SteerResult(Wire):
    steer_id: str


class Unsteer(Params):
    """Takes a steer back while it waits; an error when it has been injected."""

    method: ClassVar[str] = "agent/unsteer"
    session_id: str
    client_key: str = ""
    steer_id: str


class FollowUp(Params):
    method: ClassVar[str] = "agent/followUp"
    session_id: str
    client_key: str
    input: tuple[InputPart, ...] = Field(min_length=1)


class FollowUpResult(Wire):
    queued_id: str


class Interrupt(Params):
    """Ends the turn; the session lives. `thenSubmit` is submitted when the turn has ended."""

    method: ClassVar[str] = "agent/interrupt"
    session_id: str
    client_key: str = ""
    then_submit: tuple[InputPart, ...] | None = None


class EditQueued(Wire):
    """Other parts for a message that waits."""

    queued_id: str
    input: tuple[InputPart, ...] = Field(min_length=1)


class MoveQueued(Wire):
    """To the place before another; without one to the end."""

    queued_id: str
    before: str | None = None


class Queue(Params):
    """Changes what waits for the end of the turn: exactly one of the four."""

    method: ClassVar[str] = "agent/queue"
    session_id: str
    client_key: str
    edit: EditQueued | None = None
    move: MoveQueued | None = None
    remove: str | None = None
    start_now: str | None = None


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


class Abort(Params):
    """Ends the session (CLOSED). It can be resumed by agent/subscribe."""

    method: ClassVar[str] = "agent/abort"
    session_id: str
    client_key: str = ""


class Configure(Params):
    method: ClassVar[str] = "agent/configure"
    session_id: str
    client_key: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None


class ConfigureResult(Wire):
    session: SessionInfo
    applies_from: Literal["now", "nextCall", "nextTurn"]


class CommandReplacement(Wire):
    """What is to run instead of the command that was asked about."""

    command: str | None = None


class Approve(Params):
    """The first answer wins; a later one is told the decision that stands.

    `replacement` comes with `allow` of a command, and without a rule.
    """

    method: ClassVar[str] = "agent/approve"
    session_id: str
    request_id: str
    client_key: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "turn", "session", "project", "user"] = "once"
    rule_id: str | None = None
    reason: str | None = None
    replacement: CommandReplacement | None = None


class ApproveResult(Wire):
    decision: Literal["allow", "deny"]
    decided_by: str


class HunkInfo(Wire):
    """Ranges are lines [start, end) from 0. `newRange` is in the current text, `oldRange` in the accepted one.

    Of a `proposed` hunk `newLines` are what it would put in place of `newRange`. Hunks with the same `link` are decided
    together.
    """

    id: str
    session_id: str
    turn_id: str
    call_id: str
    what: Literal["content", "create", "delete"]
    state: Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]
    old_range: tuple[int, int]
    new_range: tuple[int, int]
    old_lines: tuple[str, ...]
    new_lines: tuple[str, ...]
    link: str | None = None


class FileHunks(Wire):
    """`version` is the synced document's, None for a file that is not open."""

    uri: str
    base_hash: str
    version: int | None
    hunks: tuple[HunkInfo, ...]


class Hunks(Params):
    """Hunks that wait for a verdict, all or those of one session, file or turn."""

    method: ClassVar[str] = "agent/hunks"
    session_id: str | None = None
    uri: str | None = None
    turn_id: str | None = None


class HunksResult(Wire):
    files: tuple[FileHunks, ...]


class Review(Params):
    """A verdict on hunks, named by exactly one of the four selectors. `confirm`: undo edited hunks as well.

    `lines` [first, last) of the new lines, and `replacement` for what is kept, go with exactly one of `hunkIds`.
    """

    method: ClassVar[str] = "agent/review"
    client_key: str
    hunk_ids: tuple[str, ...] | None = None
    uri: str | None = None
    turn_id: str | None = None
    session_id: str | None = None
    verdict: Literal["keep", "undo"]
    comment: str | None = None
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None


class ReviewResult(Wire):
    """`refused`: ids that were left alone, with the reason in words."""

    changed: tuple[HunkInfo, ...]
    refused: tuple[dict[str, str], ...] = ()


class SetCredential(Params):
    """Holds a provider's key in memory until the process ends; null forgets it. Nothing ever repeats it."""

    method: ClassVar[str] = "agent/setCredential"
    client_key: str
    provider: str
    secret: str | None = Field(repr=False)


class CredentialResult(Wire):
    ok: Literal[True] = True


class Models(Params):
    """The providers, with or without a key, and the models that are known of each.

    `look`: servers that need no key are asked for theirs as well (a picker was opened).
    """

    method: ClassVar[str] = "agent/models"

    look: bool = False


class ProviderInfo(Wire):
    """`problem`: why it cannot be asked now, in words for the user. `keyVariable` "": it needs no key."""

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str | None = None


class ModelInfo(Wire):
    """Prices are US dollars per million tokens. `isDefault`: used where only the provider is chosen."""

    provider: str
    id: str
    name: str
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    efforts: tuple[str, ...]
    is_default: bool
    input_price: float | None = None
    output_price: float | None = None
    images: bool


class ModelsResult(Wire):
    """`defaultProvider`: used where nothing is chosen."""

    default_provider: str
    providers: tuple[ProviderInfo, ...]
    models: tuple[ModelInfo, ...]


class TextDocumentContent(Params):
    """The text of an `agent-ls:` document. A request of the protocol itself, from 3.18 on."""

    method: ClassVar[str] = "workspace/textDocumentContent"
    uri: str


class TextDocumentContentResult(Wire):
    text: str


class Commands(Params):
    """What a message may begin with (`/tests`)."""

    method: ClassVar[str] = "agent/commands"
    session_id: str | None = None


class CommandInfo(Wire):
    name: str
    description: str
    argument_hint: str | None = None


class CommandsResult(Wire):
    commands: tuple[CommandInfo, ...]


class Complete(Params):
    """What the letters behind `@` or `/` may mean, the best first. Without a session the folder, else the first."""

    method: ClassVar[str] = "agent/complete"
    workspace_folder: str | None = None
    session_id: str | None = None
    trigger: Literal["@", "/"]
    query: str = Field(max_length=500)
    limit: int = Field(default=30, ge=1, le=200)


class Completion(Wire):
    """`part` is what the input gets when it is chosen."""

    kind: Literal["file", "folder", "command", "problems", "selection"]
    label: str
    detail: str | None = None
    part: InputPart


class CompleteResult(Wire):
    items: tuple[Completion, ...]


class EditorSelection(Wire):
    """Lines and characters from 0, as positions of the language server protocol. Start and end alike: the cursor."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)


class EditorState(Params):
    """Notification: what the user looks at. `unsynced` are open, dirty documents that are not synced to us."""

    method: ClassVar[str] = "agent/editorState"
    active_uri: str | None = None
    selection: EditorSelection | None = None
    visible_uris: tuple[str, ...] = ()
    unsynced: tuple[str, ...] = ()


class Diagnostic(Wire):
    """A problem that a tool of the editor's found. `severity`: 1 error, 2 warning, 3 information, 4 hint."""

    start_line: int = Field(ge=0)
    start_character: int = Field(default=0, ge=0)
    end_line: int = Field(ge=0)
    end_character: int = Field(default=0, ge=0)
    severity: int = Field(default=1, ge=1, le=4)
    message: str
    source: str | None = None
    code: str | int | None = None


class Diagnostics(Params):
    """Notification: all problems of one file, as they are now. `settled` false: the tools are still at work."""

    method: ClassVar[str] = "agent/diagnostics"
    uri: str
    version: int | None = None
    settled: bool = True
    items: tuple[Diagnostic, ...]


class Terminals(Params):
    """Commands of a session: those that run, and those of the background that have ended."""

    method: ClassVar[str] = "agent/terminals"
    session_id: str


class TerminalInfo(Wire):
    terminal_id: str
    call_id: str
    command: str
    background: bool
    pid: int | None
    exit_code: int | None
    started_ms: int


class TerminalsResult(Wire):
    terminals: tuple[TerminalInfo, ...]


class TerminalKill(Params):
    method: ClassVar[str] = "agent/terminalKill"
    session_id: str
    client_key: str = ""
    terminal_id: str


class TerminalOutput(Params):
    """Output of a command from an offset on (code points)."""

    method: ClassVar[str] = "agent/terminalOutput"
    session_id: str
    terminal_id: str
    offset: int = Field(default=0, ge=0)


class TerminalOutputResult(Wire):
    text: str
    next_offset: int
    running: bool
    exit_code: int | None = None


class ClientAnswer(Params):
    """Answers a `client_request`: an event that is not recorded, sent to one client, answered once.

    Its data: `{requestId, clientId, what, params, deadlineMs}`. Asked are `save {documents: [{uri, version}]}`
    (each only while it has that version; result `{saved: [uri], failed: [{uri, reason}]}`) and
    `checkTime {uris}` (reload these files where they are shown; result `{}`).
    """

    method: ClassVar[str] = "agent/clientAnswer"
    session_id: str
    request_id: str
    result: dict[str, Any] | None = None
    error: str | None = None


Pending.model_rebuild()
