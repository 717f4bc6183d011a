"""A session for programs without an event loop: the methods of AgentSession, which block and return their results."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from agent_ls.library.blocking import iterate_sync, run_sync
from agent_ls.library.opening import SessionOpening, open_session
from agent_ls.library.owner import FORKED, cleanup_after
from agent_ls.library.session import AgentSession
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.tool_records import ToolRecord
from agent_ls.loop.events.types import (
    ApprovalRequested,
    Compaction,
    Hunk,
    QuestionAsked,
    QueueItem,
    SessionEvent,
    State,
    ToolCallEnd,
)
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.sessions.rollback import RollbackResult
from agent_ls.sessions.workspaces.worktree import WorktreeFile

P = ParamSpec("P")
T = TypeVar("T")


class BlockingSession:
    """An `AgentSession` without `await`, returned by `open_session_sync`.

    Each method does what the method of AgentSession with this name does, and returns its result. `run` and `events`
    return ordinary iterators. The methods may be called from any thread. If a method is interrupted
    (KeyboardInterrupt), its work is cancelled; a turn that `run` started goes on until the session is closed.
    """

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._process = os.getpid()

    def close(self) -> None:
        """End the session, and wait until its processes have ended. The session stays stored, and can be resumed."""
        if self._process == os.getpid():  # a forked process leaves the session to the process that opened it
            run_sync(self._session.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with cleanup_after(error):
            self.close()

    def _wait(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._process != os.getpid():
            raise RuntimeError(FORKED)
        return run_sync(function, *args, **kwargs)

    def _on_loop(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a plain method of the session in the thread of its event loop."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self._wait(call)

    # --- facts

    @property
    def id(self) -> str:
        """The session's id. Pass it as `resume` to open the session again."""
        return self._session.id

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return self._on_loop(lambda: self._session.tools)

    @property
    def is_busy(self) -> bool:
        return self._on_loop(lambda: self._session.is_busy)

    @property
    def state(self) -> State:
        return self._on_loop(lambda: self._session.state)

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls so far, including those of subagents."""
        return self._on_loop(lambda: self._session.usage)

    @property
    def cost_usd(self) -> float | None:
        """Cost of all model calls so far, by published prices; None if the price of a call is unknown."""
        return self._on_loop(lambda: self._session.cost_usd)

    # --- turns

    def run(self, text: str, *, images: Sequence[ImagePart] = ()) -> Iterator[SessionEvent]:
        """Start a turn with the user message `text`, and return the events of the turn up to `ProcessingEnd`."""
        return iterate_sync(self._on_loop(self._session.run, text, images=images))

    def ask(self, text: str, *, images: Sequence[ImagePart] = ()) -> str:
        """Run a turn with the user message `text`, and return the last text of the main agent."""
        return self._wait(self._session.ask, text, images=images)

    def events(self) -> Iterator[SessionEvent]:
        """Return all events from now on, of all turns, up to `SessionEnd`."""
        return iterate_sync(self._on_loop(self._session.events))

    def send(
        self,
        text: str,
        *,
        images: Sequence[ImagePart] = (),
        when_busy: Literal["steer", "queue", "refuse"] = "steer",
    ) -> None:
        """Start a turn with the user message `text`, without reading its events. Does not block."""
        self._on_loop(self._session.send, text, images=images, when_busy=when_busy)

    def steer(self, text: str, *, agent_id: str = "") -> str:
        """Add a user message to the next model call of the running turn. Return the message's id for `unsteer`."""
        return self._on_loop(self._session.steer, text, agent_id=agent_id)

    def unsteer(self, steer_id: str) -> bool:
        """Remove a steering message. Return False if the message was already sent to the model."""
        return self._on_loop(self._session.unsteer, steer_id)

    def interrupt(self, *, keep_processes: bool = True, agent_id: str = "") -> None:
        """Stop the running turn. The session stays open."""
        self._on_loop(self._session.interrupt, keep_processes=keep_processes, agent_id=agent_id)

    def abort(self) -> None:
        """Stop the running turn and end the session."""
        self._on_loop(self._session.abort)

    def compact(self, instructions: str = "") -> Compaction:
        """Compact the conversation and return the Compaction event that ends it."""
        return self._wait(self._session.compact, instructions)

    # --- queue

    def follow_up(self, text: str) -> str:
        """Queue a user message to run after the current turn. Return the message's id for the queue methods."""
        return self._on_loop(self._session.follow_up, text)

    @property
    def queue(self) -> tuple[QueueItem, ...]:
        """The queued messages, in order."""
        return self._on_loop(lambda: self._session.queue)

    def edit_queued(self, queued_id: str, text: str) -> bool:
        """Replace the text of a queued message. All queue methods return False for a message that is not queued."""
        return self._on_loop(self._session.edit_queued, queued_id, text)

    def move_queued(self, queued_id: str, before: str = "") -> bool:
        """Move a queued message before the message `before`; "" moves it to the end of the queue."""
        return self._on_loop(self._session.move_queued, queued_id, before)

    def remove_queued(self, queued_id: str) -> bool:
        return self._on_loop(self._session.remove_queued, queued_id)

    def start_queued(self, queued_id: str) -> bool:
        """Interrupt the running turn and start this message."""
        return self._on_loop(self._session.start_queued, queued_id)

    # --- requests of the session

    def pending(self) -> tuple[ApprovalRequested | QuestionAsked, ...]:
        """Return the pending approval requests, then the pending questions."""
        return self._on_loop(self._session.pending)

    def approve(self, request_id: str, answer: ApprovalAnswer | bool) -> None:
        """Answer an approval request."""
        self._on_loop(self._session.approve, request_id, answer)

    def reply(self, question_id: str, *answers: str) -> None:
        """Answer a question with one of its `choices` or free text. Without answers, decline the question."""
        self._on_loop(self._session.reply, question_id, *answers)

    def trust(self, trusted: bool = True) -> None:
        """Trust the session's folder, or with False restrict it."""
        self._wait(self._session.trust, trusted)

    def configure(
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
        """Change the given options."""
        self._wait(
            self._session.configure,
            provider=provider,
            model=model,
            effort=effort,
            mode=mode,
            review=review,
            limits=limits,
            settings=settings,
        )

    # --- changes and records

    def hunks(self) -> dict[str, list[Hunk]]:
        """Return the changes that are not reviewed yet, by absolute path."""
        return self._on_loop(self._session.hunks)

    def review(self, verdict: Literal["keep", "undo"], hunk_ids: Sequence[str] | None = None) -> list[str]:
        """Keep or undo changes. Return a reason for each change that could not be kept or undone."""
        return self._wait(self._session.review, verdict, hunk_ids)

    def roll_back(
        self,
        turn_id: str,
        *,
        conversation: bool = True,
        files: Literal["restore", "keep", "preview"] = "restore",
    ) -> RollbackResult:
        """Restore the state before the turn `turn_id`."""
        return self._wait(self._session.roll_back, turn_id, conversation=conversation, files=files)

    def bring_changes(self) -> list[WorktreeFile]:
        """Copy the changes from the session's git worktree to the user's folder."""
        return self._wait(self._session.bring_changes)

    def fork(self, turn_id: str = "") -> str:
        """Copy the session up to the end of a turn, by default the last one that has ended. Return the copy's id."""
        return self._wait(self._session.fork, turn_id)

    def calls(self) -> tuple[ToolRecord, ...]:
        """Return the records of all tool calls that have ended, in the order in which the calls started."""
        return self._wait(self._session.calls)

    def output(self, event: ToolCallEnd) -> str:
        """Return the complete output of a tool call."""
        return self._wait(self._session.output, event)


def _blocking(function: Callable[P, SessionOpening]) -> Callable[P, BlockingSession]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> BlockingSession:
        return BlockingSession(run_sync(function(*args, **kwargs).open))

    return opened


open_session_sync = _blocking(open_session)
"""`open_session` for programs without an event loop: `with agent_ls.open_session_sync(...) as session:`."""
