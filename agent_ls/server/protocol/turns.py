"""The course of a session: submit, steer, queue, stop, configure, and answers to what it asks."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Mode, Params, ReviewSetting, Wire
from agent_ls.server.protocol.inputs import InputPart
from agent_ls.server.protocol.sessions import SessionInfo


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
    """Ends the turn; the session lives. `thenSubmit` is submitted when the turn has ended.

    Without `keepProcesses` what the turn has started in the background ends too.
    """

    method: ClassVar[str] = "agent/interrupt"
    session_id: str
    client_key: str = ""
    keep_processes: bool = True
    then_submit: tuple[InputPart, ...] | None = None


class EditQueued(Wire):
    """Other parts for a message that waits. A client that has its text only keeps its pictures with `keepImages`."""

    queued_id: str
    input: tuple[InputPart, ...] = Field(min_length=1)
    keep_images: bool = False


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


class Compact(Params):
    """Makes room in the conversation. Before the next model call of a running turn, else at once."""

    method: ClassVar[str] = "agent/compact"
    session_id: str
    client_key: str
    instructions: str = ""


class CompactResult(Wire):
    compaction_id: str


class Abort(Params):
    """Ends the session (CLOSED). It can be resumed by agent/subscribe."""

    method: ClassVar[str] = "agent/abort"
    session_id: str
    client_key: str = ""


class LimitChanges(Wire):
    """Only those that are given are changed; 0 is no limit."""

    tokens_per_input: int | None = Field(default=None, ge=0)
    tokens_per_session: int | None = Field(default=None, ge=0)
    cost_usd_per_input: float | None = Field(default=None, ge=0)
    cost_usd_per_session: float | None = Field(default=None, ge=0)
    seconds_per_input: float | None = Field(default=None, ge=0)
    seconds_per_session: float | None = Field(default=None, ge=0)


class Configure(Params):
    """`remember`: the provider and model are those of new sessions too, where nothing else is named."""

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


class Answer(Params):
    """Answers a question of the model. The first answer wins; a later one is told that which stands.

    `answers` holds choices or words of the user's own; several only where the question takes them. `declined`: none.
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
