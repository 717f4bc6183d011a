"""A session: its lifecycle, its states and queues, and how it is stopped. turn_loop.py processes a single input.

Lifecycle: `async with anyio.create_task_group() as tg: tg.start_soon(session.run)`. All other methods are
synchronous and must be called in the event loop's thread: they change queues, wake `run`, and return at once.
`run` returns when the session is CLOSED.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.dispatch import BY_CLOSING, BY_USER
from agent_ls.loop.calls.redaction import redacted
from agent_ls.loop.calls.terminals import SessionTerminals
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.errors import SessionBusyError, SessionClosedError
from agent_ls.loop.events.subscription import Subscription
from agent_ls.loop.events.types import (
    ApprovalResolved,
    Delta,
    EndReason,
    Envelope,
    HunkStateChanged,
    PlanChanged,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    RecordedEvent,
    Reverted,
    SessionEnd,
    SessionStart,
    State,
    StateChanged,
    SteeringQueued,
    SteeringRemoved,
    UserInput,
)
from agent_ls.loop.ids import QueuedId, SessionId, SteerId, TurnId, new_id
from agent_ls.loop.inbox import Input, QueueChange, QueuedSteer, StartNow
from agent_ls.loop.model.failures import failure_of, internal_error
from agent_ls.loop.ports import Ports
from agent_ls.loop.questions import PendingQuestions, resting_state
from agent_ls.loop.rest import Rest
from agent_ls.loop.restored import RestoredSession, Submitted, SuspendedTurn, emit_missing_records
from agent_ls.loop.session_parts import SubmitResults, assemble, collect_last_notices, suspended_profile
from agent_ls.loop.turns import Turn, UserTurn
from agent_ls.profiles.base import ProfileFor, ProviderProfile

logger = logging.getLogger(__name__)

WhenBusy: TypeAlias = Literal["queue", "steer", "refuse"]
AppliesFrom: TypeAlias = Literal["now", "nextCall", "nextTurn"]

WALKTHROUGH = "walkthrough"


@dataclass(frozen=True, slots=True)
class Listeners:
    """Functions that a session calls. `on_input` is called with the text of each user message. `before_end`
    is called before a turn or the session ends, so that other services can emit their last events.
    """

    on_input: Callable[[str], object] = lambda text: None
    before_end: Callable[[], object] = lambda: None


NO_LISTENERS = Listeners()


class Session:
    """One conversation with one model at a time. Public attributes are read-only for callers. `profile` is
    the profile for the next message of the user; `last_seq` is the number of the last recorded event.
    """

    def __init__(
        self,
        *,
        session_id: SessionId,
        profile: ProviderProfile,
        config: SessionConfig,
        ports: Ports,
        restored: RestoredSession | None = None,
        listeners: Listeners = NO_LISTENERS,
        profile_for: ProfileFor | None = None,
    ) -> None:
        """Create a session that starts when `run` is called. `profile_for` returns the profile for a subagent that
        uses another model; by default only the model name changes."""
        self.id = session_id
        self.profile = profile
        self.config = config
        self.restored = restored
        known = restored or RestoredSession((), 0)
        self.questions = PendingQuestions(lambda event: self.emit(event), ports.answer_limit)
        self._ports = replace(ports, questions=self.questions)
        profile_for = profile_for or (lambda provider, model: replace(self.profile, model=model))
        parts = assemble(session_id, self._ports, known, profile, lambda: self.config, profile_for)
        self._emitter = parts.emitter
        self._inbox = parts.inbox
        self._shared = parts.shared
        self._tasks = parts.tasks
        self.agents = parts.agents
        self._loop = parts.loop
        self._listeners = listeners
        self._suspended = known.suspended
        for question in known.suspended.questions if known.suspended else ():
            self.questions.restore(question)
        self._suspended_profile = suspended_profile(known.suspended, profile, profile_for)
        self._answers = SubmitResults(known.answers)
        self._state: State = "IDLE"
        self._has_started = False
        self._has_input = False
        self._is_compacting = False
        self._is_closing = False
        self.rest = Rest(lambda: self._wake.set())
        self._stop: Literal["interrupted", "aborted"] | None = None
        self.cut_reason: EndReason = "interrupted"  # of a turn during which the task of `run` is cancelled
        self._end_reason: EndReason = "completed"
        self._scope: anyio.CancelScope | None = None
        self._wake = anyio.Event()

    # --- properties

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running or waiting for the user."""
        return self._has_input

    @property
    def is_stopped(self) -> bool:
        """Whether the user has stopped the running turn, which withdraws its open questions."""
        return self._stop is not None

    @property
    def is_closing(self) -> bool:
        """Whether the session is closed or about to close. Such a session accepts no messages."""
        return self._is_closing or self._state == "CLOSED"

    @property
    def last_seq(self) -> int:
        return self._emitter.last_seq

    @property
    def turn_id(self) -> TurnId:
        """The id of the running turn, "" if none is running."""
        return TurnId(self._emitter.turn_id)

    @property
    def usage(self) -> Usage:
        return self._loop.usage

    @property
    def cost_usd(self) -> float | None:
        """Cost of all model calls, None if the price of a call is unknown."""
        return self._shared.spending.cost_usd

    @property
    def known_cost_usd(self) -> float:
        return self._shared.spending.known_usd

    @property
    def plan(self) -> PlanChanged | None:
        """The latest plan of the model, possibly restored from the log; None if the model has made no plan."""
        return self._loop.plan

    @property
    def history(self) -> ConversationHistory:
        return self._loop.history

    @property
    def queue(self) -> tuple[Input, ...]:
        return self._inbox.queue

    @property
    def steering(self) -> tuple[QueuedSteer, ...]:
        return self._inbox.steers

    @property
    def terminals(self) -> SessionTerminals:
        return self._shared.terminals

    # --- actions of the user

    def submit(
        self,
        text: str,
        *,
        images: Sequence[ImagePart] = (),
        when_busy: WhenBusy = "queue",
        client_key: str = "",
    ) -> Submitted:
        """Start a turn with this message; if a turn is running, do what `when_busy` says.

        If the model has asked a question, a text-only message answers that question instead; at a limit, only the
        text of a choice does. If `client_key` was used before, this method only returns the earlier result.

        Raises:
            SessionClosedError: the session is closed.
            SessionBusyError: a turn is running and `when_busy` is "refuse".
        """
        if known := self._answers.find(client_key):
            return known
        self._check_open()
        item = Input(text, tuple(images), client_key)
        if text.strip() and not images and not self._stop and self.questions.reply(text, client_key):
            answer = Submitted(turn_id=self.turn_id)
        elif not self.is_busy and not self.rest.is_held:
            self._inbox.release()
            answer = Submitted(turn_id=self._begin(item))
            self._wake.set()
        elif when_busy == "refuse":
            raise SessionBusyError(self.id)
        elif when_busy == "steer" and self.is_busy and not (self._stop or self._is_compacting):
            answer = Submitted(steer_id=self._queue_steer(item))
        else:
            answer = Submitted(queued_id=self._queue_input(item))
        return self._answers.store(client_key, answer)

    def find_submitted(self, client_key: str) -> Submitted | None:
        """Return the result of the message with this key, None if there is none."""
        return self._answers.find(client_key)

    def steer(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> SteerId:
        """Queue a message for the next model call. In an idle session, that is the first call of the next
        turn. Raises SessionClosedError.
        """
        if known := self._answers.find(client_key):
            return SteerId(known.steer_id)
        self._check_open()
        steer_id = self._queue_steer(Input(text, tuple(images), client_key))
        self._answers.store(client_key, Submitted(steer_id=steer_id))
        return steer_id

    def unsteer(self, steer_id: str) -> bool:
        """Remove a queued steer. Returns False if the steer is already in the history or never existed."""
        removed = self._inbox.remove_steer(steer_id)
        if removed:
            self.emit(SteeringRemoved(steer_id))
        return removed

    def follow_up(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> QueuedId:
        """Queue a message for a turn after the running one, or at once without one. Raises SessionClosedError."""
        if known := self._answers.find(client_key):
            return QueuedId(known.queued_id)
        self._check_open()
        queued_id = self._queue_input(Input(text, tuple(images), client_key))
        self._answers.store(client_key, Submitted(queued_id=queued_id))
        return queued_id

    def change_queue(self, change: QueueChange) -> bool:
        """Edit the queue. Returns False and changes nothing if the queue no longer contains a message that
        `change` names. Raises SessionClosedError if the session is closed.
        """
        self._check_open()
        if not self._inbox.apply_change(change):
            return False
        self.emit(self._inbox.make_event())
        if isinstance(change, StartNow):
            self.interrupt()
            self._inbox.release()
            self._wake.set()
        return True

    def compact(self, instructions: str = "", *, client_key: str = "") -> str:
        """Compact the conversation: before the next model call of a running turn, otherwise at once.

        Returns the id of the compaction; its events report the outcome. `instructions` say what the
        summary should focus on.

        Raises:
            SessionClosedError, CompactionOffError, NothingToCompactError.
        """
        if known := self._answers.find(client_key):
            return known.compaction_id
        self._check_open()
        compaction_id = self._loop.context.compactor.ask(self.config, instructions, client_key)
        self._wake.set()
        return self._answers.store(client_key, Submitted(compaction_id=compaction_id)).compaction_id

    def interrupt(self) -> None:
        """End the running turn or roll back; the session continues. Queued messages wait until the user sends one."""
        self.rest.stop()
        if self.is_busy and not self._stop:
            self._inbox.hold()
            self._cancel_turn("interrupted")
        elif self._state == "AWAITING_INPUT" and not self.is_busy:  # the last answer ended with a question
            self._set_state("IDLE")

    def abort(self) -> None:
        """End the running turn and close the session. The session can be resumed from its log."""
        if self.is_closing:
            return
        self._is_closing = True
        if self.is_busy:
            self._cancel_turn("aborted")
        self._wake.set()

    def configure(
        self, *, profile: ProviderProfile | None = None, config: SessionConfig | None = None
    ) -> AppliesFrom:
        """Change the config from the next model call, or the profile from the next message of the user."""
        if config is not None:
            self.config = config
        if profile is not None:
            self.profile = profile
        if not self.is_busy:
            return "now"
        return "nextTurn" if profile is not None else "nextCall"

    def replace_profile(self, profile: ProviderProfile) -> None:
        """Change the profile, also of a running turn that has not called a model yet."""
        self.profile = profile
        self._loop.replacement = profile

    def at_rest(self) -> Rest:
        """Prevent turns from starting inside the `with` block. Messages sent during the block are queued.

        `interrupt` and the end of `run` cancel the block, and the code after it runs.

        Raises:
            SessionBusyError: a turn is running, or another caller is inside this block.
            SessionClosedError: the session is closed.
        """
        self._check_open()
        if self.is_busy or self.rest.is_held:
            raise SessionBusyError(self.id)
        return self.rest

    def go_back(self, turns: Sequence[Turn], plan: PlanChanged | None, event: Reverted) -> None:
        """Replace conversation and plan by an earlier state, and emit `event`. Call this inside `at_rest`."""
        self.emit(event)
        if plan != self.plan:
            self.emit(plan or PlanChanged("", ()))
        self._loop.go_back(turns, plan)

    # --- events

    def emit(self, event: RecordedEvent) -> Envelope:
        """Number, record and publish an event. Also called by services outside the session, for example the review."""
        self.start()
        envelope = self._emitter.emit(event)
        if self.is_busy and not self._stop:
            if isinstance(event, QuestionAsked):
                self._set_state("AWAITING_INPUT")
            elif self._state == "AWAITING_INPUT" and self._is_continuation(event):
                self._set_state("PROCESSING")
        return envelope

    def _is_continuation(self, event: RecordedEvent) -> bool:
        """Whether `event` makes the waiting turn continue: an answer, or the last decision about proposed changes."""
        if self.questions.pending():
            return False
        return isinstance(event, ApprovalResolved | QuestionAnswered) or (
            isinstance(event, HunkStateChanged) and event.by != "look" and not self._emitter.waiting_calls
        )

    def emit_delta(self, delta: Delta) -> None:
        self._emitter.emit_delta(delta)

    def report_call(self, by: ProviderProfile, usage: Usage) -> None:
        """Count the tokens of a model call outside of the turns, such as that for the title."""
        self._loop.report_call(by, usage)

    def subscribe(self, *, open_parts: bool = False) -> Subscription:
        """Subscribe to events from now on, with `open_parts` first to the text of each open part, as a delta. Read
        the log up to `last_seq` first. Without an `await` in between, no event is missed or repeated.
        """
        return self._emitter.subscribe(open_parts=open_parts)

    def open_parts(self) -> tuple[Delta, ...]:
        """The current text of each open part, as a delta from offset 0."""
        return self._emitter.open_parts()

    def agent_of_part(self, part_id: str) -> str:
        """Return the id of the subagent to which an open part belongs, "" for the main agent."""
        return self._emitter.agent_of_part(part_id)

    # --- lifecycle

    def start(self) -> None:
        """Emit session_start, on resume after the missing end events of its last turn. `run` and `emit` call this."""
        if self._has_started:
            return
        self._has_started = True
        if self.restored:
            loop, count_agent = self._loop, self.agents.count_killed
            emit_missing_records(
                self.restored.missing, self._emitter, loop.record, loop.count_killed, count_agent
            )
        self._emitter.emit(
            SessionStart(
                provider=self.profile.id,
                model=self.profile.model,
                working_directory=self._ports.environment.working_directory(),
                resumed=self.restored is not None,
                is_walkthrough=self.profile.id == WALKTHROUGH,
            )
        )
        for warning in self.restored.warnings if self.restored else ():
            self._emitter.emit(warning)  # after session_start, with which a program begins to read
        if self._suspended:
            self._take_up(self._suspended)
        elif self.restored and self.restored.was_closed:
            self._emitter.emit(StateChanged("IDLE"))

    def _take_up(self, suspended: SuspendedTurn) -> None:
        """Continue the suspended turn of a stored session. The turn waits for the same answers again."""
        self._has_input = True
        self._inbox.release()  # this turn counts as running: queued inputs follow it as usual
        self._emitter.turn_id = suspended.turn_id
        self._emitter.ask_again(suspended.asked, suspended.questions, suspended.proposed)
        self._set_state("AWAITING_INPUT")

    async def run(self) -> None:
        """Process inputs until the session is CLOSED. Cancelling this task closes the session properly: a
        turn that waits for the user is suspended, any other turn is interrupted.
        """
        self.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._emitter.keep_partials)
                self.terminals.use_task_group(group)
                self._tasks.use_task_group(group)
                await self._run(group)
                group.cancel_scope.cancel()
        finally:
            # Shielded from cancellation because the log must be complete. Takes little time.
            with anyio.CancelScope(shield=True), self._emitter.ending():
                self._is_closing = True
                await self.rest.end()
                await collect_last_notices(self._ports.notices)
                self._close()
                await self._ports.recorder.sync()

    async def end_before_run(self) -> None:
        """End a session that was closed while its environment started, so that `run` was never called."""
        self.start()
        with self._emitter.ending():
            self._close()
            await self._ports.recorder.sync()

    async def _run(self, group: TaskGroup) -> None:
        while self._has_input or self.rest.is_held or not self._is_closing:
            if self._has_input or self._maybe_begin_next() or self._maybe_begin_compaction():
                await self._work()
                group.start_soon(self._emitter.sync_soon)
                continue
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _work(self) -> None:
        """Process one message of the user and the messages queued after it, and emit the end of processing."""
        reason: EndReason = "interrupted"
        with anyio.CancelScope() as self._scope:
            if self._stop:
                self._scope.cancel()
            reason = await self._run_inputs()
        self._end_turn(self._stop or reason)

    async def _run_inputs(self) -> EndReason:
        while True:
            reason, may_go_on = await self._one_input()
            # After a stop the queue is on hold already, and the user may have released it since then.
            if not may_go_on and not self._stop:
                self._inbox.hold()
            if not self._maybe_begin_next():
                return reason

    async def _one_input(self) -> tuple[EndReason, bool]:
        """Process one message of the user. Returns how the turn ended and whether the queue may continue."""
        try:
            # A turn keeps the profile that it started with.
            profile, self._suspended_profile = self._suspended_profile or self.profile, None
            work = self._loop.compact if self._is_compacting else self._loop.run
            finish = await work(profile)
        except LlmError as error:
            self._fail(error)
            return "error", False
        except Exception as error:  # last resort: no unexpected error may end the session
            logger.exception("a turn of session %s failed", self.id)
            self._emitter.emit(internal_error(error, has_answers=self.history.model_calls > 0))
            return "error", False
        finally:
            self._is_compacting = False
        if finish.error:
            self._emitter.emit(finish.error)
        return finish.reason, finish.reason != "error" and finish.limit not in ("turns", "budget")

    def _fail(self, error: LlmError) -> None:
        failure = failure_of(error, has_answers=self.history.model_calls > 0)
        for event in failure.events:
            self._emitter.emit(event)
        self._is_closing = self._is_closing or failure.closes

    def _begin(self, item: Input) -> TurnId:
        self.start()
        self._has_input = True
        turn_id = TurnId(new_id("t"))
        self._emitter.turn_id = turn_id
        self._set_state("PROCESSING")
        self._shared.budget.begin()
        self._loop.take_notices()
        context = redacted(self._ports.editor_context.news(), self._ports.secrets())
        self._loop.record(UserTurn(item.text, self._ports.clock.now(), item.images, context))
        self._emitter.emit(UserInput(item.text, item.client_key, item.queued_id))
        self._listeners.on_input(item.text)
        return turn_id

    def _maybe_begin_next(self) -> bool:
        if self._stop or self._is_closing or self.rest.is_held or not self._inbox.has_next:
            return False
        self._begin(self._inbox.pop())
        # Emit this event last: a crash between the two events must not lose the input.
        self._emitter.emit(self._inbox.make_event())
        return True

    def _maybe_begin_compaction(self) -> bool:
        """Start a requested compaction as a turn without a user message, so that clients can observe and
        interrupt it.
        """
        if self._is_closing or self.rest.is_held or not self._loop.context.compactor.is_wanted:
            return False
        self._has_input = self._is_compacting = True
        self._emitter.turn_id = TurnId(new_id("t"))
        self._set_state("PROCESSING")
        return True

    def _end_turn(self, reason: EndReason) -> None:
        """End the turn. Emit processing_end as the last event of the turn."""
        self._listeners.before_end()
        self._emitter.emit_facts()
        self._has_input = self._is_compacting = False
        if self._stop:
            self._loop.context.compactor.forget()
        self._stop, self.agents.stopped_by = None, BY_CLOSING
        self._scope = None
        self._end_reason = reason
        rest = resting_state(reason, self.history.turns, self._inbox.queue)
        self._set_state("CLOSED" if self._is_closing else rest)
        self._emitter.emit(ProcessingEnd(reason))
        self._emitter.turn_id = ""

    def _close(self) -> None:
        """End the session. A turn that waits for the user stays suspended; any other turn is ended first."""
        self._is_closing = True
        self.terminals.close()
        is_suspended = self._has_input and bool(self._emitter.waiting_calls)
        if self._has_input and not is_suspended:
            self._end_turn(self._stop or self.cut_reason)
        elif self._state != "CLOSED":
            self._listeners.before_end()
            self._end_reason = "completed"
            self._set_state("CLOSED")
        self._emitter.emit(SessionEnd(self._state, "suspended" if is_suspended else self._end_reason))

    def _cancel_turn(self, why: Literal["interrupted", "aborted"]) -> None:
        self._stop = why
        self.agents.stopped_by = BY_USER if why == "interrupted" else BY_CLOSING
        self.questions.stop()
        self.agents.stop()
        if self._scope:
            self._scope.cancel()

    def _set_state(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._emitter.emit(StateChanged(state))

    def _queue_steer(self, item: Input) -> SteerId:
        steer = QueuedSteer(SteerId(new_id("st")), item.text, item.images, item.client_key)
        self._inbox.add_steer(steer)
        self.agents.nudge()
        self.emit(SteeringQueued(steer.id, steer.text, steer.client_key))
        return steer.id

    def _queue_input(self, item: Input) -> QueuedId:
        queued_id = QueuedId(new_id("q"))
        queued = Input(item.text, item.images, item.client_key, queued_id)
        (self._inbox.add_next if self._stop else self._inbox.add)(queued)
        self.emit(self._inbox.make_event())
        self._wake.set()
        return queued_id

    def _check_open(self) -> None:
        if self.is_closing:
            raise SessionClosedError(self.id)
