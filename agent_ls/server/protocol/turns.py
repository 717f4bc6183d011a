"""Control of a session: submit, steer, queue, stop, configure, and answers to its requests."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Mode, Params, ReviewSetting, Wire
from agent_ls.server.protocol.inputs import InputPart
from agent_ls.server.protocol.sessions import SessionInfo


class Draft(Params):
    """Notification: the unsent message of the user. An empty message deletes the stored draft."""

    method: ClassVar[str] = "agent/draft"
    session_id: str
    text: str = ""
    attachments: tuple[InputPart, ...] = ()


class Submit(Params):
    """Starts a turn, or acts according to `whenBusy` while one is running."""

    method: ClassVar[str] = "agent/submit"
    session_id: str
    client_key: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    when_busy: Literal["queue", "steer", "refuse"] = "queue"


class SubmitResult(Wire):
    """Exactly one id is set: that of the started turn, of the queued message or of the steering message."""

    turn_id: str | None = None
    queued_id: str | None = None
    steer_id: str | None = None


class Steer(Params):
    """Adds a message to the next model call of the turn, or with `agentId` of this running subagent."""

    method: ClassVar[str] = "agent/steer"
    session_id: str
    client_key: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    expected_turn_id: str | None = None
    agent_id: str = ""


class SteerResult(Wire):
    steer_id: str


class Unsteer(Params):
    """Withdraws a pending steering message. Fails if the model has already got the message."""

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
    """Stops the turn, not the session. `thenSubmit` is submitted after the turn has ended.

    Without `keepProcesses`, the turn's background processes are stopped too. With `agentId`, only this subagent and
    its subagents are stopped, and the turn goes on.
    """

    method: ClassVar[str] = "agent/interrupt"
    session_id: str
    client_key: str = ""
    keep_processes: bool = True
    then_submit: tuple[InputPart, ...] | None = None
    agent_id: str = ""


class EditQueued(Wire):
    """Replaces the parts of a queued message. `keepImages`: keeps its images, for clients that store only its
    text.
    """

    queued_id: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    keep_images: bool = False


class MoveQueued(Wire):
    """Moves a queued message before another one, by default to the end."""

    queued_id: str
    before: str | None = None


class Queue(Params):
    """Changes the queue of messages that wait for the end of the turn. Exactly one of the four optional fields
    is set.
    """

    method: ClassVar[str] = "agent/queue"
    session_id: str
    client_key: str
    edit: EditQueued | None = None
    move: MoveQueued | None = None
    remove: str | None = None
    start_now: str | None = None


class Compact(Params):
    """Compacts the conversation: before the next model call of a running turn, else at once."""

    method: ClassVar[str] = "agent/compact"
    session_id: str
    client_key: str
    instructions: str = ""


class CompactResult(Wire):
    compaction_id: str


class Abort(Params):
    """Ends the session; its state becomes CLOSED. agent/subscribe can open the session again."""

    method: ClassVar[str] = "agent/abort"
    session_id: str
    client_key: str = ""


class LimitChanges(Wire):
    """Changes only the given limits; 0 means no limit."""

    tokens_per_input: int | None = Field(default=None, ge=0)
    tokens_per_session: int | None = Field(default=None, ge=0)
    cost_usd_per_input: float | None = Field(default=None, ge=0)
    cost_usd_per_session: float | None = Field(default=None, ge=0)
    seconds_per_input: float | None = Field(default=None, ge=0)
    seconds_per_session: float | None = Field(default=None, ge=0)


class Configure(Params):
    """Changes settings of a session. `remember`: provider and model become the default of new sessions."""

    method: ClassVar[str] = "agent/configure"
    session_id: str
    client_key: str
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    mode: Mode | None = None
    review: ReviewSetting | None = None
    limits: LimitChanges | None = None
    remember: bool = False


class ConfigureResult(Wire):
    session: SessionInfo
    applies_from: Literal["now", "nextCall", "nextTurn"]


class AcceptPlan(Params):
    """Sends a plan to the model as the user's message, and changes the session from mode `plan` to `mode`."""

    method: ClassVar[str] = "agent/acceptPlan"
    session_id: str
    client_key: str
    text: str
    mode: Literal["ask", "edits"]


class AcceptPlanResult(Wire):
    session: SessionInfo
    turn_id: str


class CommandReplacement(Wire):
    """A command to run instead of the requested one."""

    command: str | None = None


class Approve(Params):
    """Answers an approval. The first answer wins; a later one returns the existing decision.

    `replacement` is a command to run instead. It is valid only if `decision` allows a command, and without
    `ruleId`.
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


class Answer(Params):
    """Answers a question of the model. The first answer wins; a later one returns the existing answer.

    `answers` are choices or free text; several only if the question allows it. `declined`: the user refused
    to answer.
    """

    method: ClassVar[str] = "agent/answer"
    session_id: str
    question_id: str
    client_key: str
    answers: tuple[str, ...] = ()
    declined: bool = False


class AnswerResult(Wire):
    answers: tuple[str, ...]
    declined: bool
    decided_by: str


class ApproveResult(Wire):
    decision: Literal["allow", "deny"]
    decided_by: str
