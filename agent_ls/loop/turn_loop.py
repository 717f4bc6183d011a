"""Works off one input: asks step.py what to do, does it, until it says Finish (000 section 2.5).

It does not know of states, queues of inputs or stops: being stopped is being cancelled, and whatever is in flight
then settles on the way out, so that the history is valid and each call has its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, assert_never

from anyio.lowlevel import checkpoint_if_cancelled

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.errors import ContextLengthError
from agent_ls.llm.messages import ToolCallPart
from agent_ls.llm.requests import Request, Usage
from agent_ls.loop.approval import Approver
from agent_ls.loop.budget import GO_ON, STOP, Budget
from agent_ls.loop.call_ids import CallIds
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context_keeper import ContextKeeper
from agent_ls.loop.dispatch import Call, Dispatcher
from agent_ls.loop.early_calls import EarlyCalls
from agent_ls.loop.emission import Voice
from agent_ls.loop.events import LoopDetection, PlanChanged, SteeringInjected, TurnLimit, UsageReport, Warning
from agent_ls.loop.history import History
from agent_ls.loop.ids import SessionId, ToolCallId
from agent_ls.loop.inbox import Inbox
from agent_ls.loop.loop_detection import calls_since_warning, detect_loop, signature, warning
from agent_ls.loop.model_call import ModelCalls, ModelReply
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.redaction import Known, none_known
from agent_ls.loop.restored import Restored, SuspendedCall
from agent_ls.loop.seams import Clock, ModelClient, NoticeBoard, PromptSource, Recorder, Reviews, Surroundings
from agent_ls.loop.spending import Spending
from agent_ls.loop.step import AnswerCalls, CallModel, Finish, Position, RunTools, cut_message, next_step
from agent_ls.loop.terminals import Terminals
from agent_ls.loop.tool_round import outcomes, run_round
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, ToolResultsTurn, Turn
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Question, Questions, Reply, SubagentSpawner, ToolError


@dataclass(frozen=True, slots=True)
class Ports:
    """What a session is connected to."""

    client: ModelClient
    environment: ExecutionEnvironment
    approver: Approver
    recorder: Recorder
    clock: Clock
    notices: NoticeBoard
    prompts: PromptSource
    surroundings: Surroundings
    reviews: Reviews
    questions: Questions
    secrets: Known = none_known
    pinned: Callable[[], Sequence[str]] = tuple


@dataclass(frozen=True, slots=True)
class Shared:
    """What all agents of one session have in common."""

    call_ids: CallIds
    spending: Spending
    budget: Budget
    terminals: Terminals


class Agents(SubagentSpawner, Protocol):
    """SEAM: the agents that this loop's model has started (subagents.py)."""

    async def reports(self) -> Sequence[str]:
        """What those have to say that the model has not been told of; waits for those that run, or for a steer."""
        ...

    async def end_all(self) -> None:
        """Ends those that run, and returns when they have ended."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an input has come. `known` has the calls of a round that an earlier process left suspended.

    `has_overflowed`: the provider has refused the conversation as too long, and room was made once.
    """

    answer: AssistantTurn | None = None
    call_ids: tuple[ToolCallId, ...] = ()
    rounds: int = 0
    ended_by: Literal["completed", "error"] | None = None
    was_denied: bool = False
    had_effect: bool = False
    known: tuple[SuspendedCall, ...] = ()
    early: Mapping[int, Call] = field(default_factory=dict)
    has_overflowed: bool = False


class TurnLoop:
    """The loop of one agent: `history` and `plan` are its own, `usage` is the session's.

    `config` is asked before each step: a change holds from there. `profile` is that of the input it works on.
    """

    def __init__(
        self,
        session_id: SessionId,
        ports: Ports,
        hub: Voice,
        inbox: Inbox,
        config: Callable[[], SessionConfig],
        restored: Restored,
        shared: Shared,
        agents: Agents,
        profile: ProviderProfile,
    ) -> None:
        self.history = History(restored.turns)
        self.profile = profile
        self._shared = shared
        self._agents = agents
        self._session_id = session_id
        self._ports = ports
        self._hub = hub
        self._inbox = inbox
        self._config = config
        self._model = ModelCalls(ports.client, ports.clock, hub, shared.call_ids, self.record)
        self._suspended = restored.suspended
        # The calls of a suspended answer are counted when its round is done.
        is_open = self._suspended is not None and self._suspended.answer is not None
        self._signatures = calls_since_warning(restored.turns[:-1] if is_open else restored.turns)
        self._dispatcher = Dispatcher(
            session_id=session_id,
            environment=ports.environment,
            approver=ports.approver,
            recorder=ports.recorder,
            clock=ports.clock,
            hub=hub,
            plan=restored.plan,
            shown=restored.shown,
            surroundings=ports.surroundings,
            secrets=ports.secrets,
            reviews=ports.reviews,
            terminals=shared.terminals,
            subagents=agents,
            questions=ports.questions,
        )
        self.context = ContextKeeper(
            session_id=session_id,
            client=ports.client,
            clock=ports.clock,
            hub=hub,
            recorder=ports.recorder,
            prompts=ports.prompts,
            environment=ports.environment,
            history=lambda: self.history,
            record=self.record,
            plan=lambda: self.plan,
            pinned=ports.pinned,
            restored=restored,
        )

    @property
    def usage(self) -> Usage:
        return self._shared.spending.usage

    @property
    def environment(self) -> ExecutionEnvironment:
        return self._ports.environment

    @property
    def plan(self) -> PlanChanged | None:
        return self._dispatcher.plan

    @property
    def terminals(self) -> Terminals:
        return self._dispatcher.terminals

    def record(self, turn: Turn) -> None:
        self._ports.recorder.turn(turn)
        self.history.append(turn)

    def go_back(self, turns: Sequence[Turn], plan: PlanChanged | None) -> None:
        """The history is this one from now on. What the model was shown of files, and what was spent, stays."""
        self.history = History(turns)
        self._signatures = calls_since_warning(turns)
        self._dispatcher.plan = plan

    def take_notices(self) -> None:
        """What others have for the model goes into the history (verdicts on hunks)."""
        for text in self._ports.notices.take():
            self.record(SteeringTurn(text, self._ports.clock.now(), source="review"))

    async def run(self, profile: ProviderProfile) -> Finish:
        """Works until the input is done; first of all the one that an earlier process left suspended.

        Raises:
            LlmError: the model could not be asked, and no further attempt is to be made.
        """
        self.profile = profile
        try:
            return await self._work_off(profile)
        finally:
            await self._agents.end_all()

    async def _work_off(self, profile: ProviderProfile) -> Finish:
        is_new = self._suspended is None
        if (paused := self._suspended) and paused.answer is None:
            asked = paused.questions[0]
            if await self._ends_here(Question(asked.question, asked.choices, purpose="limit")):
                return Finish("limit", "budget", 0, asked.question)
        progress = self._begun(profile)
        prefix: Prefix | None = None
        while True:
            config = self._config()
            match next_step(self._position(progress), config):
                case CallModel():
                    if stopped := await self._stopped_at_limit():
                        return stopped
                    prefix = prefix or await self.context.begin(profile, config, is_new=is_new)
                    # A stop is noticed here and not earlier: calls of the last answer get their results first.
                    await checkpoint_if_cancelled()
                    await self._ports.notices.look()
                    self.take_notices()
                    self._inject_steers()
                    await self._make_room(profile, config)
                    progress = await self._call_model(profile, config, prefix, progress)
                case RunTools(calls):
                    progress = await self._run_tools(profile, config, calls, progress)
                    self._detect_loop(config)
                case AnswerCalls(calls, reason):
                    progress = self._answer_calls(profile, config, calls, progress, reason)
                case Finish(reason="completed") if not progress.ended_by and await self._hear_agents():
                    continue
                case Finish() as finish:
                    return self._finished(finish, progress)
                case never:
                    assert_never(never)

    async def _hear_agents(self) -> bool:
        """The work of agents is not lost because nobody waited for them: the model hears of it before it is done."""
        reports = await self._agents.reports()
        for text in reports:
            self.record(SteeringTurn(text, self._ports.clock.now(), source="subagent"))
        return bool(reports or self._inbox.steers)

    def _begun(self, profile: ProviderProfile) -> Progress:
        suspended, self._suspended = self._suspended, None
        if suspended is None:
            return Progress()
        before = [self._dispatcher.was_denied_and_had_effect(end, profile) for end in suspended.ends]
        return Progress(
            answer=suspended.answer,
            call_ids=tuple(call.call_id for call in suspended.calls),
            rounds=suspended.rounds,
            was_denied=any(was_denied for was_denied, _ in before),
            had_effect=any(had_effect for _, had_effect in before),
            known=suspended.calls,
        )

    def _position(self, progress: Progress) -> Position:
        return Position(
            last=self.history.turns[-1],
            answer=progress.answer,
            rounds=progress.rounds,
            model_calls=self.history.model_calls,
            ended_by=progress.ended_by,
            steering=bool(self._inbox.steers),
        )

    def _finished(self, finish: Finish, progress: Progress) -> Finish:
        if finish.limit and finish.limit != "budget":
            self._hub.emit(TurnLimit(finish.limit, finish.count, finish.message))
        if finish.reason == "completed" and progress.was_denied and not progress.had_effect:
            return replace(finish, reason="refused")
        return finish

    async def _stopped_at_limit(self) -> Finish | None:
        """None: no limit is reached, or the user allows as much once more. Other words than his choice are a steer."""
        while reached := self._shared.budget.reached(self._config().limits):
            self._hub.emit(TurnLimit(reached.limit, reached.count, reached.message))
            question = Question(
                f"{reached.message} Go on with as much once more?", (GO_ON, STOP), purpose="limit"
            )
            if await self._ends_here(question):
                return Finish("limit", "budget", reached.count, reached.message)
            self._shared.budget.allow_more(reached)
        return None

    async def _ends_here(self, question: Question) -> bool:
        """Asks whether to go on behind a limit."""
        try:
            reply = await self._ports.questions.ask(question, "")
        except ToolError:  # a subagent: its parent's turn asks
            reply = Reply((), declined=True)
        if reply.declined or STOP in reply.answers:
            return True
        for text in reply.answers:
            if text != GO_ON:
                self.record(SteeringTurn(text, self._ports.clock.now()))
        return False

    # --- the model

    async def _make_room(self, profile: ProviderProfile, config: SessionConfig) -> None:
        usage = await self.context.make_room(profile, config)
        if usage is not None:
            self._report_usage(profile, config, usage)

    async def compact(self, profile: ProviderProfile) -> Finish:
        """Does what the user has asked for while nothing runs (L13)."""
        await checkpoint_if_cancelled()
        await self._make_room(profile, self._config())
        return Finish("completed")

    async def _call_model(
        self, profile: ProviderProfile, config: SessionConfig, prefix: Prefix, progress: Progress
    ) -> Progress:
        request = Request(
            model=profile.model,
            messages=self.history.messages(prefix.text),
            provider=profile.id,
            tools=prefix.tools,
            reasoning_effort=config.reasoning_effort if profile.supports_reasoning else None,
            provider_options=profile.provider_options,
            cache_key=self._session_id,
        )
        sent = self.context.sending(profile, config)
        early = EarlyCalls(self._dispatcher, profile, config, self._ports.environment)
        try:
            reply = await early.beside(
                self._model.ask(
                    request, config.retry, streaming=profile.supports_streaming, on_call=early.offer
                )
            )
        except ContextLengthError:
            if progress.has_overflowed:
                raise
            usage = await self.context.make_room_for_refused(profile, config)
            if usage is None:
                raise
            self._report_usage(profile, config, usage)
            return await self._call_model(profile, config, prefix, replace(progress, has_overflowed=True))
        finish = reply.finish
        self.context.observe(sent, finish.usage, config)
        self._report_usage(profile, config, finish.usage, reply)
        for message in (*finish.warnings, cut_message(finish.finish_reason)):
            if message:
                self._hub.emit(Warning(message, finish.finish_reason.kind))
        return replace(
            progress,
            answer=reply.turn,
            call_ids=reply.answer.event_ids,
            early=early.started,
            has_overflowed=False,
        )

    # --- tools

    async def _run_tools(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        parts: Sequence[ToolCallPart],
        progress: Progress,
    ) -> Progress:
        calls = _calls(parts, progress)
        for call in calls:
            if call.known and call.known.ended:
                self._dispatcher.take_up(call, call.known.ended, profile)
        try:
            await run_round(calls, self._dispatcher, profile, config, self._ports.environment)
        finally:  # a stopped round has its results too, a suspended one not yet
            if all(call.outcome for call in calls):
                self._record_results(calls)
        done = outcomes(calls)
        for outcome in done:
            if outcome.usage:
                self._report_usage(profile, config, outcome.usage)
        return replace(
            progress,
            rounds=progress.rounds + 1,
            ended_by=next((outcome.ends_loop for outcome in done if outcome.ends_loop), None),
            was_denied=progress.was_denied or any(outcome.was_denied for outcome in done),
            had_effect=progress.had_effect or any(outcome.had_effect for outcome in done),
            known=(),
            early={},
        )

    def _answer_calls(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        parts: Sequence[ToolCallPart],
        progress: Progress,
        reason: str,
    ) -> Progress:
        calls = _calls(parts, progress)
        for call in calls:
            if call.outcome:
                self._dispatcher.drop(call, f"Its result was dropped. {reason}")
            else:
                self._dispatcher.answer(call, profile, config, f"Not run. {reason}", "not_run")
        self._record_results(calls)
        return replace(progress, rounds=progress.rounds + 1, early={})

    def _record_results(self, calls: Sequence[Call]) -> None:
        results = tuple(outcome.result for outcome in outcomes(calls))
        self.record(ToolResultsTurn(results, self._ports.clock.now()))

    def _detect_loop(self, config: SessionConfig) -> None:
        last = self.history.turns[-2]
        if not config.enable_loop_detection or not isinstance(last, AssistantTurn):
            return
        window = config.loop_detection_window
        self._signatures = [*self._signatures, *map(signature, last.tool_calls)][-max(window, 1) :]
        if detect_loop(self._signatures, window):
            self._signatures = []
            message = warning(window)
            self.record(SteeringTurn(message, self._ports.clock.now(), source="loop_detection"))
            self._hub.emit(LoopDetection(message))

    # --- what goes along

    def _inject_steers(self) -> None:
        while self._inbox.steers:
            steer = self._inbox.pop_steer()
            self.record(SteeringTurn(steer.text, self._ports.clock.now(), images=steer.images))
            self._hub.emit(SteeringInjected(steer.id, steer.text))

    def _report_usage(
        self, profile: ProviderProfile, config: SessionConfig, usage: Usage, reply: ModelReply | None = None
    ) -> None:
        cost_usd, spending = profile.cost_usd(usage), self._shared.spending
        spending.add(usage, cost_usd)
        parts = self.context.measure(config)
        self._hub.emit(
            UsageReport(
                call=usage,
                total=spending.usage,
                context_tokens=parts.total,
                context_window_tokens=profile.context_window_tokens,
                call_cost_usd=cost_usd,
                total_cost_usd=spending.cost_usd,
                context=parts,
                calibration=self.context.calibration,
                duration_ms=reply.duration_ms if reply else None,
                first_output_ms=reply.first_output_ms if reply else None,
            )
        )


def _calls(parts: Sequence[ToolCallPart], progress: Progress) -> list[Call]:
    known = progress.known or (None,) * len(parts)
    return [
        progress.early.get(index) or Call(part, id_, index, len(parts) == 1, known[index])
        for index, (part, id_) in enumerate(zip(parts, progress.call_ids, strict=True))
    ]
