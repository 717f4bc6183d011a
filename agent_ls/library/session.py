"""A session of the agent in your own program: open a session, send user messages, and follow the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import anyio
import anyio.to_thread

from agent_ls.library.checks import (
    check_message,
    check_model_providers,
    check_texts,
    read_images,
    rename_limits,
    rename_settings,
    typed,
    unknown_agent,
)
from agent_ls.library.hunks import ProgramHunks
from agent_ls.library.owner import OpenedSession, SessionOwner, cleanup_after
from agent_ls.library.recorded import RecordedSession, read_log, read_turn
from agent_ls.library.replies import as_answer
from agent_ls.library.streams import EventStream, with_origin
from agent_ls.library.turn_answer import read_answer
from agent_ls.library.wrong_use import CLOSE, refuse
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import ApprovalAnswer, UnknownApprovalError
from agent_ls.loop.errors import SessionBusyError, SessionClosedError
from agent_ls.loop.events.types import (
    DECIDED_BY_PROGRAM,
    ApprovalRequested,
    Compaction,
    Hunk,
    QuestionAsked,
    QueueItem,
    State,
)
from agent_ls.loop.inbox import QueueEdit, QueueMove, QueueRemoval, StartNow
from agent_ls.loop.questions import UnknownQuestionError
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.logs import apply_passed_level
from agent_ls.services.settings.layers import layered
from agent_ls.services.settings.model import parse_settings
from agent_ls.sessions.build.tool_limits import check_limits
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.rollback import RollbackRequest, RollbackResult
from agent_ls.sessions.workspaces.worktree import WorktreeFile

NOT_RESTORED = "not_restored"
"""Code of the warning that a roll back left a file unchanged."""


class AgentSession(RecordedSession):
    """A session, returned by `open_session`. Its methods may be called from any task of the event loop that opened it.

    After `close`, only the properties `id`, `tools`, `state`, `usage`, `cost_usd` and `known_cost_usd` can
    be used.
    """

    def __init__(self, owner: SessionOwner, opened: OpenedSession) -> None:
        super().__init__(owner, opened.live)
        self._hunks = ProgramHunks(owner.manager)
        self._opening: OpenedSession | None = opened

    @property
    def _open_live(self) -> LiveSession:
        """The session if it takes messages: `abort` or a failed model call may have ended it before `close`."""
        live = self._live
        if live.session.is_closing:
            raise self._owner.closed_error(self.id)
        return live

    async def close(self) -> None:
        """End the session, and wait until its processes have ended. The session stays stored, and can be resumed.

        May be called from another task than the one that opened the session, and repeatedly.
        """
        self._hunks.stop()
        await self._owner.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a session cannot be copied or pickled: pass its id, and open it by resume=session.id"
        )

    if not TYPE_CHECKING:  # a type checker reports these uses itself
        __enter__ = __exit__ = refuse(CLOSE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True), cleanup_after(error):  # takes a few seconds at most
            await self.close()

    @property
    def id(self) -> str:
        """The session's id. Pass it as `resume` to open the session again."""
        return self._opened.session.id

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return self._opened.session.profile.registry.names()

    @property
    def is_busy(self) -> bool:
        """Whether a turn or a roll back is under way, or a turn waits for the user.

        Await `wait_until_idle()` instead of asking repeatedly.
        """
        session = self._opened.session
        return session.rest.is_held or (
            session.is_busy and session.state != "CLOSED"
        )  # a turn that waits is suspended

    @property
    def state(self) -> State:
        """IDLE, PROCESSING, CLOSED, or AWAITING_INPUT: the agent waits for an answer, or asked in its last text."""
        return self._opened.session.state

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls so far, including those of subagents."""
        return self._opened.session.usage

    @property
    def cost_usd(self) -> float | None:
        """Cost of all model calls so far, by published prices; None if the price of a call is unknown."""
        return self._opened.session.cost_usd

    @property
    def known_cost_usd(self) -> float:
        """Cost of the model calls so far whose price is known: a lower bound of the cost if `cost_usd` is None."""
        return self._opened.session.known_cost_usd

    @typed
    def run(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> EventStream:
        """Start a turn with the user message `text`, and return the events of the turn up to `ProcessingEnd`.

        Use the result in `async for`. The events include those of subagents, whose `agent_id` is not "". The events of
        the first turn begin with those of the opening: `SessionStart` and warnings. Leaving the loop early, also by a
        timeout around it, does not stop the turn; use `interrupt` to stop it.

        A call that repeats a `client_key` starts nothing, and returns the events of the turn with this key, also if an
        earlier program started it.

        Raises:
            SessionBusyError: a turn or a roll back is already running; use `steer` or `follow_up`.
            SessionClosedError: the session is closed.
            BadChoiceError: the message is empty or no text, an image names a file that cannot be read, or the message
                with this `client_key` was queued or steered.
        """
        check_message(text, images)
        session = self._open_live.session
        if known := session.find_submitted(client_key):
            return self._repeat(known.turn_id)
        if session.is_busy or session.rest.is_held:
            raise SessionBusyError(self.id)
        given = read_images(images)  # local files, read before the turn begins
        return self._stream(
            lambda: session.submit(text, images=given, when_busy="refuse", client_key=client_key).turn_id
        )

    def _repeat(self, turn_id: str) -> EventStream:
        """Return the events of a turn from its first one."""
        if not turn_id:
            raise BadChoiceError(
                "client_key: the message with this key was queued or steered", "pass a new key"
            )
        live, last = self._live, self._live.session.last_seq
        events = live.session.subscribe(open_parts=True)
        return EventStream(
            events, self._owner.check_place, load=partial(read_turn, live, turn_id, last), turn_id=turn_id
        )

    @typed
    async def ask(self, text: str, *, images: Sequence[ImagePart] = (), client_key: str = "") -> str:
        """Run a turn with the user message `text`, and return the last text of the main agent.

        A call that repeats a `client_key` starts nothing, and returns the text of the turn with this key.

        If the caller is cancelled, for example by `asyncio.timeout`, the turn is interrupted.

        Raises:
            TurnFailedError: the turn failed or ended at a limit; the message says why.
            SessionClosedError: the session was closed during the turn.
        """
        events = self.run(text, images=images, client_key=client_key)
        turn_id = events.turn_id
        try:
            said, failure = await read_answer(events)
        except anyio.get_cancelled_exc_class():
            if not self._owner.is_closed and self._opened.session.turn_id == turn_id:
                self._opened.session.interrupt()
                # Takes two seconds at most, and then the session is idle.
                with anyio.CancelScope(shield=True):
                    await read_answer(events)
            raise
        if failure:
            if self._opened.session.is_closing:
                failure.add_hint(self._owner.closed_error(self.id).hint)
            raise failure
        if self._owner.is_closed or self._opened.session.is_closing:
            raise self._owner.closed_error(self.id)
        return said

    @typed
    async def wait_until_idle(self) -> None:
        """Wait until no turn or roll back runs, such as the turn that a resumed session continues, or the session ends.

        A turn that waits for `approve` or `reply` runs. Queued messages are turns too.
        """
        session = self._open_live.session
        with session.subscribe() as events:
            while self.is_busy:
                if session.rest.is_held:
                    await session.rest.wait()
                elif await anext(events, None) is None:
                    return

    @typed
    async def expand(self, text: str) -> str:
        """Return a message with the text of the slash command or skill with which it begins, as editors send it.

        Other messages are returned unchanged. Pass the result to `run`, `ask` or `send`.
        """
        return await self._live.skills.expand_message(text)

    @typed
    def events(self, *, since: int | None = None) -> EventStream:
        """Return all events from now on, of all turns, up to the end of the session. Use the result in `async for`.

        With `since`, the events after the one with this `seq` come first: 0 begins with the session's first event, also
        if an earlier program stored it. A text that is streaming comes as one delta from offset 0.

        Each call returns an independent iterator, for one reader.

        Raises:
            BadChoiceError: `since` is negative.
        """
        if since is None:
            return self._stream(lambda: "")
        if since < 0:
            raise BadChoiceError(
                f"since is {since}", "pass the seq of the event that you read last, 0 for all events"
            )
        live, last = self._live, self._live.session.last_seq
        events, self._opening = live.session.subscribe(open_parts=True), None
        return EventStream(events, self._owner.check_place, load=partial(read_log, live, since, last))

    def _stream(self, begin: Callable[[], str]) -> EventStream:
        """Return the events from now on; the first stream also has those of the opening, such as warnings."""
        live, opening, self._opening = self._live, self._opening, None
        events = opening.events if opening else live.session.subscribe()
        events.limit_queue(None)
        try:
            turn_id = begin()
        except BaseException:
            events.close()
            raise
        earlier = opening.earlier if opening else ()
        return EventStream(events, self._owner.check_place, earlier=earlier, turn_id=turn_id)

    @typed
    def send(
        self,
        text: str,
        *,
        images: Sequence[ImagePart] = (),
        when_busy: Literal["steer", "queue", "refuse"] = "steer",
        client_key: str = "",
    ) -> None:
        """Start a turn with the user message `text`, without reading its events. Does not block.

        While a turn runs, `when_busy` says what happens: the message is added to the turn, is queued, or is refused. If
        the model waits for the answer to a question, the message is the answer. A call that repeats a `client_key` does
        nothing, also in a resumed session.

        Raises:
            SessionBusyError: a turn is running, and `when_busy` is "refuse".
        """
        check_message(text, images)
        given = read_images(images)
        session = self._open_live.session
        session.submit(text, images=given, when_busy=when_busy, client_key=client_key)

    @typed
    def steer(self, text: str, *, agent_id: str = "") -> str:
        """Add a user message to the next model call of the running turn. Return the message's id for `unsteer`.

        If no turn is running, the message waits for the next turn; `send` does not wait. With `agent_id`, the message
        goes to this running subagent, and cannot be taken back.

        Raises:
            AppError: the subagent does not run.
        """
        check_texts(text=text)
        if not agent_id:
            return self._open_live.session.steer(text)
        if steer_id := self._live.session.agents.steer_running(agent_id, text):
            return steer_id
        raise unknown_agent(agent_id)

    @typed
    def unsteer(self, steer_id: str) -> bool:
        """Remove a steering message. Return False if the message was already sent to the model."""
        return self._live.session.unsteer(steer_id)

    @typed
    def follow_up(self, text: str) -> str:
        """Queue a user message to run after the current turn. Return the message's id for the queue methods."""
        check_texts(text=text)
        return self._open_live.session.follow_up(text)

    @property
    def queue(self) -> tuple[QueueItem, ...]:
        """The queued messages, in order."""
        return tuple(item.to_queue_item() for item in self._live.session.queue)

    @typed
    def edit_queued(self, queued_id: str, text: str) -> bool:
        """Replace the text of a queued message. All queue methods return False for a message that is not queued."""
        check_texts(text=text)
        return self._open_live.session.change_queue(QueueEdit(queued_id, text, keeps_images=True))

    @typed
    def move_queued(self, queued_id: str, before: str = "") -> bool:
        """Move a queued message before the message `before`; "" moves it to the end of the queue."""
        return self._open_live.session.change_queue(QueueMove(queued_id, before))

    @typed
    def remove_queued(self, queued_id: str) -> bool:
        """Remove a queued message, which is then never sent."""
        return self._open_live.session.change_queue(QueueRemoval(queued_id))

    @typed
    def start_queued(self, queued_id: str) -> bool:
        """Interrupt the running turn and start this message."""
        return self._open_live.session.change_queue(StartNow(queued_id))

    @typed
    def interrupt(self, *, keep_processes: bool = True, agent_id: str = "") -> None:
        """Stop the running turn or roll back, without one a running `review`. The session stays open.

        `keep_processes` False also ends the background processes that the turn started. With `agent_id`, only this
        subagent is stopped, and those that it started; the turn goes on, and the main agent learns of it.

        Raises:
            AppError: the subagent does not run.
        """
        session = self._live.session
        if agent_id:
            if not session.agents.stop_running(agent_id):
                raise unknown_agent(agent_id)
            return
        if not session.is_busy and not session.rest.is_held:
            self._hunks.stop()
        turn_id = session.turn_id
        session.interrupt()
        if turn_id and not keep_processes:
            session.terminals.end_turn(turn_id)

    async def bring_changes(self) -> list[WorktreeFile]:
        """Copy the changes from the session's git worktree to the user's folder.

        In the modes `edits` and `full`, this happens at the end of each turn anyway. Return the files that differed
        until now, including those that were not copied.

        Raises:
            AppError: the session has no worktree, or the changes cannot be copied.
        """
        return await self._live.bring_changes()

    def abort(self) -> None:
        """Stop the running turn and end the session. The session stays stored and can be resumed."""
        self._live.session.abort()
        self._hunks.stop()

    @typed
    async def compact(self, instructions: str = "") -> Compaction:
        """Compact the conversation and return the Compaction event that ends it.

        If a turn is running, the conversation is compacted before the next model call of the turn.

        Raises:
            CompactionOffError: compaction is disabled.
            NothingToCompactError: the conversation is too short.
            SessionClosedError: the session is closed.
        """
        if instructions:
            check_texts(instructions=instructions)
        session = self._open_live.session
        with session.subscribe() as events:
            wanted = session.compact(instructions)
            async for item in events:
                match with_origin(item.envelope):
                    case Compaction(compaction_id=found, status=status) as event if found == wanted:
                        if status != "started":
                            return event
        raise RuntimeError("the session ended before the conversation was compacted")

    @typed
    async def configure(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        mode: Mode | None = None,
        review: ReviewSetting | None = None,
        limits: Mapping[str, float] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Change the given options. docs/configuration.md documents when each option takes effect.

        `effort` "" selects the model's default. `limits` and `settings` use the names of docs/configuration.md; the
        arguments have priority. Limits and settings not given keep their values.

        Raises:
            BadChoiceError: a provider, limit or setting is unknown, or a value is invalid. Nothing is changed.
        """
        options: dict[str, Any] = {
            "provider": provider,
            "model": model,
            "effort": effort,
            "mode": mode,
            "review": review,
        }
        check_texts(**{name: value for name, value in options.items() if value})
        allowed = rename_limits(limits or {})
        given = rename_settings(settings or {})
        parsed = parse_settings(given)[0]
        check_limits(parsed, self._live.session.profile.registry)
        check_model_providers(parsed, self._manager.models.client.providers)
        merged = layered(self._manager.settings.model_dump(by_alias=True), given)
        chosen = {name: given.get(name) if value is None else value for name, value in options.items()}
        await self._live.configure(**chosen, limits=allowed)
        if settings:
            self._manager.change_settings(merged)
            apply_passed_level(given)

    # --- pending requests

    def pending(self) -> tuple[ApprovalRequested | QuestionAsked, ...]:
        """Return the pending approval requests, then the pending questions. `hunks` returns proposed changes."""
        return (*self._live.approver.pending(), *self._live.session.questions.pending())

    @typed
    def approve(self, request_id: str, answer: ApprovalAnswer | bool) -> None:
        """Answer an approval request. The first answer counts.

        Raises:
            UnknownApprovalError: there is no such request, or it has been answered.
            BadChoiceError: a value of the answer does not exist, the request does not offer the rule for this scope,
                or a scope has no rule.
            BadReplacementError: the answer's `command` does not fit the request.
        """
        approver = self._live.approver
        is_open = any(request.request_id == request_id for request in approver.pending())
        resolved = approver.answer(request_id, as_answer(answer))
        if not is_open:
            raise UnknownApprovalError(
                f"request {request_id} is not pending any more: {resolved.decided_by} has answered {resolved.decision}"
            )

    @typed
    def reply(self, question_id: str, *answers: str) -> None:
        """Answer a question with one of its `choices` or free text. Without answers, decline the question.

        The question is asked by the model, or because a turn has reached a limit (`purpose` "limit"): then only a
        choice is an answer.

        Raises:
            UnknownQuestionError: there is no open question with this id; the first answer counts.
            BadAnswerError: the answer is empty or, at a limit, no choice, or the question does not allow several
                answers.
        """
        check_texts(**{f"answer {number}": answer for number, answer in enumerate(answers, 1)})
        questions = self._live.session.questions
        is_open = any(question.question_id == question_id for question in questions.pending())
        resolved = questions.answer(question_id, answers, declined=not answers, by=DECIDED_BY_PROGRAM)
        if not is_open:
            raise UnknownQuestionError(
                f"question {question_id} is not open any more: {resolved.decided_by} has answered it"
            )

    @typed
    async def trust(self, trusted: bool = True) -> None:
        """Trust the session's folder, or with False restrict it. The decision applies while this program runs."""
        folder = self._live.stored.header.workspace_folder
        await self._manager.trust.decide(folder, "trusted" if trusted else "restricted", DECIDED_BY_PROGRAM)

    def hunks(self) -> dict[str, list[Hunk]]:
        """Return the changes that are not reviewed yet, by absolute path. Looks first at these files on disk."""
        return self._hunks.read(self._live)

    @typed
    async def review(
        self,
        verdict: Literal["keep", "undo"],
        hunk_ids: Sequence[str] | None = None,
        *,
        confirm: bool = False,
    ) -> list[str]:
        """Keep or undo the changes `hunk_ids` (None: all changes of the session).

        `confirm` also undoes changes in the state `edited`, with the text that others wrote in them since.
        Files are read first. A change that `hunks` returned with other text is not kept, and not undone by `confirm`.
        Return a reason for each change that stays, with its file, line and id; without ids, also for each file that
        cannot be undone in parts, or whose changes only the session's worktree has.

        Raises:
            SessionClosedError: the session was closed.
        """
        reasons = await self._hunks.decide(self._live, verdict, hunk_ids, confirm=confirm)
        return self._hunks.explain_stopped(self._open_live, hunk_ids) if reasons is None else reasons

    @typed
    async def roll_back(
        self,
        turn_id: str,
        *,
        conversation: bool = True,
        files: Literal["restore", "keep", "preview"] = "restore",
    ) -> RollbackResult:
        """Restore the state before the turn `turn_id` (the `turn_id` of its events).

        `turn_id` may also be the `revert_id` of an earlier revert, to restore the state before that revert. A `Warning`
        with the code `not_restored` names each file that stays as it is, with the reason.

        Raises:
            BadChoiceError: there is no such turn.
            SessionBusyError: a turn or another roll back is running.
            RollBackStoppedError: `interrupt` was called. SessionClosedError: the session was closed.
        """
        if not turn_id:
            raise BadChoiceError(
                "turn_id is empty",
                "pass the turn_id of a `UserInput`; the events of the opening belong to no turn",
            )
        wanted = RollbackRequest(turn_id, conversation, files)
        try:
            _, done = await self._manager.revert(self._live.session.id, wanted)
        except SessionClosedError:
            raise self._owner.closed_error(self.id) from None
        for file in done.files:
            if file.state in ("conflict", "unknown") and files == "restore":
                self._opened.warn(f"{file.path} was not restored: {file.reason}", NOT_RESTORED)
        return done

    @typed
    async def fork(self, turn_id: str = "") -> str:
        """Copy the session up to the end of a turn, by default the last one that has ended. Return the copy's id.

        Pass the id as `resume` to `open_session`, with the same `state_dir`. Files, queue and approvals are not copied.

        Raises:
            AppError: there is no such turn, or the session has a worktree or is not stored.
        """
        _ = self._live
        if not self._owner.is_stored:
            raise BadChoiceError("a session with stored=False cannot be forked", "pass a state_dir instead")
        return await self._manager.copy_session(self.id, turn_id)
