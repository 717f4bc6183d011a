"""The session: its life, its states, its queues, and how it is stopped. turn_loop.py does the work of an input.

Life: `async with anyio.create_task_group() as tg: tg.start_soon(session.run)`. All other methods are plain calls
from the event loop's thread: they change queues, wake `run`, and return at once. `run` returns when it is CLOSED.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.approval import Approver
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.errors import SessionBusyError, SessionClosedError
from agent_ls.loop.events import (
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
    Warning,
)
from agent_ls.loop.failures import failure_of, internal_error
from agent_ls.loop.history import History
from agent_ls.loop.ids import QueuedId, SessionId, SteerId, TurnId, new_id
from agent_ls.loop.inbox import Input, QueueChange, StartNow, Steer
from agent_ls.loop.questions import QuestionDesk, resting_state
from agent_ls.loop.redaction import Known, none_known, redacted
from agent_ls.loop.restored import Restored, Submitted, Suspended
from agent_ls.loop.seams import (
    BasePrompt,
    Clock,
    ModelClient,
    NoReviews,
    NoSurroundings,
    NoticeBoard,
    PromptSource,
    Recorder,
    Reviews,
    Surroundings,
)
from agent_ls.loop.session_parts import Answers, assemble, last_look
from agent_ls.loop.settling import settle
from agent_ls.loop.subagents import ProfileFor
from agent_ls.loop.subscription import Subscription
from agent_ls.loop.terminals import Terminals
from agent_ls.loop.turn_loop import Ports
from agent_ls.loop.turns import Turn, UserTurn
from agent_ls.profiles.base import ProviderProfile

logger = logging.getLogger(__name__)

WhenBusy: TypeAlias = Literal["queue", "steer", "refuse"]
AppliesFrom: TypeAlias = Literal["now", "nextCall", "nextTurn"]

WALKTHROUGH = "walkthrough"


class Session:
    """One conversation with one model at a time. Public attributes are for reading.

    `profile` is what the next input uses; `last_seq` the number of the last recorded event.
    """

    def __init__(
        self,
        *,
        session_id: SessionId,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        client: ModelClient,
        approver: Approver,
        recorder: Recorder,
        clock: Clock,
        notices: NoticeBoard,
        config: SessionConfig,
        restored: Restored | None = None,
        prompts: PromptSource | None = None,
        surroundings: Surroundings | None = None,
        reviews: Reviews | None = None,
        secrets: Known = none_known,
        before_end: Callable[[], object] = lambda: None,
        on_input: Callable[[str], object] = lambda text: None,
        profile_for: ProfileFor | None = None,
        pinned: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`profile_for` makes the profile of a subagent with a model of its own; without it only the name changes.
        `before_end` is called when a turn or the session is about to end, for last events; `on_input` with the text of
        each input that was told. `secrets` are keys that nobody may see, `pinned` texts that a compaction keeps.
        """
        self.id = session_id
        self.profile = profile
        self.config = config
        self._restored = restored
        known = restored or Restored((), 0)
        self.questions = QuestionDesk(lambda event: self.emit(event))
        self._ports = Ports(
            client,
            environment,
            approver,
            recorder,
            clock,
            notices,
            prompts or BasePrompt(),
            surroundings or NoSurroundings(),
            reviews or NoReviews(),
            self.questions,
            secrets,
            pinned,
        )
        parts = assemble(
            session_id,
            self._ports,
            known,
            profile,
            lambda: self.config,
            profile_for or (lambda provider, model: replace(self.profile, model=model)),
        )
        self._hub = parts.hub
        self._inbox = parts.inbox
        self._shared = parts.shared
        self._tasks = parts.tasks
        self._agents = parts.agents
        self._loop = parts.loop
        self._before_end = before_end
        self._on_input = on_input
        self._suspended = known.suspended
        for question in known.suspended.questions if known.suspended else ():
            self.questions.restore(question)
        self._suspended_profile = profile if known.suspended else None
        self._answers = Answers(known.answers)
        self._state: State = "IDLE"
        self._has_started = False
        self._has_input = False
        self._is_compacting = False
        self._is_closing = False
        self._is_held = False
        self._stop: Literal["interrupted", "aborted"] | None = None
        self._end_reason: EndReason = "completed"
        self._scope: anyio.CancelScope | None = None
        self._wake = anyio.Event()

    # --- facts

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_busy(self) -> bool:
        """A turn runs, or waits for a person."""
        return self._has_input

    @property
    def is_stopped(self) -> bool:
        """The user has ended the turn: what it asks is void. If it ends otherwise, a person may be asked still."""
        return self._stop is not None

    @property
    def is_closing(self) -> bool:
        """CLOSED, or on the way there: it takes no input any more."""
        return self._is_closing or self._state == "CLOSED"

    @property
    def last_seq(self) -> int:
        return self._hub.last_seq

    @property
    def turn_id(self) -> TurnId:
        """The running turn's id, "" when none runs."""
        return TurnId(self._hub.turn_id)

    @property
    def usage(self) -> Usage:
        return self._loop.usage

    @property
    def plan(self) -> PlanChanged | None:
        """As the model last gave it, also before a resume; None before it does."""
        return self._loop.plan

    @property
    def history(self) -> History:
        return self._loop.history

    @property
    def queue(self) -> tuple[Input, ...]:
        return self._inbox.queue

    @property
    def steering(self) -> tuple[Steer, ...]:
        return self._inbox.steers

    @property
    def terminals(self) -> Terminals:
        return self._shared.terminals

    # --- what the user does

    def submit(
        self,
        text: str,
        *,
        images: Sequence[ImagePart] = (),
        when_busy: WhenBusy = "queue",
        client_key: str = "",
    ) -> Submitted:
        """Starts a turn, or does as `when_busy` says while one runs; an open question is answered by it (L15).

        A known `client_key` is answered as before.

        Raises:
            SessionClosedError, SessionBusyError (`when_busy` is "refuse").
        """
        if known := self._answers.of(client_key):
            return known
        self._demand_open()
        item = Input(text, tuple(images), client_key)
        asked = self.questions.pending() if text.strip() and not images and not self._stop else ()
        if asked:
            self.questions.reply(asked[0], text, client_key)
            answer = Submitted(turn_id=self.turn_id)
        elif not self.is_busy and not self._is_held:
            self._inbox.release()
            answer = Submitted(turn_id=self._begin(item))
            self._wake.set()
        elif when_busy == "refuse":
            raise SessionBusyError(self.id)
        elif when_busy == "steer" and self.is_busy and not (self._stop or self._is_compacting):
            answer = Submitted(steer_id=self._queue_steer(item))
        else:
            answer = Submitted(queued_id=self._queue_input(item))
        return self._answers.keep(client_key, answer)

    def steer(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> SteerId:
        """For the model's next call; while IDLE, for the first call of the next input (L6).

        Raises:
            SessionClosedError.
        """
        if known := self._answers.of(client_key):
            return SteerId(known.steer_id)
        self._demand_open()
        steer_id = self._queue_steer(Input(text, tuple(images), client_key))
        self._answers.keep(client_key, Submitted(steer_id=steer_id))
        return steer_id

    def unsteer(self, steer_id: str) -> bool:
        """Takes back a steer that waits; False when it is in the history already, or was never there."""
        removed = self._inbox.remove_steer(steer_id)
        if removed:
            self.emit(SteeringRemoved(steer_id))
        return removed

    def follow_up(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> QueuedId:
        """For after the current input; at once when nothing runs (000 section 2.6).

        Raises:
            SessionClosedError.
        """
        if known := self._answers.of(client_key):
            return QueuedId(known.queued_id)
        self._demand_open()
        queued_id = self._queue_input(Input(text, tuple(images), client_key))
        self._answers.keep(client_key, Submitted(queued_id=queued_id))
        return queued_id

    def change_queue(self, change: QueueChange) -> bool:
        """False when one of the messages that it names waits no longer; then nothing is changed.

        Raises:
            SessionClosedError.
        """
        self._demand_open()
        if not self._inbox.change(change):
            return False
        self.emit(self._inbox.changed())
        if isinstance(change, StartNow):
            self.interrupt()
            self._inbox.release()
            self._wake.set()
        return True

    def compact(self, instructions: str = "", *, client_key: str = "") -> str:
        """Makes room in the conversation: before the next model call of a running turn, else at once (L13). The id of
        the compaction, whose events tell the rest. `instructions`: what the summary is to dwell on.

        Raises:
            SessionClosedError, CompactionOffError, NothingToCompactError.
        """
        if known := self._answers.of(client_key):
            return known.compaction_id
        self._demand_open()
        compaction_id = self._loop.context.compactor.ask(self.config, instructions, client_key)
        self._wake.set()
        return self._answers.keep(client_key, Submitted(compaction_id=compaction_id)).compaction_id

    def interrupt(self) -> None:
        """The turn ends, the session lives. What is queued then waits until the user sends something."""
        if self.is_busy and not self._stop:
            self._inbox.hold()
            self._cancel_turn("interrupted")

    def abort(self) -> None:
        """The session ends (CLOSED), and its turn first. It can be resumed from its log."""
        if self.is_closing:
            return
        self._is_closing = True
        if self.is_busy:
            self._cancel_turn("aborted")
        self._wake.set()

    def configure(
        self, *, profile: ProviderProfile | None = None, config: SessionConfig | None = None
    ) -> AppliesFrom:
        """A config holds from the next model call (L2, L7), a profile from the next input (O6)."""
        if config is not None:
            self.config = config
        if profile is not None:
            self.profile = profile
        if not self.is_busy:
            return "now"
        return "nextTurn" if profile is not None else "nextCall"

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nothing begins while this is held: what is sent meanwhile is queued, and begins afterwards.

        Raises:
            SessionBusyError: a turn runs, or somebody else holds it. SessionClosedError.
        """
        self._demand_open()
        if self.is_busy or self._is_held:
            raise SessionBusyError(self.id)
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self._wake.set()

    def go_back(self, turns: Sequence[Turn], plan: PlanChanged | None, event: Reverted) -> None:
        """The conversation is this one now (X10); `event` tells of it. To be called while `at_rest` is held."""
        self.emit(event)
        if plan != self.plan:
            self.emit(plan or PlanChanged("", ()))
        self._loop.go_back(turns, plan)

    # --- what it tells

    def emit(self, event: RecordedEvent) -> Envelope:
        """Numbers, records and publishes an event; for those who know more of the session's world (ledger, desk)."""
        self.start()
        envelope = self._hub.emit(event)
        if self.is_busy and not self._stop:
            if isinstance(event, QuestionAsked):
                self._set_state("AWAITING_INPUT")
            elif self._state == "AWAITING_INPUT" and self._goes_on(event):
                self._set_state("PROCESSING")
        return envelope

    def _goes_on(self, event: RecordedEvent) -> bool:
        """Whether this is what the turn has waited for: an answer, or the last verdict of a suspended one."""
        if self.questions.pending():
            return False
        return isinstance(event, ApprovalResolved | QuestionAnswered) or (
            isinstance(event, HunkStateChanged) and not self._hub.asked
        )

    def emit_delta(self, delta: Delta) -> None:
        self._hub.emit_delta(delta)

    def subscribe(self) -> Subscription:
        """Events from now on. Read the log up to `last_seq` first; both are in step within one tick."""
        return self._hub.subscribe()

    def open_parts(self) -> tuple[Delta, ...]:
        """The text so far of each open part, as a delta from offset 0."""
        return self._hub.open_parts()

    def agent_of_part(self, part_id: str) -> str:
        """The subagent that an open part belongs to, "" for the main agent."""
        return self._hub.agent_of_part(part_id)

    # --- its life

    def start(self) -> None:
        """SESSION_START comes before everything, after what a cut turn of a resumed session still lacked.

        Done by `run` and by the first event at the latest; whoever opens a stored session may want it told at once.
        """
        if self._has_started:
            return
        self._has_started = True
        if self._restored:
            settle(self._restored.settlement, self._hub, self._loop.record)
        self._hub.emit(
            SessionStart(
                provider=self.profile.id,
                model=self.profile.model,
                working_directory=self._ports.environment.working_directory(),
                resumed=self._restored is not None,
                is_walkthrough=self.profile.id == WALKTHROUGH,
            )
        )
        if self._suspended:
            self._take_up(self._suspended)
        elif self._restored and self._restored.was_closed:
            self._hub.emit(StateChanged("IDLE"))

    def _take_up(self, suspended: Suspended) -> None:
        """The turn of the stored session waits again, as it waited when its process ended."""
        self._has_input = True
        self._inbox.release()  # its turn runs: what is queued follows it, as it would have
        self._hub.turn_id = suspended.turn_id
        self._hub.ask_again(suspended.asked, suspended.questions, suspended.proposed)
        self._set_state("AWAITING_INPUT")

    async def run(self) -> None:
        """Works off inputs until the session is CLOSED. Cancelling it closes the session in good order (R2): a turn
        that waits for a person is suspended, any other is interrupted (R4).
        """
        self.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._hub.keep_partials)
                self.terminals.attend(group)
                self._tasks.attend(group)
                await self._live(group)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True), self._hub.ending():  # short: the log must be whole
                await last_look(self._ports.notices)
                self._close()
                await self._ports.recorder.sync()

    async def _live(self, group: TaskGroup) -> None:
        while self._has_input or self._is_held or not self._is_closing:
            if self._has_input or self._maybe_begin_next() or self._maybe_begin_compaction():
                await self._work()
                group.start_soon(self._ports.recorder.sync)
                continue
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _work(self) -> None:
        """One input and the follow-ups behind it, up to PROCESSING_END."""
        reason: EndReason = "interrupted"
        with anyio.CancelScope() as self._scope:
            if self._stop:
                self._scope.cancel()
            reason = await self._work_off()
        self._settle(self._stop or reason)

    async def _work_off(self) -> EndReason:
        while True:
            reason, may_go_on = await self._one_input()
            if not may_go_on and not self._stop:  # else the user has said what of the queue goes on
                self._inbox.hold()
            if not self._maybe_begin_next():
                return reason

    async def _one_input(self) -> tuple[EndReason, bool]:
        """How it ended, and whether the queue may go on behind it."""
        try:
            # A turn goes on with the profile that it began with.
            profile, self._suspended_profile = self._suspended_profile or self.profile, None
            work = self._loop.compact if self._is_compacting else self._loop.run
            finish = await work(profile)
        except LlmError as error:
            self._fail(error)
            return "error", False
        except Exception as error:  # the last resort: nothing malformed may end the session (R5)
            logger.exception("a turn of session %s failed", self.id)
            self._hub.emit(internal_error(error))
            return "error", False
        finally:
            self._is_compacting = False
        return finish.reason, finish.reason != "error" and finish.limit not in ("turns", "budget")

    def _fail(self, error: LlmError) -> None:
        failure = failure_of(error)
        if failure.warning:
            self._hub.emit(Warning(failure.warning, error.kind))
        self._hub.emit(failure.error)
        self._is_closing = self._is_closing or failure.closes

    def _begin(self, item: Input) -> TurnId:
        self.start()
        self._has_input = True
        turn_id = TurnId(new_id("t"))
        self._hub.turn_id = turn_id
        self._set_state("PROCESSING")
        self._shared.budget.begin()
        self._loop.take_notices()
        context = redacted(self._ports.surroundings.news(), self._ports.secrets())
        self._loop.record(UserTurn(item.text, self._ports.clock.now(), item.images, context))
        self._hub.emit(UserInput(item.text, item.client_key, item.queued_id))
        self._on_input(item.text)
        return turn_id

    def _maybe_begin_next(self) -> bool:
        if self._stop or self._is_closing or self._is_held or not self._inbox.has_next:
            return False
        self._begin(self._inbox.pop())
        self._hub.emit(self._inbox.changed())  # afterwards: a crash between the two must not lose the input
        return True

    def _maybe_begin_compaction(self) -> bool:
        """As a turn without an input: it can be seen and stopped like any other."""
        if self._is_closing or self._is_held or not self._loop.context.compactor.is_wanted:
            return False
        self._has_input = self._is_compacting = True
        self._hub.turn_id = TurnId(new_id("t"))
        self._set_state("PROCESSING")
        return True

    def _settle(self, reason: EndReason) -> None:
        """The turn is over: nothing of it is told after PROCESSING_END."""
        self._before_end()
        self._has_input = self._is_compacting = False
        if self._stop:
            self._loop.context.compactor.forget()
        self._stop = None
        self._scope = None
        self._end_reason = reason
        rest = resting_state(reason, self.history.turns, self._inbox.queue)
        self._set_state("CLOSED" if self._is_closing else rest)
        self._hub.emit(ProcessingEnd(reason))
        self._hub.turn_id = ""

    def _close(self) -> None:
        """SESSION_END, and before it the end of a turn that was cancelled from outside, unless a person is asked."""
        self._is_closing = True
        self.terminals.close()
        is_suspended = self._has_input and bool(self._hub.asked)
        if self._has_input and not is_suspended:
            self._settle(self._stop or "interrupted")
        elif self._state != "CLOSED":
            self._before_end()
            self._end_reason = "completed"
            self._set_state("CLOSED")
        self._hub.emit(SessionEnd(self._state, "suspended" if is_suspended else self._end_reason))

    def _cancel_turn(self, why: Literal["interrupted", "aborted"]) -> None:
        self._stop = why
        self.questions.stop()
        self._agents.stop()
        if self._scope:
            self._scope.cancel()

    def _set_state(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._hub.emit(StateChanged(state))

    def _queue_steer(self, item: Input) -> SteerId:
        steer = Steer(SteerId(new_id("st")), item.text, item.images, item.client_key)
        self._inbox.add_steer(steer)
        self._agents.nudge()
        self.emit(SteeringQueued(steer.id, steer.text, steer.client_key))
        return steer.id

    def _queue_input(self, item: Input) -> QueuedId:
        queued_id = QueuedId(new_id("q"))
        queued = Input(item.text, item.images, item.client_key, queued_id)
        if self._stop:
            self._inbox.add_next(queued)
        else:
            self._inbox.add(queued)
        self.emit(self._inbox.changed())
        self._wake.set()
        return queued_id

    def _demand_open(self) -> None:
        if self.is_closing:
            raise SessionClosedError(self.id)
