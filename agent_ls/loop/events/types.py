"""The events of a session: one frozen class per kind, and the union SessionEvent (docs/protocol/events.md).

Recorded events get consecutive sequence numbers and are written to the log before they are published.
Deltas are never recorded: each names a part and the offset (code points) where it continues. Events
contain no LSP types, positions or URIs: paths are absolute, and lines count from 0. Times are ISO 8601
with milliseconds, UTC.

A part, with the id `partId`, is a text, a reasoning, or the arguments (`C:args`) or output (`C:out`) of call C.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from agent_ls.environments.effects import AskCause
from agent_ls.loop.events.context import (
    CacheLost as CacheLost,
    Compaction as Compaction,
    ContextParts as ContextParts,
    UsageReport as UsageReport,
)
from agent_ls.loop.events.editor import (
    DiagnosedFile as DiagnosedFile,
    EditDiagnosed as EditDiagnosed,
    EditorEvent as EditorEvent,
    SaveRequested as SaveRequested,
)
from agent_ls.loop.events.evidence import CheckRun as CheckRun, TurnFacts as TurnFacts
from agent_ls.loop.events.origin import Emitted, Noted
from agent_ls.loop.events.parts import (
    PlanItem as PlanItem,
    RevertedFile as RevertedFile,
    StateChange as StateChange,
)
from agent_ls.loop.events.queue import (
    QueueChanged as QueueChanged,
    QueueItem as QueueItem,
    QueueSpliced as QueueSpliced,
    SteeringInjected as SteeringInjected,
    SteeringQueued as SteeringQueued,
    SteeringRemoved as SteeringRemoved,
)
from agent_ls.tools.look import LookKind

State: TypeAlias = Literal["IDLE", "PROCESSING", "AWAITING_INPUT", "CLOSED"]
EndReason: TypeAlias = Literal["completed", "interrupted", "limit", "error", "aborted", "refused"]
SessionEndReason: TypeAlias = EndReason | Literal["suspended"]
UserAction: TypeAlias = Literal["", "setKey", "retry", "continue", "manageTrust", "chooseModel"]
"""The action that a client offers for an error or a warning, "" for none.

`retry` and `continue` send a message; `continue` is used if a part of the answer was recorded.
"""

HunkState: TypeAlias = Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]


@dataclass(frozen=True, slots=True)
class SessionStart(Emitted):
    """The session was created or resumed. In each process, only end events of an interrupted turn precede it."""

    kind: ClassVar[Literal["session_start"]] = "session_start"
    provider: str
    model: str
    working_directory: str
    resumed: bool = False
    is_walkthrough: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnd(Emitted):
    """The session has ended in this process and can be resumed.

    `reason` suspended: a turn waits for the user. It continues when the session is opened again and the user
    answers.
    """

    kind: ClassVar[Literal["session_end"]] = "session_end"
    state: State
    reason: SessionEndReason


@dataclass(frozen=True, slots=True)
class StateChanged(Emitted):
    """The session has entered `state`."""

    kind: ClassVar[Literal["state"]] = "state"
    state: State


@dataclass(frozen=True, slots=True)
class UserInput(Emitted):
    """An input has started a turn. `text` is the text sent to the model: the joined text parts of agent/submit.

    `queued_id` is "" if the input was not queued.
    """

    kind: ClassVar[Literal["user_input"]] = "user_input"
    text: str
    client_key: str = ""
    queued_id: str = ""


@dataclass(frozen=True, slots=True)
class ProcessingEnd(Emitted):
    """The turn has ended; the session is IDLE or CLOSED.

    `reason` refused: an effect was denied and no other call had an effect, or a hook stopped the message.
    """

    kind: ClassVar[Literal["processing_end"]] = "processing_end"
    reason: EndReason


@dataclass(frozen=True, slots=True)
class AssistantTextStart(Emitted):
    """A text of the model begins; its deltas have the same part id."""

    kind: ClassVar[Literal["assistant_text_start"]] = "assistant_text_start"
    part_id: str


@dataclass(frozen=True, slots=True)
class AssistantTextEnd(Emitted):
    """A text has ended; `text` is complete. `interrupted`: the stream was cut or cancelled.

    `reasoning` is the reasoning that preceded the text in this answer.
    """

    kind: ClassVar[Literal["assistant_text_end"]] = "assistant_text_end"
    part_id: str
    text: str
    interrupted: bool = False
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningStart(Emitted):
    """A reasoning of the model begins; its deltas have the same part id."""

    kind: ClassVar[Literal["reasoning_start"]] = "reasoning_start"
    part_id: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd(Emitted):
    """A reasoning has ended; `text` is complete. `interrupted`: the stream was cut or cancelled."""

    kind: ClassVar[Literal["reasoning_end"]] = "reasoning_end"
    part_id: str
    text: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallStart(Emitted):
    """Emitted before lookup, validation and approval, so that every call has a start event.

    `arguments` is the JSON text as the model wrote it. `summary` is one line of at most 100 characters. `look`,
    `doing` and `done` are those of the tool (tools/look.py); in older logs they have their defaults.
    """

    kind: ClassVar[Literal["tool_call_start"]] = "tool_call_start"
    call_id: str
    index: int
    name: str
    arguments: str
    summary: str
    look: LookKind = "other"
    doing: str = ""
    done: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallEnd(Emitted):
    """The end of a call.

    `output` is complete up to 64 KiB, otherwise head and tail; `output_ref` then names the complete
    output. `output_chars` and `output_bytes` (UTF-8) are the complete size, `model_chars` is the size
    sent to the model. `summary` has at most 80 characters. `error_kind` is "" without an error. `index` and
    `input_summary` are copied from the start event. In older logs `model_chars`, `output_bytes` and `index` are
    None and `input_summary` is "".
    """

    kind: ClassVar[Literal["tool_call_end"]] = "tool_call_end"
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
    index: int | None = None
    input_summary: str = ""
    output_bytes: int | None = None
    changes: tuple[StateChange, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanChanged(Emitted):
    """The complete plan; at most one item is active."""

    kind: ClassVar[Literal["plan"]] = "plan"
    explanation: str
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class TurnLimit(Noted):
    """A limit ended or paused the turn. `limit` is the limit's name; `message` describes it for the user."""

    kind: ClassVar[Literal["turn_limit"]] = "turn_limit"
    level: ClassVar[Literal["info", "warn"]] = "info"
    limit: str
    count: int
    message: str


@dataclass(frozen=True, slots=True)
class LoopDetection(Noted):
    """The model repeats a pattern of tool calls and was warned."""

    kind: ClassVar[Literal["loop_detection"]] = "loop_detection"
    message: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk as it is sent to clients. Line ranges are [start, end), from 0.

    `base_start`/`base_end` refer to the text that the user has accepted, `start`/`end` to the current text.
    `base_lines` and `lines` are lines with their endings. `what` says whether the `content` changed or the
    whole file was created or deleted. For a `proposed` hunk, `lines` would replace [start, end). Hunks with
    the same `link` are decided together. `later_turns` lists later turns that changed lines written by the turn
    `turn_id`. `looked`: the user has looked at exactly this text.
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
    looked: bool = False


@dataclass(frozen=True, slots=True)
class FileChange(Emitted):
    """A call changed a file. `diff` is for display. `copy_of`: the file in the session's worktree that it applies."""

    kind: ClassVar[Literal["file_change"]] = "file_change"
    call_id: str
    path: str
    action: Literal["create", "modify", "delete"]
    added: int
    removed: int
    diff: str
    hunks: tuple[Hunk, ...] = ()
    copy_of: str = ""


@dataclass(frozen=True, slots=True)
class HunkStateChanged(Emitted):
    """Hunks whose state or lines changed. `by`: `user` (a decision), `editor` (typing, undo), `agent`, or `look`
    (only `looked` changed).
    """

    kind: ClassVar[Literal["hunk_state"]] = "hunk_state"
    path: str
    hunks: tuple[Hunk, ...]
    by: Literal["user", "editor", "agent", "look"]
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """A rule that an approval may store. A client displays `label` and returns `id`; `scope` says how long
    it applies.

    The same id may be offered with several scopes. `allows` lists example commands that the rule would also
    allow, `still_asked` examples for which the user would still be asked.
    """

    id: str
    label: str
    scope: Literal["turn", "session", "project", "user"]
    allows: tuple[str, ...] = ()
    still_asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalRequested(Emitted):
    """The user is asked to approve an effect. `effect` is the exact action as plain JSON, `digest` its hash.

    The classes of effects are in environments/effects.py. `agent_id` is the subagent that makes the call, "" for
    the main agent. `cause` is the kind of the reason.
    """

    kind: ClassVar[Literal["approval_requested"]] = "approval_requested"
    request_id: str
    call_id: str
    tool: str
    summary: str
    reason: str
    effect: dict[str, Any]
    digest: str
    rules: tuple[RuleOffer, ...] = ()
    agent_id: str = ""
    cause: AskCause = "mode"


DECIDED_BY_POLICY = "policy"
"""`decided_by` of a request that nobody answered: the policy decides about the call once more, or has refused it."""

DECIDED_BY_PROGRAM = "program"
"""`decided_by` of a request that a program of the library answered without a name of its own."""


@dataclass(frozen=True, slots=True)
class ApprovalResolved(Emitted):
    """An approval was given or denied. `command` is the user's replacement for the requested command, "" for none.

    `decided_by` is a client's id, or for example `terminal`, `headless`, `program`, `timeout`, or `interrupt` (the
    turn or the process ended first), or DECIDED_BY_POLICY.
    """

    kind: ClassVar[Literal["approval_resolved"]] = "approval_resolved"
    request_id: str
    decision: Literal["allow", "deny"]
    scope: str
    decided_by: str
    reason: str = ""
    rule_id: str = ""
    client_key: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked(Emitted):
    """The turn waits for the user's answer: one of `choices` (several if `multiple`), or free text.

    `call_id` is the call that asks. With the `purpose` limit, `call_id` is "": the turn has paused because a
    limit was reached or the log cannot be written.
    """

    kind: ClassVar[Literal["question_asked"]] = "question_asked"
    question_id: str
    call_id: str
    question: str
    choices: tuple[str, ...] = ()
    multiple: bool = False
    purpose: Literal["question", "limit"] = "question"


@dataclass(frozen=True, slots=True)
class QuestionAnswered(Emitted):
    """A question was answered. `declined`: the user dismissed the question. `decided_by` has the values of
    ApprovalResolved.decided_by.
    """

    kind: ClassVar[Literal["question_answered"]] = "question_answered"
    question_id: str
    answers: tuple[str, ...]
    declined: bool
    decided_by: str
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class RuleRemoved(Emitted):
    """The user removed a rule that applied to the session or turn."""

    kind: ClassVar[Literal["rule_removed"]] = "rule_removed"
    rule_id: str


@dataclass(frozen=True, slots=True)
class TerminalOpen(Emitted):
    """A command is running; its output comes as deltas of part `callId:out`."""

    kind: ClassVar[Literal["terminal_open"]] = "terminal_open"
    terminal_id: str
    call_id: str
    title: str
    background: bool = False


@dataclass(frozen=True, slots=True)
class TerminalWaiting(Emitted):
    """A command started or stopped waiting for input in its terminal."""

    kind: ClassVar[Literal["terminal_waiting"]] = "terminal_waiting"
    terminal_id: str
    call_id: str
    waiting: bool


@dataclass(frozen=True, slots=True)
class TerminalExit(Emitted):
    """A command has ended. `exit_code` is None if it is unknown."""

    kind: ClassVar[Literal["terminal_exit"]] = "terminal_exit"
    terminal_id: str
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class SubagentChanged(Emitted):
    """A subagent has started, started again, or ended. Its own events carry its id in the envelope.

    `task`, `model` and `working_dir` (absolute) are its assignment. `output` is the subagent's last text, or
    the error; `turns_used` counts its model calls. `reason` is "" while the subagent runs and after success;
    `interrupted`: it ended with its parent's turn; `closed`: its parent ended it; `stopped`: the user stopped it.
    `agent_kind` is the name of an agent kind that the user defined in a file, "" for none.
    """

    kind: ClassVar[Literal["subagent"]] = "subagent"
    agent_id: str
    status: Literal["running", "completed", "failed"]
    call_id: str
    task: str
    model: str
    working_dir: str
    reason: Literal["", "limit", "refused", "error", "interrupted", "closed", "stopped"] = ""
    output: str = ""
    turns_used: int = 0
    agent_kind: str = ""


@dataclass(frozen=True, slots=True)
class Retry(Emitted):
    """The model call failed and is repeated after `delay_ms`; `attempt` counts from 1."""

    kind: ClassVar[Literal["retry"]] = "retry"
    attempt: int
    delay_ms: int
    error_kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Warning(Noted):
    """A warning for the user. `code` names the warning's kind, or ""."""

    kind: ClassVar[Literal["warning"]] = "warning"
    message: str
    code: str = ""
    action: UserAction = ""


@dataclass(frozen=True, slots=True)
class Error(Emitted):
    """One sentence for the user in `message`; `hint` says what to do next."""

    kind: ClassVar[Literal["error"]] = "error"
    message: str
    error_kind: str
    hint: str = ""
    retryable: bool = False
    action: UserAction = ""


@dataclass(frozen=True, slots=True)
class Reverted(Emitted):
    """The session went back to the state before the input of turn `at_turn_id`, or before another revert.

    `revert_id` identifies this revert. `turns` lists the ids of the turns that were removed from the
    conversation; `restored_turns` lists those that were added again. `conversation` False: only files were
    reverted.
    """

    kind: ClassVar[Literal["reverted"]] = "reverted"
    revert_id: str
    at_turn_id: str
    conversation: bool
    turns: tuple[str, ...] = ()
    restored_turns: tuple[str, ...] = ()
    files: tuple[RevertedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Title(Emitted):
    """The session's new title."""

    kind: ClassVar[Literal["title"]] = "title"
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
    | QueueSpliced
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
    | TurnFacts
    | Retry
    | Warning
    | Error
    | Reverted
    | Title
)


@dataclass(frozen=True, slots=True)
class Delta(Emitted):
    """New text of an open part. `offset` is the length of the part before this delta, in code points.

    `kind` is one of the four delta kinds. `name` is the tool's name for a call's arguments, `stdout` or
    `stderr` for its output, otherwise "".
    """

    kind: Literal["assistant_text_delta", "reasoning_delta", "tool_call_args_delta", "tool_call_output_delta"]
    part_id: str
    offset: int
    text: str
    name: str = ""


SessionEvent: TypeAlias = RecordedEvent | Delta


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event with its metadata. Of a delta, `seq` is None and `after` is the last `seq` before the delta."""

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
