"""The state of a stored session from which a new process continues it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent_ls.llm.messages import ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.budget import NOTHING_SPENT, Expense
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.emission import EventEmitter
from agent_ls.loop.events.types import (
    ApprovalRequested,
    PlanChanged,
    QuestionAsked,
    RecordedEvent,
    SubagentChanged,
    ToolCallEnd,
    Warning,
)
from agent_ls.loop.ids import ToolCallId, TurnId
from agent_ls.loop.inbox import Input, QueuedSteer
from agent_ls.loop.turns import AssistantTurn, Turn


@dataclass(frozen=True, slots=True)
class Submitted:
    """The result of submitting a message or requesting a compaction: exactly one id is set."""

    turn_id: str = ""
    queued_id: str = ""
    steer_id: str = ""
    compaction_id: str = ""


MAX_SUBMIT_RESULTS = 1000
"""Number of results stored per session. A client repeats a message soon after a lost reply or a restart, or
never.
"""


def store_result(results: dict[str, Submitted], client_key: str, result: Submitted) -> None:
    """Store the first result of a client key, and drop the oldest results beyond the limit. Ignore an empty
    key.
    """
    if client_key and client_key not in results:
        results[client_key] = result
        while len(results) > MAX_SUBMIT_RESULTS:
            del results[next(iter(results))]


@dataclass(frozen=True, slots=True)
class MissingRecords:
    """The records that an interrupted turn lacks. The session appends them before it emits the session_start
    of the resume.

    The order is the same as in a live session: first the end events of open parts and calls, then the turns
    made from these events, then the event that ends processing. If the resume is interrupted too, the session
    can therefore be resumed again. The end events of subagents come first, each with the id of the agent that
    emits it. `cut_chars` is the number of characters of an answer that the model was writing, None if no model call
    ran; `cut_agents` has this number for each subagent whose model call ran.
    """

    turn_id: str = ""
    agents: tuple[tuple[str, RecordedEvent], ...] = ()
    ends: tuple[RecordedEvent, ...] = ()
    turns: tuple[Turn, ...] = ()
    last: tuple[RecordedEvent, ...] = ()
    cut_chars: int | None = None
    cut_agents: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that ended in an earlier process: its end event and its result."""

    end: ToolCallEnd
    result: ToolResultPart


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A call of a suspended round.

    The call has `ended`, or waits for the answer to `asked` or `question`, or waits for decisions about its
    hunks (`is_in_review`), or has not started. `allowed` lists the approvals that the user has already given;
    `command` is the command that the user put in place of the original, "" for none.
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
class SuspendedTurn:
    """A turn that waited for the user when its process ended.

    If the turn paused at a limit between two model calls, `answer` is None, and `questions` contains the
    question about the limit. If it waited before its first model call for the trust of the folder, `answer` is None,
    and `asked` contains this request. `calls` lists the calls of `answer` in order; `asked` lists the open approval
    requests, oldest first; `proposed` maps each undecided hunk to its call. `rounds` counts the turn's earlier
    tool rounds, and `ends` contains the end events of their calls.
    """

    turn_id: TurnId
    answer: AssistantTurn | None
    calls: tuple[SuspendedCall, ...]
    asked: tuple[ApprovalRequested, ...]
    rounds: int
    ends: tuple[ToolCallEnd, ...] = ()
    proposed: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[QuestionAsked, ...] = ()

    @property
    def has_prefix(self) -> bool:
        """Whether the turn has the beginning of its requests. It waits for the trust of the folder to get one."""
        return self.answer is not None or not self.asked


@dataclass(frozen=True, slots=True)
class RestoredAgent:
    """A subagent that has ended, with its own history.

    `parent` is the agent that started it, "" for the main agent.
    """

    changed: SubagentChanged
    turns: tuple[Turn, ...]
    parent: str = ""


@dataclass(frozen=True, slots=True)
class RestoredSession:
    """The state of a stored session at the end of its log.

    `call_ids` are the ids used in events; `answers` maps each client key to the result of its message. If
    `was_closed`, the log ends with session_end; the resumed session must therefore emit its new state.
    `cost_usd` is None if unknown, `known_usd` the cost of the calls whose price is known. `shown` contains the
    digest of each file that the model has read. `calibration` is the last value reported in UsageReport. `inherited` is
    the part of usage and cost that a copy has from its source. `warnings` are about what the end of the process left
    unclear.
    """

    turns: tuple[Turn, ...]
    last_seq: int
    usage: Usage = field(default_factory=Usage)
    queue: tuple[Input, ...] = ()
    steers: tuple[QueuedSteer, ...] = ()
    prefix: Prefix = field(default_factory=Prefix)
    call_ids: frozenset[str] = frozenset()
    answers: Mapping[str, Submitted] = field(default_factory=dict)
    missing: MissingRecords = field(default_factory=MissingRecords)
    was_closed: bool = False
    cost_usd: float | None = 0.0
    known_usd: float = 0.0
    inherited: Expense = NOTHING_SPENT
    calibration: float = 1.0
    plan: PlanChanged | None = None
    suspended: SuspendedTurn | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[RestoredAgent, ...] = ()
    warnings: tuple[Warning, ...] = ()


def emit_missing_records(
    missing: MissingRecords,
    emitter: EventEmitter,
    record: Callable[[Turn], None],
    count_killed: Callable[[int], None],
    count_agent: Callable[[str, int], None],
) -> None:
    """Add what the log lacks. `count_killed` counts the model call that ran at the end of the process, `count_agent`
    that of a subagent.
    """
    emitter.turn_id = missing.turn_id
    for agent_id, event in missing.agents:
        emitter.emit(event, agent_id)
    for agent_id, chars in missing.cut_agents:
        count_agent(agent_id, chars)
    for event in missing.ends:
        emitter.emit(event)
    for turn in missing.turns:
        record(turn)
    if missing.cut_chars is not None:
        count_killed(missing.cut_chars)
    for event in missing.last:
        emitter.emit(event)
    emitter.turn_id = ""
