"""Pure: a session's transcript as items for display, built from its events.

An item begins with one event and is completed by later events. The number of the first event is the item's
position. Live events and a stored log give the same items. Building may start in the middle of a log. Items
that began before that point are then missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.origin import Noted
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Compaction,
    Delta,
    EndReason,
    Envelope,
    Error,
    FileChange,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    ReasoningEnd,
    ReasoningStart,
    Retry,
    Reverted,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    SubagentChanged,
    TerminalOpen,
    ToolCallEnd,
    ToolCallStart,
    TurnFacts,
    UserAction,
    UserInput,
    Warning,
)
from agent_ls.tools.look import LookKind

# Characters of an output's head and tail; clients request the complete output by its reference.
OUTPUT_SHARE_CHARS = 8 * 1024

Action: TypeAlias = Literal["create", "modify", "delete"]


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user message that started a turn."""

    kind: ClassVar[str] = "user"
    text: str


@dataclass(frozen=True, slots=True)
class SteerMessage:
    """A message that the user sent into a running turn."""

    kind: ClassVar[str] = "steer"
    steer_id: str
    text: str
    status: Literal["waiting", "injected", "removed"] = "waiting"


@dataclass(frozen=True, slots=True)
class SaidItem:
    """A text or reasoning from the model. While the part is open, `text` may lack the newest deltas."""

    kind: Literal["text", "reasoning"]
    part_id: str
    text: str = ""
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. `result` is set when the call has ended. `terminal_id` is "" if the call ran no command.

    `look`, `doing` and `done` are those of ToolCallStart.
    """

    kind: ClassVar[str] = "tool"
    call_id: str
    name: str
    summary: str
    arguments: str
    status: Literal["running", "done", "failed"] = "running"
    result: ToolCallEnd | None = None
    terminal_id: str = ""
    background: bool = False
    look: LookKind = "other"
    doing: str = ""
    done: str = ""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    kind: ClassVar[str] = "file"
    change: FileChange


@dataclass(frozen=True, slots=True)
class AskedApproval:
    """An approval request and, once it is resolved, the answer."""

    kind: ClassVar[str] = "approval"
    request: ApprovalRequested
    status: Literal["pending", "allow", "deny"] = "pending"
    reason: str = ""
    scope: str = ""
    decided_by: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question to the user and, once it is answered, the answer."""

    kind: ClassVar[str] = "question"
    asked: QuestionAsked
    status: Literal["pending", "answered", "declined"] = "pending"
    answers: tuple[str, ...] = ()
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class StartedAgent:
    """One run of a subagent, from a start to the next end. Items of the subagent carry its id."""

    kind: ClassVar[str] = "subagent"
    agent: SubagentChanged


@dataclass(frozen=True, slots=True)
class RetriedCall:
    """A model call that failed and is repeated."""

    kind: ClassVar[str] = "retry"
    attempt: int
    delay_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning, an error or another message to the user."""

    kind: ClassVar[str] = "notice"
    level: Literal["info", "warn", "error"]
    text: str
    hint: str = ""
    action: UserAction = ""


@dataclass(frozen=True, slots=True)
class FileSum:
    """All changes to a file since the last processing_end event."""

    path: str
    action: Action
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of a turn, with all files that changed since the previous end, and what was checked after."""

    kind: ClassVar[str] = "end"
    reason: EndReason
    files: tuple[FileSum, ...] = ()
    facts: TurnFacts | None = None


@dataclass(frozen=True, slots=True)
class RollBack:
    """A revert to an earlier state of the session."""

    kind: ClassVar[str] = "reverted"
    event: Reverted


Body: TypeAlias = (
    UserMessage
    | SteerMessage
    | SaidItem
    | ToolUse
    | ChangedFile
    | AskedApproval
    | AskedQuestion
    | StartedAgent
    | RetriedCall
    | Notice
    | TurnEnd
    | RollBack
)


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the transcript. `seq` is the sequence number of its first event. `agent_id` is "" for the
    main agent.

    `timestamp` is ISO 8601.
    """

    seq: int
    turn_id: str
    timestamp: str
    body: Body
    agent_id: str = ""

    @property
    def id(self) -> str:
        return f"i{self.seq}"


class ItemReducer:
    """Builds items from events. The events must be in order, but may start in the middle of a session."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._open: dict[str, int] = {}
        self._files: dict[str, FileSum] = {}
        self._facts: TurnFacts | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        """The items, oldest first."""
        return tuple(self._items)

    @property
    def has_open(self) -> bool:
        """Whether an item waits for the event that completes it."""
        return bool(self._open)

    def add(self, envelope: Envelope) -> None:
        if envelope.seq is None:
            if isinstance(delta := envelope.event, Delta):
                self.partial(delta.part_id, delta.offset, delta.text)
            return
        self.complete(envelope)
        if (body := self._begin_item(envelope)) is not None:
            if key := _key(body):
                self._open[key] = len(self._items)
            self._items.append(
                Item(envelope.seq, envelope.turn_id, envelope.timestamp, body, envelope.agent_id)
            )

    def complete(self, envelope: Envelope) -> None:
        """Update existing items from an event, without adding a new one."""
        match envelope.event:
            case AssistantTextEnd(part_id, text, interrupted) | ReasoningEnd(part_id, text, interrupted):
                self._close(part_id, text=text, interrupted=interrupted)
            case ToolCallEnd() as end:
                status = "failed" if end.is_error else "done"
                self._close(end.call_id, status=status, result=_cut(end, envelope.seq or 0))
            case TerminalOpen() as terminal:
                values = {"terminal_id": terminal.terminal_id, "background": terminal.background}
                self._change(terminal.call_id, **values)
            case ApprovalResolved() as resolved:
                self._close(
                    resolved.request_id,
                    status=resolved.decision,
                    reason=resolved.reason,
                    scope=resolved.scope,
                    decided_by=resolved.decided_by,
                    command=resolved.command,
                )
            case QuestionAnswered() as answered:
                self._close(
                    answered.question_id,
                    status="declined" if answered.declined else "answered",
                    answers=answered.answers,
                    decided_by=answered.decided_by,
                )
            case SubagentChanged() as changed if changed.status != "running":
                self._close(changed.agent_id, agent=changed)
            case SteeringInjected(steer_id=steer_id):
                self._close(steer_id, status="injected")
            case SteeringRemoved(steer_id=steer_id):
                self._close(steer_id, status="removed")
            case TurnFacts() as facts:
                self._facts = facts
            case ProcessingEnd():
                self._close_turn()
            case _:
                pass

    def partial(self, part_id: str, offset: int, text: str) -> None:
        """Replace the text of an open part from `offset` on. `text` comes from a delta or from the log."""
        index = self._open.get(part_id)
        if index is not None and isinstance(said := self._items[index].body, SaidItem):
            self._change(part_id, text=said.text[:offset] + text)

    def _begin_item(self, envelope: Envelope) -> Body | None:
        """Return the body of the item that an event begins; None if the event begins no item."""
        match envelope.event:
            case UserInput(text=text):
                return UserMessage(text)
            case SteeringQueued(steer_id=steer_id, text=text):
                return SteerMessage(steer_id, text)
            case AssistantTextStart(part_id=part_id):
                return SaidItem("text", part_id)
            case ReasoningStart(part_id=part_id):
                return SaidItem("reasoning", part_id)
            case ToolCallStart() as call:
                return ToolUse(
                    call.call_id,
                    call.name,
                    call.summary,
                    call.arguments,
                    look=call.look,
                    doing=call.doing,
                    done=call.done,
                )
            case FileChange() as change:
                self._sum_up(change)
                return ChangedFile(change)
            case ApprovalRequested() as request:
                return AskedApproval(request)
            case QuestionAsked() as question:
                return AskedQuestion(question)
            case SubagentChanged(status="running") as changed:
                return StartedAgent(changed)
            case Retry() as retry:
                return RetriedCall(retry.attempt, retry.delay_ms, retry.message)
            case Compaction(status=status, message=text) if status != "started":
                return Notice("info" if status == "done" else "warn", text)
            case Warning(message=text, action=action):
                return Notice("warn", text, action=action)
            case Noted(message=text, level=level):
                return Notice(level, text)
            case Error() as error:
                return Notice("error", error.message, error.hint, error.action)
            case Reverted() as reverted:
                return RollBack(reverted)
            case ProcessingEnd(reason=reason):
                files, self._files = tuple(self._files.values()), {}
                facts, self._facts = self._facts, None
                return TurnEnd(reason, files, facts)
            case _:
                return None

    def _sum_up(self, change: FileChange) -> None:
        self._files.pop(change.copy_of, None)
        before = self._files.get(change.path)
        if before is None:
            self._files[change.path] = FileSum(change.path, change.action, change.added, change.removed)
            return
        self._files[change.path] = FileSum(
            change.path,
            _combine_actions(before.action, change.action),
            before.added + change.added,
            before.removed + change.removed,
        )

    def _close(self, key: str, **fields: Any) -> None:
        self._change(key, **fields)
        self._open.pop(key, None)

    def _change(self, key: str, **fields: Any) -> None:
        index = self._open.get(key)
        if index is not None:
            item = self._items[index]
            self._items[index] = replace(item, body=replace(item.body, **fields))

    def _close_turn(self) -> None:
        """Close all items that are still open when a turn ends.

        At that point, only steers are normally open. Other open items occur only if the log is damaged.
        """
        for key, index in list(self._open.items()):
            match self._items[index].body:
                case SaidItem():
                    self._close(key, interrupted=True)
                case ToolUse():
                    self._close(key, status="failed")
                case AskedApproval():
                    self._close(key, status="deny")
                case AskedQuestion():
                    self._close(key, status="declined")
                case _:
                    pass


def begins_item(envelope: Envelope) -> bool:
    reducer = ItemReducer()
    reducer.add(envelope)
    return bool(reducer.items)


def to_json(item: Item) -> dict[str, Any]:
    """Return an item as JSON for clients: camelCase names, event data in the codec's form.

    Files have paths only; the caller adds their URIs.
    """
    head = {
        "id": item.id,
        "seq": item.seq,
        "turnId": item.turn_id,
        "timestamp": item.timestamp,
        "kind": item.body.kind,
        **({"agentId": item.agent_id} if item.agent_id else {}),
    }
    return {**head, **_body(item.body)}


def _body(body: Body) -> Mapping[str, Any]:
    match body:
        case UserMessage() | SteerMessage() | SaidItem() | RetriedCall():
            return event_codec.camel_json(body)
        case ToolUse():
            return _tool(body)
        case ChangedFile(change=event) | StartedAgent(agent=event) | RollBack(event=event):
            return event_codec.payload(event)
        case AskedApproval():
            return _approval(body)
        case AskedQuestion():
            return _question(body)
        case Notice(level=level, text=text, hint=hint, action=action):
            more = {"hint": hint, "action": action}
            return {"level": level, "text": text, **{name: value for name, value in more.items() if value}}
        case TurnEnd(reason=reason, files=files, facts=facts):
            checked = {"facts": event_codec.payload(facts)} if facts else {}
            return {"reason": reason, "files": [event_codec.camel_json(file) for file in files], **checked}


def _tool(body: ToolUse) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "callId": body.call_id,
        "name": body.name,
        "summary": body.summary,
        "arguments": body.arguments,
        "status": body.status,
    }
    if body.result:
        fields["result"] = event_codec.payload(body.result)
    if body.doing or body.look != "other":
        fields |= {"look": body.look, "doing": body.doing, "done": body.done}
    if body.terminal_id:
        fields |= {"terminalId": body.terminal_id, "background": body.background}
    return fields


def _approval(body: AskedApproval) -> dict[str, Any]:
    fields: dict[str, Any] = {"request": event_codec.payload(body.request), "status": body.status}
    if body.status != "pending":
        fields |= {"reason": body.reason, "scope": body.scope, "decidedBy": body.decided_by}
        if body.command:
            fields["command"] = body.command
    return fields


def _question(body: AskedQuestion) -> dict[str, Any]:
    fields: dict[str, Any] = {"asked": event_codec.payload(body.asked), "status": body.status}
    if body.status != "pending":
        fields |= {"answers": list(body.answers), "decidedBy": body.decided_by}
    return fields


def _key(body: Body) -> str:
    """Return the id by which later events refer to the item; "" if no later event changes the item."""
    match body:
        case SaidItem(part_id=key) | ToolUse(call_id=key) | SteerMessage(steer_id=key):
            return key
        case AskedApproval(request=request):
            return request.request_id
        case AskedQuestion(asked=asked):
            return asked.question_id
        case StartedAgent(agent=agent):
            return agent.agent_id
        case _:
            return ""


def _combine_actions(first: Action, then: Action) -> Action:
    if then == "delete":
        return "delete"
    return "create" if first == "create" else "modify"


def _cut(end: ToolCallEnd, seq: int) -> ToolCallEnd:
    """Return the event with its long output shortened to head and tail.

    If the original event has the complete output, `output_ref` refers to that event.
    """
    left_out = len(end.output) - 2 * OUTPUT_SHARE_CHARS
    if left_out <= 0:
        return end
    head, tail = end.output[:OUTPUT_SHARE_CHARS], end.output[-OUTPUT_SHARE_CHARS:]
    output = f"{head}\n[... {left_out} characters ...]\n{tail}"
    return replace(end, output=output, output_ref=end.output_ref or event_ref(seq))


def event_ref(seq: int) -> str:
    """Return the reference to an output that the event with this number contains completely."""
    return f"event-{seq}"
