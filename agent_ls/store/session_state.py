"""Pure: compute a session's state from the records of its log: history, queues, and the calls and questions
still open at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent_ls.llm.messages import ImagePart, Message, Role, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.budget import NOTHING_SPENT, Expense, known_cost
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.context.titles import title_of
from agent_ls.loop.emission import output_part
from agent_ls.loop.events.proposals import ProposedHunks
from agent_ls.loop.events.queue import update_queue
from agent_ls.loop.events.types import (
    DECIDED_BY_POLICY,
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Compaction,
    Envelope,
    FileChange,
    PlanChanged,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    QueueItem,
    QueueSpliced,
    ReasoningEnd,
    ReasoningStart,
    Reverted,
    RuleRemoved,
    SessionEnd,
    SessionStart,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    SubagentChanged,
    TerminalExit,
    TerminalOpen,
    Title,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)
from agent_ls.loop.ids import SteerId
from agent_ls.loop.inbox import Input, QueuedSteer
from agent_ls.loop.restored import Submitted, store_result
from agent_ls.loop.turns import AssistantTurn, CompactionTurn, SteeringTurn, ToolResultsTurn, Turn, UserTurn
from agent_ls.store.agents import StoredAgents
from agent_ls.store.checkpoints import Checkpoint, checkpoint
from agent_ls.store.journal import HunkPositions, Intent, ProposalRecord


@dataclass(slots=True)
class UnrecordedText:
    """A text or reasoning of the model that is not part of a recorded turn yet."""

    kind: Literal["text", "reasoning"]
    text: str = ""
    has_ended: bool = False


NO_ANSWER = AssistantTurn(Message(Role.ASSISTANT, ()), Usage(), "", "", "", FinishReason("other"), "")


@dataclass(slots=True)
class Round:
    """The tool calls of the model's last answer, and their states. `answer` is NO_ANSWER while it streams.

    `starts` maps a call's index to its start event, `ends` a call's id to its end event. `results` maps a call
    to its result for the model, if that differs from the output in the end event. `allowed` maps a call to the
    requests that the user approved. `commands` maps a call to the command that the user wrote in place of the
    requested command.
    """

    answer: AssistantTurn = NO_ANSWER
    starts: dict[int, ToolCallStart] = field(default_factory=dict)
    ends: dict[str, ToolCallEnd] = field(default_factory=dict)
    results: dict[str, ToolResultPart] = field(default_factory=dict)
    allowed: dict[str, list[ApprovalRequested]] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AcceptedRule:
    """A rule that the user accepted with an approval: the label that they saw, and when, in ISO 8601."""

    label: str
    created: str


@dataclass(slots=True)
class SessionState:
    """The state of a session, built from records in the order of the log. `turn_id` is the id of the turn
    that has not ended, or "".

    `ends` are the end events of that turn's calls, without outputs. `session_grants` and `turn_grants` are
    the rules that the user accepted for the session and for that turn, by id. `shown` maps each file that the model
    has seen to its digest. If such a file changed afterwards and the model was informed, `known` contains the
    new digest. `prompt` is the newest system prompt, `prefix` its sources (without the text). `compaction` is a
    compaction that has begun and not ended. `intents` are planned writes of calls that have not ended; `filed`
    contains the call and path of each file change reported for these calls. `hunk_positions` are hunk positions
    by path, `contents` the names of the blobs with the contents that the session wrote last. `notices` are
    notices that the model has not received. `reviews` are proposals of calls that have not ended, by call;
    `proposed` contains the undecided hunks of these proposals. `left_running` are background commands that ended
    because agent-ls ended, by terminal. `early` contains the calls of an answer that still streams. `checkpoints`
    maps the id of the following turn, or of the revert, to a checkpoint; `turn_ids` are the turn ids of the user
    messages in `turns`.
    """

    turns: list[Turn] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_usd: float = 0.0
    inherited: Expense = NOTHING_SPENT
    plan: PlanChanged | None = None
    prompt: str = ""
    prefix: Prefix = field(default_factory=Prefix)
    calibration: float = 1.0
    compaction: Compaction | None = None
    config: dict[str, Any] = field(default_factory=dict)
    provider: str = ""
    model: str = ""
    title: str = ""
    turn_id: str = ""
    is_closed: bool = False
    said: dict[str, UnrecordedText] = field(default_factory=dict)
    round: Round | None = None
    early: Round | None = None
    outputs: dict[str, str] = field(default_factory=dict)
    approvals: dict[str, ApprovalRequested] = field(default_factory=dict)
    terminals: dict[str, TerminalOpen] = field(default_factory=dict)
    left_running: dict[str, str] = field(default_factory=dict)
    unrecorded_input: UserTurn | None = None
    unrecorded_steers: list[QueuedSteer] = field(default_factory=list)
    queued: list[QueueItem] = field(default_factory=list)
    steers: list[QueuedSteer] = field(default_factory=list)
    images: dict[str, tuple[ImagePart, ...]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    call_ids: set[str] = field(default_factory=set)
    answers: dict[str, Submitted] = field(default_factory=dict)
    ends: list[ToolCallEnd] = field(default_factory=list)
    session_grants: dict[str, AcceptedRule] = field(default_factory=dict)
    turn_grants: dict[str, AcceptedRule] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    intents: list[Intent] = field(default_factory=list)
    filed: set[tuple[str, str]] = field(default_factory=set)
    hunk_positions: dict[str, HunkPositions] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    reviews: dict[str, ProposalRecord] = field(default_factory=dict)
    proposed: ProposedHunks = field(default_factory=ProposedHunks)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    turn_ids: list[str] = field(default_factory=list)
    questions: dict[str, QuestionAsked] = field(default_factory=dict)
    agents: StoredAgents = field(default_factory=StoredAgents)

    def end_copied(self) -> None:
        """Apply the record after the last one that was copied from another session."""
        self.inherited = Expense(self.usage.input_tokens + self.usage.output_tokens, self.known_usd)

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        if isinstance(turn, AssistantTurn):
            self.usage = self.usage + turn.usage
        self.agents.turn(agent_id, turn)

    def turn(self, turn: Turn) -> None:
        """Apply a recorded turn."""
        self.turns.append(turn)
        match turn:
            case AssistantTurn():
                self.usage = self.usage + turn.usage
                self.said.clear()
                # Calls may begin while the answer streams. Their events are in `early` until the answer is
                # recorded.
                early = replace(self.early, answer=turn) if self.early else Round(turn)
                self.round, self.early = early if turn.tool_calls else None, None
            case ToolResultsTurn():
                self.round = None
            case CompactionTurn(usage=usage, summary=summary):
                self.usage = self.usage + usage
                if self.compaction:
                    self.compaction = replace(self.compaction, status="done", summary=summary)
            case UserTurn():
                self.unrecorded_input = turn
            case SteeringTurn(source="user", content=text):
                self._steer_is_in_history(text)
            case SteeringTurn(source="review", content=text) if text in self.notices:
                self.notices.remove(text)
            case _:
                pass

    @property
    def first_words(self) -> str:
        inputs = (title_of(turn.content) for turn in self.turns if isinstance(turn, UserTurn))
        return next(filter(None, inputs), "")

    @property
    def waiting(self) -> list[QueueItem]:
        """The queued messages that have not begun a turn."""
        return [item for item in self.queued if item.queued_id not in self.begun]

    @property
    def queue(self) -> list[Input]:
        return [
            Input(item.text, self.images.get(item.queued_id, ()), item.client_key, item.queued_id)
            for item in self.waiting
        ]

    @property
    def begun_from_queue(self) -> Input | None:
        """The queued message that has started a turn, if the log lacks the event about its removal from the
        queue. None without such a message.
        """
        text = self.unrecorded_input.content if self.unrecorded_input else None
        return next((item for item in self.queue if item.text == text), None)

    def partial(self, record: Mapping[str, Any]) -> None:
        """Apply a record with text of a part (an answer's text or a call's output) that had not ended.

        Raises:
            KeyError, TypeError: the record has no text of a part.
        """
        part_id, offset, text = record["partId"], record["offset"], record["text"]
        if said := self.said.get(part_id):
            said.text = said.text[:offset] + text
        else:
            self.outputs[part_id] = self.outputs.get(part_id, "")[:offset] + text

    def result(self, call_id: str, result: ToolResultPart) -> None:
        if round_ := self.round or self.early:
            round_.results[call_id] = result

    def set_hunk_positions(self, positions: HunkPositions) -> None:
        self.hunk_positions[positions.path] = positions

    def review(self, review: ProposalRecord) -> None:
        self.reviews[review.call_id] = review

    def event(self, envelope: Envelope) -> None:
        """Apply a recorded event."""
        self.proposed.follow(envelope.event)
        self.turn_id = envelope.turn_id or self.turn_id
        self._of_any_agent(envelope)
        if envelope.agent_id:
            self.agents.event(envelope)
            if isinstance(envelope.event, AssistantTextEnd | ReasoningEnd):
                self.outputs.pop(envelope.event.part_id, None)
            return
        match envelope.event:
            case AssistantTextStart() | ReasoningStart() | AssistantTextEnd() | ReasoningEnd() as part:
                self._fold_part(part)
            case ToolCallStart() as start:
                self._fold_start(start)
            case ToolCallEnd() as end:
                self.ends.append(replace(end, output=""))
                if round_ := self.round or self.early:
                    round_.ends[end.call_id] = end
            case QuestionAsked() as question:
                self.questions[question.question_id] = question
            case QuestionAnswered(question_id=question_id, client_key=key):
                self.questions.pop(question_id, None)
                self._answer(key, Submitted(envelope.turn_id))
            case SessionStart(provider=provider, model=model):
                self.provider, self.model, self.is_closed = provider, model, False
                self.left_running.clear()
            case SessionEnd(reason=reason):
                self.is_closed = True
                if reason != "suspended":
                    self._end_turn()
            case ProcessingEnd():
                self._end_turn()
            case UsageReport(calibration=calibration):
                self.calibration = calibration
            case Compaction(client_key=key, compaction_id=compaction_id) as compaction:
                self._answer(key, Submitted(compaction_id=compaction_id))
                self.compaction = compaction if compaction.status == "started" else None
            case PlanChanged() as plan:
                self.plan = plan
            case SubagentChanged():
                self.agents.event(envelope)
            case UserInput():
                self.agents.event(envelope)
                self._message(envelope)
            case Title(title=title):
                self.title = title
            case Reverted() as reverted:
                self._go_back(reverted)
            case _:
                self._message(envelope)

    def _fold_part(self, part: AssistantTextStart | ReasoningStart | AssistantTextEnd | ReasoningEnd) -> None:
        is_text = isinstance(part, AssistantTextStart | AssistantTextEnd)
        has_ended = isinstance(part, AssistantTextEnd | ReasoningEnd)
        text = part.text if isinstance(part, AssistantTextEnd | ReasoningEnd) else ""
        self.said[part.part_id] = UnrecordedText(
            "text" if is_text else "reasoning", text, has_ended=has_ended
        )

    def _fold_start(self, start: ToolCallStart) -> None:
        if self.round is None and self.early is None:
            self.early = Round()
        if round_ := self.round or self.early:
            round_.starts[start.index] = start

    def _of_any_agent(self, envelope: Envelope) -> None:
        """Apply an event that concerns the session, whether it is the main agent's or a subagent's."""
        match envelope.event:
            case ToolCallStart(call_id=call_id):
                self.call_ids.add(call_id)
            case ToolCallEnd(call_id=call_id):
                self._call_ended(call_id)
            case FileChange(call_id=call_id, path=path):
                self.filed.add((call_id, path))
            case ApprovalRequested() as request:
                self.approvals[request.request_id] = request
            case ApprovalResolved() as resolved:
                self._fold_decision(resolved, envelope.timestamp)
            case TerminalOpen() as terminal:
                self.terminals[terminal.terminal_id] = terminal
            case TerminalExit() as ended:
                self._fold_exit(ended)
            case UsageReport(total=usage, total_cost_usd=cost_usd, call_cost_usd=call_usd):
                self.usage, self.cost_usd = usage, cost_usd  # also of calls without a turn, such as cut ones
                self.known_usd += known_cost(call_usd) or 0.0
            case _:
                pass

    def _fold_exit(self, ended: TerminalExit) -> None:
        terminal = self.terminals.pop(ended.terminal_id, None)
        if terminal and terminal.background and ended.exit_code is None:
            self.left_running[terminal.terminal_id] = terminal.title

    @property
    def ended_with_process(self) -> list[str]:
        """Titles of the background commands that ended because agent-ls ended."""
        still_open = (terminal.title for terminal in self.terminals.values() if terminal.background)
        return [*self.left_running.values(), *still_open]

    def _call_ended(self, ended: str) -> None:
        # If the terminal of a background command ended before its call, the command never ran.
        self.left_running.pop(ended, None)
        self.outputs.pop(output_part(ended), None)
        # All file changes of an ended call have been reported. An intent without a reported change was not
        # carried out.
        self.intents = [intent for intent in self.intents if intent.call_id != ended]
        self.filed = {(call_id, path) for call_id, path in self.filed if call_id != ended}
        self.reviews.pop(ended, None)

    def _message(self, envelope: Envelope) -> None:
        """Apply an event about the user's messages, or about a removed rule."""
        match envelope.event:
            case UserInput(text=text, client_key=key, queued_id=queued_id):
                self._mark_input(envelope.turn_id, text)
                self.unrecorded_input = None
                self.begun.add(queued_id)
                self.images.pop(queued_id, None)
                self._answer(
                    key, Submitted(queued_id=queued_id) if queued_id else Submitted(envelope.turn_id)
                )
            case QueueChanged(items=items) | QueueSpliced(items=items) as changed:
                for item in items:
                    self._answer(item.client_key, Submitted(queued_id=item.queued_id))
                update_queue(self.queued, changed)
            case SteeringQueued(steer_id=steer_id, text=text, client_key=key):
                self._answer(key, Submitted(steer_id=steer_id))
                self.steers.append(QueuedSteer(SteerId(steer_id), text, self.images.get(steer_id, ()), key))
            case RuleRemoved(rule_id=rule_id):
                self.session_grants.pop(rule_id, None)
                self.turn_grants.pop(rule_id, None)
            case SteeringRemoved(steer_id=steer_id) | SteeringInjected(steer_id=steer_id):
                self.images.pop(steer_id, None)
                self.steers = [steer for steer in self.steers if steer.id != steer_id]
                self.unrecorded_steers = [steer for steer in self.unrecorded_steers if steer.id != steer_id]
            case _:
                pass

    def _mark_input(self, turn_id: str, text: str) -> None:
        place = len(self.turns)
        while place > 0 and not isinstance(self.turns[place - 1], UserTurn):
            place -= 1
        before = max(place - 1, 0)
        self.checkpoints[turn_id] = checkpoint(self.turns, before, self.turn_ids, self.plan, text)
        self.turn_ids.append(turn_id)

    def _go_back(self, reverted: Reverted) -> None:
        now = checkpoint(self.turns, len(self.turns), self.turn_ids, self.plan)
        self.checkpoints[reverted.revert_id] = now
        if reverted.conversation and (then := self.checkpoints.get(reverted.at_turn_id)):
            self.turns, self.turn_ids, self.plan = then.turns, then.turn_ids, then.plan

    def _fold_decision(self, resolved: ApprovalResolved, at: str) -> None:
        request = self.approvals.pop(resolved.request_id, None)
        if resolved.decision != "allow":
            return
        # The user replaced the requested command, so the approval is only valid for the new command.
        if request and self.round and resolved.command:
            self.round.commands[request.call_id] = resolved.command
        elif request and self.round and resolved.decided_by != DECIDED_BY_POLICY:
            self.round.allowed.setdefault(request.call_id, []).append(replace(request, effect={}))
        rule_id = resolved.rule_id
        if rule_id and resolved.scope in ("session", "turn"):
            labels: dict[tuple[str, str], str] = {
                (it.id, it.scope): it.label for it in (request.rules if request else ())
            }
            grants = self.session_grants if resolved.scope == "session" else self.turn_grants
            grants[rule_id] = AcceptedRule(labels.get((rule_id, resolved.scope), rule_id), at)

    def _steer_is_in_history(self, text: str) -> None:
        """Move a steering message that is in the history from `steers` to `unrecorded_steers`.

        It must not be injected again if the log lacks its steering_injected event.
        """
        found = next((steer for steer in self.steers if steer.text == text), None)
        if found:
            self.steers.remove(found)
            self.unrecorded_steers.append(found)

    def _answer(self, client_key: str, answer: Submitted) -> None:
        store_result(self.answers, client_key, answer)

    def _end_turn(self) -> None:
        self.turn_id = ""
        self.round = None
        self.early = None
        self.said.clear()
        self.outputs.clear()
        self.ends.clear()
        self.reviews.clear()
        self.turn_grants.clear()
