"""What a session tells: one frozen class per kind, and the SessionEvent union (000 section 2.9; PROTOCOL, Events).

Recorded events get a sequence number without holes and are written to the log before anyone sees them. Deltas
are never recorded: they name a part and the offset (code points) at which they go on. No position, uri or LSP
type is in an event: paths are absolute, lines count from 0. Times are ISO 8601 with milliseconds, UTC.

A part is a text, a reasoning, or of call C the arguments (`C:args`) or the output (`C:out`); its id is `partId`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from agent_ls.llm.requests import Usage
from agent_ls.loop.editor_events import EditorEvent

State: TypeAlias = Literal["IDLE", "PROCESSING", "AWAITING_INPUT", "CLOSED"]
EndReason: TypeAlias = Literal["completed", "interrupted", "limit", "error", "aborted", "refused"]
SessionEndReason: TypeAlias = EndReason | Literal["suspended"]
HunkState: TypeAlias = Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]


@dataclass(frozen=True, slots=True)
class SessionStart:
    kind: ClassVar[str] = "session_start"
    provider: str
    model: str
    working_directory: str
    resumed: bool = False
    is_walkthrough: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """`suspended`: its turn waits for a person, and goes on when the session is opened again and answered (R4)."""

    kind: ClassVar[str] = "session_end"
    state: State
    reason: SessionEndReason


@dataclass(frozen=True, slots=True)
class StateChanged:
    kind: ClassVar[str] = "state"
    state: State


@dataclass(frozen=True, slots=True)
class UserInput:
    """`text` is what the model is told: the parts of agent/submit as one text. `queued_id` "": it never waited."""

    kind: ClassVar[str] = "user_input"
    text: str
    client_key: str = ""
    queued_id: str = ""


@dataclass(frozen=True, slots=True)
class ProcessingEnd:
    """IDLE again (or CLOSED). `reason` refused: it ended because something was denied and nothing else was done."""

    kind: ClassVar[str] = "processing_end"
    reason: EndReason


@dataclass(frozen=True, slots=True)
class AssistantTextStart:
    kind: ClassVar[str] = "assistant_text_start"
    part_id: str


@dataclass(frozen=True, slots=True)
class AssistantTextEnd:
    """`text` is whole; `interrupted`: the stream was cut or cancelled there."""

    kind: ClassVar[str] = "assistant_text_end"
    part_id: str
    text: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningStart:
    kind: ClassVar[str] = "reasoning_start"
    part_id: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    kind: ClassVar[str] = "reasoning_end"
    part_id: str
    text: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """Comes before lookup, validation and approval, so every call has one (E8).

    `arguments` is the JSON text as the model wrote it. `summary`: one line of at most 100 characters (E5).
    """

    kind: ClassVar[str] = "tool_call_start"
    call_id: str
    index: int
    name: str
    arguments: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """`output` is whole up to 64 KiB, else head and tail: `output_ref` names the whole, `output_chars` is its size.
    `model_chars`: what the model got, None in older logs. `summary`: at most 80 characters. `error_kind` "": none.
    """

    kind: ClassVar[str] = "tool_call_end"
    call_id: str
    name: str
    output: str
    summary: str
    is_error: bool
    error_kind: str
    duration_ms: int
    output_chars: int
    output_ref: str = ""
    exit_code: int | None = None
    model_chars: int | None = None


@dataclass(frozen=True, slots=True)
class SteeringQueued:
    kind: ClassVar[str] = "steering_queued"
    steer_id: str
    text: str
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class SteeringRemoved:
    kind: ClassVar[str] = "steering_removed"
    steer_id: str


@dataclass(frozen=True, slots=True)
class SteeringInjected:
    """In the history now; the next model call sees it."""

    kind: ClassVar[str] = "steering_injected"
    steer_id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueItem:
    queued_id: str
    text: str
    client_key: str = ""
    images: int = 0  # how many pictures go with it


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The whole queue of follow-ups as it is now."""

    kind: ClassVar[str] = "queue"
    items: tuple[QueueItem, ...]


@dataclass(frozen=True, slots=True)
class PlanItem:
    text: str
    status: Literal["pending", "active", "done"]


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The whole plan as it is now; at most one item is active."""

    kind: ClassVar[str] = "plan"
    explanation: str
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class TurnLimit:
    """`limit` is `rounds` or `turns`; `message` tells the user in words (L8)."""

    kind: ClassVar[str] = "turn_limit"
    limit: str
    count: int
    message: str


@dataclass(frozen=True, slots=True)
class LoopDetection:
    kind: ClassVar[str] = "loop_detection"
    message: str


@dataclass(frozen=True, slots=True)
class ContextParts:
    """What the next call will about send, in tokens by category (L12). `documents` are the project's instructions,
    `tools` the definitions, `tool_output` the results of calls, `history` the rest of the conversation.
    """

    system: int = 0
    tools: int = 0
    documents: int = 0
    history: int = 0
    tool_output: int = 0

    @property
    def total(self) -> int:
        return self.system + self.tools + self.documents + self.history + self.tool_output


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`call` is this response, `total` the session's sum; `context_tokens` what the next call will about send.

    Costs are at published rates; None is "not known", and so is a sum with a part that is not known. `calibration` is
    the moving average of reported tokens to those that were estimated; estimates have it in them. `duration_ms` is from
    the request that was answered to the end of its answer, `first_output_ms` to its first piece; None: not measured.
    """

    kind: ClassVar[str] = "usage"
    call: Usage
    total: Usage
    context_tokens: int
    context_window_tokens: int
    call_cost_usd: float | None = None
    total_cost_usd: float | None = None
    context: ContextParts = ContextParts()
    calibration: float = 1.0
    duration_ms: int | None = None
    first_output_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """The model is sent less of the conversation from here on (`done`), or that was tried (L13).

    One event when it begins (`started`) and one with the same id when it ends. `trigger`: the window filled up, the
    user asked, or the provider refused the conversation as too long. `removed` messages are sent no more, `kept` are
    sent as they are. `summary` "" is none. `message` says it in words for the user. Tokens are estimates, 0: unknown.
    """

    kind: ClassVar[str] = "compaction"
    compaction_id: str
    status: Literal["started", "done", "failed", "interrupted"]
    trigger: Literal["auto", "request", "overflow"]
    strategy: Literal["summarize", "dropOldest", "slidingWindow"]
    tokens_before: int
    tokens_after: int = 0
    removed: int = 0
    kept: int = 0
    summary: str = ""
    message: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class CacheLost:
    """The provider's cache of the prompt's beginning does not hold any more: about `tokens` are sent anew (O6).

    `provider`: nothing has changed here; it was dropped there.
    """

    kind: ClassVar[str] = "cache_lost"
    reason: Literal["model", "tools", "documents", "instructions", "compaction", "provider"]
    message: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk as clients see it. Line ranges are [start, end), from 0: `base_*` in what the user has accepted,

    `start`/`end` in the current text. `base_lines` and `lines` hold the lines with their endings.
    `what`: `content`, or the whole file was created or deleted. Of a `proposed` hunk `lines` are what it would put in
    place of [start, end). Hunks with the same `link` are decided together. `later_turns` have changed the lines that
    the turn `turn_id` had made.
    """

    id: str
    session_id: str
    turn_id: str
    call_id: str
    path: str
    what: Literal["content", "create", "delete"]
    state: HunkState
    base_start: int
    base_end: int
    start: int
    end: int
    base_lines: tuple[str, ...]
    lines: tuple[str, ...]
    link: str = ""
    later_turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file was changed by a call. `diff` is unified, for people; `hunks` are those that this change made."""

    kind: ClassVar[str] = "file_change"
    call_id: str
    path: str
    action: Literal["create", "modify", "delete"]
    added: int
    removed: int
    diff: str
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class HunkStateChanged:
    """Hunks as they are now: state or lines changed. `by`: `user` (a verdict), `editor` (typing, undo) or `agent`."""

    kind: ClassVar[str] = "hunk_state"
    path: str
    hunks: tuple[Hunk, ...]
    by: Literal["user", "editor", "agent"]
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """A rule that an approval may store: `id` is sent back, `label` is shown, `scope` is how long it holds.

    The same id may be offered for several times. `allows`, `still_asked`: commands that it would allow too, or not.
    """

    id: str
    label: str
    scope: Literal["turn", "session", "project", "user"]
    allows: tuple[str, ...] = ()
    still_asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """`effect` is the exact action (environments/effects.py) in plain JSON; `digest` names it.

    `agent_id` names the subagent that wants to do it, "" for the main agent.
    """

    kind: ClassVar[str] = "approval_requested"
    request_id: str
    call_id: str
    tool: str
    summary: str
    reason: str
    effect: dict[str, Any]
    digest: str
    rules: tuple[RuleOffer, ...] = ()
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """`decided_by`: a client's id, `terminal`, `headless`, or `interrupt` (the turn or the process ended first).

    `command` is what that person put in place of the command that was asked about, "" for nothing.
    """

    kind: ClassVar[str] = "approval_resolved"
    request_id: str
    decision: Literal["allow", "deny"]
    scope: str
    decided_by: str
    reason: str = ""
    rule_id: str = ""
    client_key: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The turn waits for the user's answer: one of `choices` (several if `multiple`), or words of his own.

    `call_id` is that of the call that asks; "" with the `purpose` limit: a limit was reached, and the turn pauses.
    """

    kind: ClassVar[str] = "question_asked"
    question_id: str
    call_id: str
    question: str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    purpose: Literal["question", "limit"] = "question"


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """`declined`: without an answer. `decided_by` as in ApprovalResolved."""

    kind: ClassVar[str] = "question_answered"
    question_id: str
    answers: tuple[str, ...]
    declined: bool
    decided_by: str
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class RuleRemoved:
    """The user took back a rule that held for the session or its turn."""

    kind: ClassVar[str] = "rule_removed"
    rule_id: str


@dataclass(frozen=True, slots=True)
class TerminalOpen:
    """A command is running; its output comes as deltas of part `callId:out`."""

    kind: ClassVar[str] = "terminal_open"
    terminal_id: str
    call_id: str
    title: str
    background: bool = False


@dataclass(frozen=True, slots=True)
class TerminalWaiting:
    """A command waits for its user to type something in its terminal, or does no more."""

    kind: ClassVar[str] = "terminal_waiting"
    terminal_id: str
    call_id: str
    waiting: bool


@dataclass(frozen=True, slots=True)
class TerminalExit:
    kind: ClassVar[str] = "terminal_exit"
    terminal_id: str
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class SubagentChanged:
    """A subagent has started, started again, or ended. Its own events carry its id in the envelope (E7).

    `task`, `model` and `working_dir` (absolute) are what it works on, with and where. `output` is its last text, or
    what went wrong; `turns_used` counts its model calls. `reason` "" while it runs and when it is done; `interrupted`:
    it ended with its parent's turn; `closed`: its parent ended it.
    """

    kind: ClassVar[str] = "subagent"
    agent_id: str
    status: Literal["running", "completed", "failed"]
    call_id: str
    task: str
    model: str
    working_dir: str
    reason: Literal["", "limit", "refused", "error", "interrupted", "closed"] = ""
    output: str = ""
    turns_used: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """The model call failed and is made again in `delay_ms`; `attempt` counts from 1."""

    kind: ClassVar[str] = "retry"
    attempt: int
    delay_ms: int
    error_kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Warning:
    kind: ClassVar[str] = "warning"
    message: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Error:
    """One sentence for the user in `message`; `hint` says what to do next."""

    kind: ClassVar[str] = "error"
    message: str
    error_kind: str
    hint: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class RevertedFile:
    """`conflict` and `unknown` files were left as they are."""

    path: str
    action: Literal["create", "modify", "delete"]
    state: Literal["restored", "conflict", "unknown"]


@dataclass(frozen=True, slots=True)
class Reverted:
    """The session was taken back to before the input of turn `at_turn_id`, or to before another roll back (X10).

    `revert_id` names this one in its place. `turns` are out of the conversation since, `restored_turns` are in it
    again. `conversation` False: only files were.
    """

    kind: ClassVar[str] = "reverted"
    revert_id: str
    at_turn_id: str
    conversation: bool
    turns: tuple[str, ...] = ()
    restored_turns: tuple[str, ...] = ()
    files: tuple[RevertedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Title:
    kind: ClassVar[str] = "title"
    title: str


RecordedEvent: TypeAlias = (
    SessionStart
    | SessionEnd
    | StateChanged
    | UserInput
    | ProcessingEnd
    | AssistantTextStart
    | AssistantTextEnd
    | ReasoningStart
    | ReasoningEnd
    | ToolCallStart
    | ToolCallEnd
    | SteeringQueued
    | SteeringRemoved
    | SteeringInjected
    | QueueChanged
    | PlanChanged
    | TurnLimit
    | LoopDetection
    | UsageReport
    | Compaction
    | CacheLost
    | FileChange
    | EditorEvent
    | HunkStateChanged
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionAnswered
    | RuleRemoved
    | TerminalOpen
    | TerminalWaiting
    | TerminalExit
    | SubagentChanged
    | Retry
    | Warning
    | Error
    | Reverted
    | Title
)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an open part; `offset` is the part's length before it (code points).

    `kind` is one of the four delta kinds. `name` is the tool's name for arguments, `stdout` or `stderr` for
    output, else "".
    """

    kind: Literal["assistant_text_delta", "reasoning_delta", "tool_call_args_delta", "tool_call_output_delta"]
    part_id: str
    offset: int
    text: str
    name: str = ""


SessionEvent: TypeAlias = RecordedEvent | Delta


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event with what every one carries. `seq` is None for deltas, whose `after` is the last seq before them."""

    session_id: str
    seq: int | None
    timestamp: str
    event: SessionEvent
    turn_id: str = ""
    agent_id: str = ""
    after: int = field(default=0)

    @property
    def kind(self) -> str:
        return self.event.kind
