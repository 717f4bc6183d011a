"""Run one turn: ask `step.py` for the next action and perform it, until it returns Finish.

This module does not handle session states, message queues or stops. A stop arrives as a cancellation: each
running operation records its results before it ends, so that the history is valid and each call has a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol, assert_never

from anyio.lowlevel import checkpoint_if_cancelled

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.errors import LlmError, RequestTooLargeError
from agent_ls.llm.messages import ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.loop.calls.dispatch import BY_TIME_LIMIT, Call, Dispatcher, ParsedCall
from agent_ls.loop.calls.early_calls import EarlyCalls
from agent_ls.loop.calls.loop_detection import calls_since_warning, detect_loop, signature, warning
from agent_ls.loop.calls.tool_round import outcomes, run_round
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.context.requests import ContextKeeper
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import (
    LoopDetection,
    PlanChanged,
    SteeringInjected,
    TurnLimit,
    Warning,
)
from agent_ls.loop.ids import ToolCallId
from agent_ls.loop.inbox import Inbox
from agent_ls.loop.model.call import ModelCalls, ModelReply
from agent_ls.loop.model.failures import failed_tools, make_end_error, visible
from agent_ls.loop.model.other_models import Fallbacks
from agent_ls.loop.model.recovery import (
    IMAGES_DROPPED,
    IMAGES_TOO_LARGE,
    REASONING_DROPPED,
    is_overflow,
    refuses_images,
    refuses_reasoning,
)
from agent_ls.loop.model.spent import CallCounter
from agent_ls.loop.ports import Ports, Shared
from agent_ls.loop.restored import RestoredSession, SuspendedCall
from agent_ls.loop.step import AnswerCalls, CallModel, Finish, RunTools, StepState, cut_message, next_step
from agent_ls.loop.turn_limits import TurnLimits
from agent_ls.loop.turns import AssistantTurn, CompactionTurn, SteeringTurn, ToolResultsTurn, Turn, UserTurn
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Question, SubagentSpawner

BROKEN = "The answer with this call broke off: {why}"
SAID_NOTHING = "The model ended its turn without a text. Send a message to continue."


class Agents(SubagentSpawner, Protocol):
    """Interface to the subagents that this loop's model has started; see `subagents.py`.

    `inbox` contains the messages for this loop's model. `depth` is the nesting depth of this loop's agent, 0 for the
    main agent. `stopped_by` says who or what stops this loop's agent.
    """

    depth: int
    stopped_by: str

    @property
    def inbox(self) -> Inbox: ...

    async def reports(self) -> Sequence[str]:
        """Wait until all running agents have ended or a steer is queued. Return the reports that the model
        has not received.
        """
        ...

    def take_interrupted(self) -> Sequence[str]:
        """Return the reports of agents that ended with an earlier turn, and that the model has not received."""
        ...

    def describe_running(self) -> Sequence[str]:
        """Return a line for each running agent: its id and its task."""
        ...

    async def end_all(self) -> None:
        """End the running agents, and return when they have ended."""
        ...


@dataclass(frozen=True, slots=True)
class InputProgress:
    """The progress of a turn.

    `known` contains the calls of a round that an earlier process left suspended. `early` contains the calls
    that started while the model was still streaming, `parsed` the parsed arguments of all calls, both by the
    index of the call. `has_overflowed` is True after the provider refused the conversation as too long and
    the loop compacted it once.
    """

    answer: AssistantTurn | None = None
    call_ids: tuple[ToolCallId, ...] = ()
    rounds: int = 0
    ended_by: Literal["completed", "error"] | None = None
    was_denied: bool = False
    had_effect: bool = False
    known: tuple[SuspendedCall, ...] = ()
    early: Mapping[int, Call] = field(default_factory=dict)
    parsed: Mapping[int, ParsedCall] = field(default_factory=dict)
    has_overflowed: bool = False


@dataclass(slots=True)
class _ModelTurn:
    """The values that the model calls of one turn have in common.

    `profile` is replaced by a fallback. `is_new`: the turn was not begun by an earlier process. `has_prefix`: an
    earlier process began its requests. `prefix` is the beginning of each request; None before the first call.
    """

    profile: ProviderProfile
    fallbacks: Fallbacks
    is_new: bool
    has_prefix: bool
    prefix: Prefix | None = None


class TurnLoop:
    """The loop of one agent. `history` and `plan` belong to the agent, `usage` to the whole session.

    `config` is called before each step, so that a change applies from the next step. `profile` is the profile
    of the current turn.
    """

    def __init__(
        self,
        ports: Ports,
        emitter: Emitter,
        shared: Shared,
        agents: Agents,
        *,
        config: Callable[[], SessionConfig],
        restored: RestoredSession,
        profile: ProviderProfile,
    ) -> None:
        self.history = ConversationHistory(restored.turns)
        self.profile = profile
        self.replacement: ProviderProfile | None = (
            None  # replaces the profile before a turn's first model call
        )
        self._shared = shared
        self._agents = agents
        self._ports = ports
        self._emitter = emitter
        self._inbox = agents.inbox
        self._config = config
        self._model = ModelCalls(ports.client, ports.clock, emitter, shared.call_ids, self.record)
        self._limits = TurnLimits(ports, shared, emitter, lambda: config().limits)
        self._suspended = restored.suspended
        # Leave out the calls of a suspended answer, because their signatures are added after the round has ended.
        is_open = self._suspended is not None and self._suspended.answer is not None
        self._signatures = calls_since_warning(restored.turns[:-1] if is_open else restored.turns)
        self._dispatcher = Dispatcher(
            ports,
            shared,
            emitter,
            agents,
            plan=restored.plan,
            shown=restored.shown,
            stopped_by=lambda: BY_TIME_LIMIT if self._limits.is_cutting else agents.stopped_by,
        )
        self.context = ContextKeeper(shared.session_id, ports, emitter, self, restored)
        self._spent = CallCounter(emitter, shared.spending, self.context, config)

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
    def running_agents(self) -> Sequence[str]:
        return self._agents.describe_running()

    def record(self, turn: Turn) -> None:
        self._ports.recorder.turn(turn)
        self.history.append(turn)
        if isinstance(turn, CompactionTurn):
            self._ports.documents.forget_compacted(self.history.result_texts())

    def go_back(self, turns: Sequence[Turn], plan: PlanChanged | None) -> None:
        """Replace history and plan. The list of files that the model has seen, and the usage, stay unchanged."""
        self.history = ConversationHistory(turns)
        self._signatures = calls_since_warning(turns)
        self._dispatcher.plan = plan

    def take_notices(self) -> None:
        """Record notices as messages to the model: decisions about hunks, ends of processes and of subagents."""
        for text in self._ports.notices.take_messages():
            self.record(SteeringTurn(text, self._ports.clock.now(), source="review"))
        for text in self._ports.ended():
            self.record(SteeringTurn(text, self._ports.clock.now(), source="process"))
        for text in self._agents.take_interrupted():
            self.record(SteeringTurn(text, self._ports.clock.now(), source="subagent"))

    async def run(self, profile: ProviderProfile) -> Finish:
        """Run a turn to its end. If an earlier process left a suspended turn, continue that turn.

        Raises:
            LlmError: the model call failed and is not retried.
        """
        self.profile, self.replacement = profile, None
        self._shared.log_guard.begin()
        try:
            return await self._take_steps(profile)
        finally:
            await self._agents.end_all()

    async def _take_steps(self, profile: ProviderProfile) -> Finish:
        """Perform the actions that `next_step` returns, until Finish; ask the user at each reached limit."""
        paused, fallbacks = self._suspended, Fallbacks(self._ports.models, self._emitter)
        turn = _ModelTurn(profile, fallbacks, paused is None, bool(paused and paused.has_prefix))
        if paused and paused.answer is None and paused.questions:
            asked = paused.questions[0]
            if await self._limits.ends_here(Question(asked.question, asked.choices, purpose="limit")):
                self._suspended = None  # otherwise the next turn would ask about this turn's limit
                return Finish("limit", "budget", 0, asked.question)
            self._limits.allow_restored(asked.question)
        progress = self._begin_progress(profile)
        went_on = False
        while True:
            config = self._config()
            match next_step(self._position(progress), config):
                case CallModel():
                    called = await self._ask_model(turn, config, progress)
                    if isinstance(called, Finish):
                        return called
                    progress = called
                case RunTools(calls):
                    progress = await self._run_tools(turn.profile, config, calls, progress)
                    self._detect_loop(config)
                case AnswerCalls(calls, reason):
                    progress = self._answer_calls(turn.profile, config, calls, progress, reason)
                case Finish(reason="completed") if not progress.ended_by and (
                    reported := await self._limits.in_time(self._await_agents)
                ):
                    if isinstance(reported, Finish):
                        return reported
                case Finish(reason="completed") if not progress.ended_by and await self._sent_on_by_hook(
                    went_on
                ):
                    went_on = True
                case Finish() as finish:
                    return self._finish(finish, progress)
                case never:
                    assert_never(never)

    async def _ask_model(
        self, turn: _ModelTurn, config: SessionConfig, progress: InputProgress
    ) -> InputProgress | Finish:
        """Call the model, unless a limit, a hook or a stop ends the turn. After a failure that another model may
        not have, choose that model, and return the same progress.
        """
        if stopped := await self._limits.stopped():
            return stopped
        if ended := self._ports.hooks.take_end():
            return self._end_by_hook(f"One of your hooks ended this turn: {ended}")
        if turn.prefix is None:
            if turn.is_new and (refused := await self._refused_by_hook()):
                return refused
            turn.prefix = await self.context.begin(turn.profile, config, is_new=not turn.has_prefix)
            if not turn.has_prefix and self.replacement:  # the user was asked for trust, which may change it
                await self._continue_with(turn, self.replacement, config)
        # Check for a stop only here, because the calls of the last answer must get their results first.
        await checkpoint_if_cancelled()
        await self._ports.notices.collect()
        self.take_notices()
        self._inject_steers()
        await self._make_room(turn.profile, config)
        try:
            return await self._limits.in_time(
                partial(self._call_model, turn.profile, config, turn.prefix, progress)
            )
        except LlmError as error:
            # The fallback model is used until the end of the turn.
            await self._continue_with(turn, turn.fallbacks.choose_next(turn.profile, error), config)
            return progress

    async def _continue_with(self, turn: _ModelTurn, profile: ProviderProfile, config: SessionConfig) -> None:
        self.profile = turn.profile = profile
        turn.prefix = await self.context.begin(profile, config)

    async def _refused_by_hook(self) -> Finish | None:
        """Ask the hooks whether the user's message may start a turn. Returns Finish if a hook stops the
        message.

        If the hooks return text for the model, the text is recorded.
        """
        last = self.history.turns[-1]
        if not isinstance(last, UserTurn):
            return None
        decision = await self._ports.hooks.before_prompt(last.content)
        if decision.stop:
            return self._end_by_hook(f"{decision.who} stopped this message: {decision.stop}")
        if decision.context:
            self.record(SteeringTurn(decision.context, self._ports.clock.now(), source="hook"))
        return None

    def _end_by_hook(self, message: str) -> Finish:
        self._emitter.emit(Warning(message, "stopped_by_hook"))
        return Finish("refused", message=message)

    async def _sent_on_by_hook(self, again: bool) -> bool:
        """Return whether a hook makes the model continue instead of ending the turn. This can happen once for
        each user message; `again` is True if it has already happened.
        """
        last = self.history.turns[-1]
        text = last.content if isinstance(last, AssistantTurn) else ""
        reason = await self._ports.hooks.before_stop(text, again=again)
        if not reason or again:
            return False
        self.record(SteeringTurn(reason, self._ports.clock.now(), source="hook"))
        return True

    async def _await_agents(self) -> bool:
        """Wait for running subagents before the turn ends and record their reports.

        Returns whether the model must continue.
        """
        reports = await self._agents.reports()
        for text in reports:
            self.record(SteeringTurn(text, self._ports.clock.now(), source="subagent"))
        return bool(reports or self._inbox.steers)

    def _begin_progress(self, profile: ProviderProfile) -> InputProgress:
        suspended, self._suspended = self._suspended, None
        if suspended is None:
            return InputProgress()
        before = [self._dispatcher.was_denied_and_had_effect(end, profile) for end in suspended.ends]
        return InputProgress(
            answer=suspended.answer,
            call_ids=tuple(call.call_id for call in suspended.calls),
            rounds=suspended.rounds,
            was_denied=any(was_denied for was_denied, _ in before),
            had_effect=any(had_effect for _, had_effect in before),
            known=suspended.calls,
        )

    def _position(self, progress: InputProgress) -> StepState:
        return StepState(
            last=self.history.turns[-1],
            answer=progress.answer,
            rounds=progress.rounds,
            model_calls=self.history.model_calls,
            subagent_cost_usd=self._spent.own_usd if self._agents.depth else 0.0,
            ended_by=progress.ended_by,
            steering=bool(self._inbox.steers),
        )

    def _finish(self, finish: Finish, progress: InputProgress) -> Finish:
        if finish.limit and finish.limit != "budget":
            self._emitter.emit(TurnLimit(finish.limit, finish.count, finish.message))
        if finish.reason == "error" and progress.answer:
            cut = progress.answer.finish_reason
            names = [call.name for call in progress.answer.tool_calls]
            error = failed_tools(names) if progress.ended_by else make_end_error(cut)
            error = self._shared.log_guard.refusal or error
            return replace(finish, error=error, message=error.message)
        if finish.reason == "completed" and progress.answer and not progress.answer.content.strip():
            self._emitter.emit(Warning(SAID_NOTHING, "empty_answer"))
        if finish.reason == "completed" and progress.was_denied and not progress.had_effect:
            return replace(finish, reason="refused")
        return finish

    # --- the model

    async def _make_room(self, profile: ProviderProfile, config: SessionConfig) -> None:
        if spent := await self.context.make_room(profile, config):
            self._spent.count(profile, spent.usage, by=spent.profile)

    async def compact(self, profile: ProviderProfile) -> Finish:
        """Perform the compaction that the user requested while no turn was running."""
        await checkpoint_if_cancelled()
        await self._make_room(profile, self._config())
        return Finish("completed")

    async def _call_model(
        self, profile: ProviderProfile, config: SessionConfig, prefix: Prefix, progress: InputProgress
    ) -> InputProgress:
        """Call the model and start early calls. If the provider refuses the conversation as too long, compact
        once and try again.
        """
        request = Request(
            model=profile.model,
            messages=self.history.messages(prefix.text),
            provider=profile.id,
            tools=prefix.tools,
            reasoning_effort=config.reasoning_effort if profile.supports_reasoning else None,
            provider_options=profile.provider_options,
            cache_key=self._shared.session_id,
        )
        sent = self.context.sending(profile, config)
        try:
            reply, early = await self._read_answer(request, profile, config, sent.total)
        except LlmError as error:
            recovered = await self._recover(profile, config, progress, error, sent.total)
            if recovered is None:
                raise
            return await self._call_model(profile, config, prefix, recovered)
        finish = reply.finish
        self.context.observe(sent, finish.usage, config)
        self._spent.count(profile, finish.usage, reply)
        # No warning if the turn ends with an error, because the error reports the cut answer. Otherwise warn
        # here.
        cut = cut_message(finish.finish_reason) if _is_warned(finish.finish_reason, self._inbox) else ""
        for message in (*map(visible, finish.warnings), cut):
            if message:
                self._emitter.emit(Warning(message, finish.finish_reason.kind))
        return replace(
            progress,
            answer=reply.turn,
            call_ids=reply.answer.event_ids,
            early=early.started,
            parsed=early.parsed,
            has_overflowed=False,
        )

    async def _read_answer(
        self, request: Request, profile: ProviderProfile, config: SessionConfig, sent_tokens: int
    ) -> tuple[ModelReply, EarlyCalls]:
        """Read the model's answer, and run its early calls. The calls of an answer that breaks off get results."""
        early = EarlyCalls(self._dispatcher, profile, config, self._ports.environment)
        broken: list[tuple[AssistantTurn, InputProgress, str]] = []

        def note(turn: AssistantTurn, call_ids: tuple[ToolCallId, ...], why: str) -> None:
            progress = InputProgress(turn, call_ids, early=early.started, parsed=early.parsed)
            broken.append((turn, progress, BROKEN.format(why=visible(why))))

        asking = self._model.ask(
            request,
            config.retry,
            streaming=profile.supports_streaming,
            on_call=early.offer,
            on_cut=partial(self._spent.count_cut, profile, sent_tokens),
            on_broken=note,
        )
        try:
            return await early.read_while_running(asking), early
        finally:  # also if the turn is stopped while an early call ends
            for turn, progress, reason in broken:
                self._answer_calls(profile, config, turn.tool_calls, progress, reason)

    async def _recover(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        progress: InputProgress,
        error: LlmError,
        request_tokens: int,
    ) -> InputProgress | None:
        """Change the conversation so that a refused request may succeed; None if `error` allows no further try."""
        if refuses_reasoning(error) and self.history.drop_reasoning():
            self._emitter.emit(Warning(REASONING_DROPPED, "reasoning_dropped"))
            return progress
        if refuses_images(error) and self.history.drop_images():
            self._emitter.emit(Warning(IMAGES_DROPPED, "images_dropped"))
            return progress
        if isinstance(error, RequestTooLargeError) and (
            self.history.drop_earlier_images() or self.history.drop_images()
        ):
            self._emitter.emit(Warning(IMAGES_TOO_LARGE, "images_dropped"))
            return progress
        if progress.has_overflowed or not is_overflow(error, request_tokens, profile.context_window_tokens):
            return None
        spent = await self.context.make_room_for_refused(profile, config)
        if spent is None:
            return None
        self._spent.count(profile, spent.usage, by=spent.profile)
        return replace(progress, has_overflowed=True)

    # --- tools

    async def _run_tools(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        parts: Sequence[ToolCallPart],
        progress: InputProgress,
    ) -> InputProgress:
        """Run the calls of an answer and record their results."""
        calls = _calls(parts, progress)
        for call in calls:
            if call.known and call.known.ended:
                self._dispatcher.take_up(call, call.known.ended, profile)
        try:
            await run_round(calls, self._dispatcher, profile, config, self._ports.environment)
        finally:  # also after a cancellation: an interrupted round has all results, a suspended round lacks some
            if all(call.outcome for call in calls):
                self._record_results(calls)
        done = outcomes(calls)
        for outcome in done:
            if outcome.usage:
                self._spent.count(profile, outcome.usage)
        return replace(
            progress,
            rounds=progress.rounds + 1,
            ended_by=next((outcome.ends_loop for outcome in done if outcome.ends_loop), None),
            was_denied=progress.was_denied or any(outcome.was_denied for outcome in done),
            had_effect=progress.had_effect or any(outcome.had_effect for outcome in done),
            known=(),
            early={},
            parsed={},
        )

    def _answer_calls(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        parts: Sequence[ToolCallPart],
        progress: InputProgress,
        reason: str,
    ) -> InputProgress:
        """Give each call of an incomplete answer a result without running it."""
        calls = _calls(parts, progress)
        for call in calls:
            if call.outcome:
                self._dispatcher.fail_early_call(call, f"The result of this call was dropped. {reason}")
            else:
                self._dispatcher.answer(call, profile, config, f"Not run. {reason}", "not_run")
        self._record_results(calls)
        return replace(progress, rounds=progress.rounds + 1, early={}, parsed={})

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
            self._emitter.emit(LoopDetection(message))

    # --- messages and usage

    def _inject_steers(self) -> None:
        while self._inbox.steers:
            steer = self._inbox.pop_steer()
            self.record(SteeringTurn(steer.text, self._ports.clock.now(), images=steer.images))
            self._emitter.emit(SteeringInjected(steer.id, steer.text))

    def report_call(self, by: ProviderProfile, usage: Usage) -> None:
        """Count the tokens of a model call of this session outside of its turns."""
        self._spent.count(self.profile, usage, by=by)

    def count_cut(self, by: ProviderProfile, sent_tokens: int, received_chars: int) -> None:
        """Count a model call that was cut; see CallCounter."""
        self._spent.count_cut(self.profile, sent_tokens, received_chars, by=by)

    def count_killed(self, received_chars: int) -> None:
        """Count the model call that ran when an earlier process of this session ended."""
        self._spent.count_cut(self.profile, self.context.measure(self._config()).total, received_chars)


def _is_warned(finish: FinishReason, inbox: Inbox) -> bool:
    return finish.kind == "length" or bool(inbox.steers)


def _calls(parts: Sequence[ToolCallPart], progress: InputProgress) -> list[Call]:
    known = progress.known or (None,) * len(parts)
    return [
        progress.early.get(index)
        or Call(part, id_, index, len(parts) == 1, known[index], parsed=progress.parsed.get(index))
        for index, (part, id_) in enumerate(zip(parts, progress.call_ids, strict=True))
    ]
