"""What a stored session gives to the live one that goes on with it (L3, R3, R4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_ls.llm.messages import ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.events import (
    ApprovalRequested,
    PlanChanged,
    QuestionAsked,
    RecordedEvent,
    SubagentChanged,
    ToolCallEnd,
)
from agent_ls.loop.ids import ToolCallId, TurnId
from agent_ls.loop.inbox import Input, Steer
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.turns import AssistantTurn, Turn


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a message, or of the wish to compact: exactly one id is set."""

    turn_id: str = ""
    queued_id: str = ""
    steer_id: str = ""
    compaction_id: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a cut turn still lacks; the session appends it before it says that it was resumed.

    In this order, as the turn itself would have done: the ends of what was open, then the turns made of it, then
    the end of the turn. So a resume that is cut itself can be resumed. First of all come the ends of subagents, each
    with the id of the agent that tells it.
    """

    turn_id: str = ""
    agents: tuple[tuple[str, RecordedEvent], ...] = ()
    ends: tuple[RecordedEvent, ...] = ()
    turns: tuple[Turn, ...] = ()
    last: tuple[RecordedEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class EndedCall:
    end: ToolCallEnd
    result: ToolResultPart


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A call of a suspended round: it has `ended`, or waits for the answer to `asked` or `question`, or has not begun.

    Or what it proposes waits for verdicts: `is_in_review`. `allowed` is what a person has allowed of it already,
    `command` what he has put in place of its command, "" for nothing.
    """

    call_id: ToolCallId
    asked: ApprovalRequested | None = None
    allowed: tuple[ApprovalRequested, ...] = ()
    command: str = ""
    ended: EndedCall | None = None
    is_in_review: bool = False
    question: QuestionAsked | None = None

    @property
    def has_started(self) -> bool:
        return bool(self.asked or self.ended or self.is_in_review or self.question)


@dataclass(frozen=True, slots=True)
class Suspended:
    """A turn that waited for a person when its process ended (R4).

    `answer` None: it paused at a limit between two calls of the model, and `questions` has what it asked.
    `calls` are those of `answer`, in its order, `asked` what waits for an answer, oldest first, `proposed` the call of
    each hunk that waits for a verdict. `ends` are those of the rounds before, of which there were `rounds`.
    """

    turn_id: TurnId
    answer: AssistantTurn | None
    calls: tuple[SuspendedCall, ...]
    asked: tuple[ApprovalRequested, ...]
    rounds: int
    ends: tuple[ToolCallEnd, ...] = ()
    proposed: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[QuestionAsked, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoredAgent:
    """A subagent as it ended, with its own history; `parent` is the agent that started it, "" for the main one."""

    changed: SubagentChanged
    turns: tuple[Turn, ...]
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Restored:
    """`call_ids` are those that events have used; `answers` what each client key was answered.

    `was_closed`: the log ends with SESSION_END, so that the state has to be told anew. `cost_usd` None: not known.
    `shown` has the digest of each file that the model has seen. `calibration` as in UsageReport.
    """

    turns: tuple[Turn, ...]
    last_seq: int
    usage: Usage = field(default_factory=Usage)
    queue: tuple[Input, ...] = ()
    steers: tuple[Steer, ...] = ()
    prefix: Prefix = field(default_factory=Prefix)
    call_ids: frozenset[str] = frozenset()
    answers: Mapping[str, Submitted] = field(default_factory=dict)
    settlement: Settlement = field(default_factory=Settlement)
    was_closed: bool = False
    cost_usd: float | None = 0.0
    calibration: float = 1.0
    plan: PlanChanged | None = None
    suspended: Suspended | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[RestoredAgent, ...] = ()
