"""A session of the agent in your own program: open a session, send user messages, and follow the events."""

from __future__ import annotations

import os.path
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from agent_ls.app.errors import BadChoiceError
from agent_ls.app.models.key_store import load_credentials
from agent_ls.app.models.service import OwnProfile
from agent_ls.app.review.decision_request import Selection
from agent_ls.app.sessions.host import ProgramParts
from agent_ls.app.sessions.live import LiveSession
from agent_ls.app.sessions.manager import SessionManager
from agent_ls.app.sessions.new_session import SessionSpec
from agent_ls.app.sessions.rollback import RollbackRequest, RollbackResult
from agent_ls.app.sessions.setup.tool_limits import check_limits
from agent_ls.app.sessions.workspaces.worktree import WorktreeFile
from agent_ls.app.settings.layers import layered, limits_of
from agent_ls.app.settings.model import parse_settings
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.library.checks import check_choices, check_parts
from agent_ls.library.replies import (
    Answerer,
    Approver,
    ChangeReviewer,
    LimitExtender,
    ProgramCallbacks,
    Replies,
)
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.messages import ImagePart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.tool_records import ToolRecord, tool_records
from agent_ls.loop.events.types import (
    ApprovalRequested,
    AssistantTextEnd,
    Compaction,
    Envelope,
    Error,
    Hunk,
    ProcessingEnd,
    QuestionAsked,
    QueueItem,
    SessionEvent,
    State,
    ToolCallEnd,
    TurnLimit,
)
from agent_ls.loop.inbox import QueueEdit, QueueMove, QueueRemoval, StartNow
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool


@dataclass(frozen=True, slots=True)
class Event:
    """One event (docs/protocol/events.md). `data` is an object of a class in agent_ls.loop.events.types.

    `seq` is None for deltas. `timestamp` is ISO 8601.
    """

    kind: str
    data: SessionEvent
    seq: int | None
    turn_id: str
    timestamp: str
    _session: AgentSession

    async def output(self) -> str:
        """Return the complete output of the tool call, even if the event contains only the output's head and tail.

        Raises:
            TypeError: the event is not a tool_call_end.
        """
        if not isinstance(self.data, ToolCallEnd):
            raise TypeError(f"an event of kind {self.kind} has no output; use an event of kind tool_call_end")
        if not self.data.output_ref:
            return self.data.output
        return await self._session.whole_output(self.data.output_ref)


class AgentSession:
    """A session, returned by `open_session`. Call all methods from the same event loop."""

    def __init__(self, manager: SessionManager, live: LiveSession) -> None:
        self._manager = manager
        self._live = live

    @property
    def id(self) -> str:
        """The session's id. Pass it as `resume` to open the session again."""
        return self._live.session.id

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return self._live.session.profile.registry.names()

    @property
    def is_busy(self) -> bool:
        return self._live.session.is_busy

    @property
    def state(self) -> State:
        return self._live.session.state

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls so far."""
        return self._live.session.usage

    async def run(self, text: str, *, images: Sequence[ImagePart] = ()) -> AsyncGenerator[Event]:
        """Start a turn with the user message `text`, and yield the events of the turn up to `processing_end`.

        The events of the first turn may begin with `session_start`. Leaving the loop early does not stop the turn; use
        `interrupt` to stop it.

        Raises:
            SessionBusyError: a turn is already running; use `steer` or `follow_up`.
            SessionClosedError: the session is closed.
            BadChoiceError: the message is empty.
        """
        if not text.strip() and not images:
            raise BadChoiceError("the input is empty", "pass a text that says what to do")
        session = self._live.session
        if session.is_busy:
            raise SessionBusyError(self.id)
        with session.subscribe() as events:
            session.submit(text, images=images, when_busy="refuse")
            async for item in events:
                yield self._event(item.envelope)
                if isinstance(item.envelope.event, ProcessingEnd):
                    return

    async def ask(self, text: str) -> str:
        """Run a turn with the user message `text`, and return the model's last text.

        Raises:
            RuntimeError: the turn failed or ended at a limit; the message says why.
        """
        said, problem, limit = "", "", ""
        async for event in self.run(text):
            match event.data:
                case AssistantTextEnd(text=words):
                    said = words
                case Error(message=message):
                    problem = message
                case TurnLimit(message=message):
                    limit = message
                case ProcessingEnd(reason="limit"):
                    problem = problem or limit or "a limit was reached"
        if problem:
            raise RuntimeError(problem)
        return said

    async def events(self) -> AsyncIterator[Event]:
        """Yield all events from now on, of all turns, until the session is closed."""
        with self._live.session.subscribe() as events:
            async for item in events:
                yield self._event(item.envelope)

    def steer(self, text: str) -> str:
        """Add a user message to the next model call of the running turn. Return the message's id for `unsteer`."""
        return self._live.session.steer(text)

    def unsteer(self, steer_id: str) -> bool:
        """Remove a steering message. Return False if the message was already sent to the model."""
        return self._live.session.unsteer(steer_id)

    def follow_up(self, text: str) -> str:
        """Queue a user message to run after the current turn. Return the message's id for the queue methods."""
        return self._live.session.follow_up(text)

    @property
    def queue(self) -> tuple[QueueItem, ...]:
        """The queued messages, in order."""
        return tuple(item.to_queue_item() for item in self._live.session.queue)

    def edit_queued(self, queued_id: str, text: str) -> bool:
        """Replace the text of a queued message. All queue methods return False for a message that is not queued."""
        return self._live.session.change_queue(QueueEdit(queued_id, text, keeps_images=True))

    def move_queued(self, queued_id: str, before: str = "") -> bool:
        """Move a queued message before the message `before`; "" moves it to the end of the queue."""
        return self._live.session.change_queue(QueueMove(queued_id, before))

    def remove_queued(self, queued_id: str) -> bool:
        return self._live.session.change_queue(QueueRemoval(queued_id))

    def start_queued(self, queued_id: str) -> bool:
        """Interrupt the running turn and start this message."""
        return self._live.session.change_queue(StartNow(queued_id))

    def interrupt(self, *, keep_processes: bool = True) -> None:
        """Stop the running turn. The session stays open.

        `keep_processes` False also ends the background processes that the turn started.
        """
        session = self._live.session
        turn_id = session.turn_id
        session.interrupt()
        if turn_id and not keep_processes:
            session.terminals.end_turn(turn_id)

    async def bring_changes(self) -> list[WorktreeFile]:
        """Copy the changes from the session's git worktree to the user's folder.

        Return all changed files, including the files that were not copied.

        Raises:
            AppError: the session has no worktree, or the changes cannot be copied.
        """
        return await self._live.bring_changes()

    def abort(self) -> None:
        """Stop the running turn and end the session. The session stays stored and can be resumed."""
        self._live.session.abort()

    async def compact(self, instructions: str = "") -> Compaction:
        """Compact the conversation and return the Compaction event that ends it.

        If a turn is running, the conversation is compacted before the next model call of the turn.

        Raises:
            CompactionOffError: compaction is disabled.
            NothingToCompactError: the conversation is too short.
            SessionClosedError: the session is closed.
        """
        session = self._live.session
        with session.subscribe() as events:
            wanted = session.compact(instructions)
            async for item in events:
                match item.envelope.event:
                    case Compaction(compaction_id=found, status=status) as event if found == wanted:
                        if status != "started":
                            return event
        raise RuntimeError("the session ended before the conversation was compacted")

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

        `effort` "" selects the model's default. `limits` and `settings` use the names of docs/configuration.md. Limits
        and settings not given keep their values. Provider, model, effort, mode and review in `settings` apply
        only to new sessions.

        Raises:
            BadChoiceError: a provider, limit or setting is unknown, or a value is invalid. Nothing is changed.
        """
        check_choices(mode, review)
        allowed = limits_of(limits or {})
        given = _rename_settings(settings or {})
        check_limits(parse_settings(given)[0], self._live.session.profile.registry)
        merged = layered(self._manager.settings.model_dump(by_alias=True), given)
        await self._live.configure(
            provider=provider, model=model, effort=effort, mode=mode, review=review, limits=allowed
        )
        if settings:
            self._manager.change_settings(merged)

    # --- pending requests

    def pending(self) -> tuple[ApprovalRequested | QuestionAsked, ...]:
        """Return the pending approval requests, then the pending questions. `hunks` returns proposed changes."""
        return (*self._live.approver.pending(), *self._live.session.questions.pending())

    def approve(self, request_id: str, answer: ApprovalAnswer | bool) -> None:
        """Answer an approval request. If there are several answers, the first one is used.

        Raises:
            UnknownApprovalError: there is no such request, or it does not offer the rule in the answer.
        """
        if isinstance(answer, bool):
            answer = ApprovalAnswer("allow" if answer else "deny", decided_by="program")
        self._live.approver.answer(request_id, answer)

    def reply(self, question_id: str, *answers: str) -> None:
        """Answer a question with one of its `choices` or free text. Without answers, decline the question.

        The question is asked by the model, or because a turn has reached a limit.

        Raises:
            UnknownQuestionError: there is no question with this id.
            BadAnswerError: the answer is empty, or the question does not allow several answers.
        """
        questions = self._live.session.questions
        questions.answer(question_id, answers, declined=not answers, by="program")

    async def trust(self, trusted: bool = True) -> None:
        """Trust the session's folder, or with False restrict it. The decision applies while this program runs."""
        folder = self._live.stored.header.workspace_folder
        await self._manager.trust.decide(folder, "trusted" if trusted else "restricted", "program")

    def hunks(self) -> dict[str, list[Hunk]]:
        """Return the changes that are not reviewed yet, by absolute path."""
        return self._manager.review.open_hunks(session_id=self.id)

    async def review(
        self, verdict: Literal["keep", "undo"], hunk_ids: Sequence[str] | None = None
    ) -> list[str]:
        """Keep or undo the changes `hunk_ids` (None: all changes of the session).

        Return a reason for each change that could not be kept or undone.
        """
        session_id = self.id if hunk_ids is None else None
        _, refused = await self._manager.review.review(
            verdict, Selection(hunk_ids=hunk_ids, session_id=session_id)
        )
        return [reason for _, reason in refused]

    async def roll_back(
        self,
        turn_id: str,
        *,
        conversation: bool = True,
        files: Literal["restore", "keep", "preview"] = "restore",
    ) -> RollbackResult:
        """Restore the state before the turn `turn_id` (see `Event.turn_id`).

        `turn_id` may also be the `revert_id` of an earlier revert, to restore the state before that revert.

        Raises:
            BadChoiceError: there is no such turn.
            SessionBusyError: a turn is running.
        """
        _, done = await self._manager.revert(self.id, RollbackRequest(turn_id, conversation, files))
        return done

    async def calls(self) -> tuple[ToolRecord, ...]:
        """Return the records of all tool calls that have ended, in the order in which the calls started."""
        encoded = await anyio.to_thread.run_sync(self._live.events_since, 0)
        decoded = map(event_codec.decode, encoded)
        return tool_records(envelope for envelope in decoded if envelope)

    async def whole_output(self, output_ref: str) -> str:
        """Return the complete output of a tool call. `output_ref` is the reference in the call's end event."""
        parts, offset = [], 0
        while True:
            part = await self._manager.archive.output(self.id, output_ref, offset, 1 << 20)
            parts.append(part.text)
            if part.next_offset is None:
                return "".join(parts)
            offset = part.next_offset

    def _event(self, envelope: Envelope) -> Event:
        return Event(envelope.kind, envelope.event, envelope.seq, envelope.turn_id, envelope.timestamp, self)


@asynccontextmanager
async def open_session(
    folder: str | Path = ".",
    *,
    provider: str = "",
    model: str = "",
    effort: str | None = None,
    mode: Mode = "ask",
    review: ReviewSetting = "after",
    approve: Approver | None = None,
    answer: Answerer | None = None,
    extend_limit: LimitExtender | None = None,
    review_changes: ChangeReviewer | None = None,
    answers_later: bool = False,
    tools: Sequence[Tool[Any]] = (),
    environment: ExecutionEnvironment | None = None,
    resume: str = "",
    without_tools: Sequence[str] = (),
    base_prompt: str = "",
    settings: Mapping[str, Any] | None = None,
    state_dir: Path | None = None,
    adapters: Mapping[str, ProviderAdapter] | None = None,
    profiles: Mapping[str, OwnProfile] | None = None,
    trusted: bool = False,
    beside: Sequence[str | Path] = (),
    worktree: Literal["current", "head"] | None = None,
) -> AsyncGenerator[AgentSession]:
    """Open a new session in `folder`, or the stored session with the id `resume`.

    Leaving the `async with` block ends the session; the session stays stored. `provider` "" selects the first provider
    that has a key. `mode` determines which effects need no approval.

    Callbacks answer the requests of the session. A callback is an async function, or a plain function, which is called
    in a thread. `approve` decides about effects that the mode does not allow. `answer` answers questions of the model.
    `extend_limit` decides whether a turn continues after it has reached a limit. `review_changes` decides about
    proposed changes (`review="before"`). A request without a callback is declined at once, and the model is informed.
    With `answers_later`, the request waits for a call of `session.approve`, `reply` or `review` instead.

    `tools` are added to the tools of the model's family; they replace tools of the same name. `without_tools`
    lists tools to remove. `base_prompt` replaces the family's base prompt; the layers about project, tools and
    user instructions follow it. If `environment` is given, tools act in it instead of on this machine, and
    `folder` is ignored. `trusted`: the program trusts the folder. If `trusted` is False and the user has not
    decided about the folder, `approve` is called with an effect of type TrustEffect. Without approval, nothing
    is changed or run in the folder. `beside` are additional workspace folders, which are trusted like `folder`.
    The model refers to them by absolute paths. `settings` use the names of docs/configuration.md. `adapters`
    are the program's own providers by name, and `profiles` are the profiles for their models. The default
    profile is the profile of Chat Completions servers. `worktree`: a new session works in a separate git
    worktree. The worktree initially contains the folder's uncommitted changes ("current") or its last commit
    ("head"), see docs/worktrees.md.

    Raises:
        AppError: a folder, provider, mode or session is unknown, or a tool or adapter is invalid. The error's `hint`
            says what to do.
    """
    given = _rename_settings(settings or {})
    check_choices(mode, review)
    check_parts(tools, adapters)
    callbacks = ProgramCallbacks(approve, answer, extend_limit, review_changes, answers_later)
    manager = SessionManager(
        settings=parse_settings(given)[0],
        credentials=load_credentials(),
        state_dir=state_dir,
        program=ProgramParts(
            adapters=adapters or {},
            profiles=profiles or {},
            tools=tools,
            profile_options=ProfileOptions(base_prompt=base_prompt, without=tuple(without_tools)),
            environment=environment,
        ),
        trusting="trusted" if trusted else "asked" if approve or answers_later else "kept",
    )
    others = [str(await anyio.Path(place).expanduser()) for place in beside]
    manager.folders = lambda: [os.path.abspath(place) for place in others]
    where = environment.working_directory() if environment else str(await anyio.Path(folder).expanduser())
    new = SessionSpec(
        workspace_folder=where,
        provider=provider or None,
        model=model or None,
        effort=effort,
        mode=mode,
        review=review,
        worktree=worktree,
    )
    refused: Exception | None = None
    async with anyio.create_task_group() as tasks:
        await tasks.start(manager.run)
        try:
            live = await _open_session(manager, resume, new)
            check_limits(manager.settings, live.session.profile.registry)
        except Exception as error:  # raised below, because the task group would wrap it in an ExceptionGroup
            refused = error
        else:
            session = AgentSession(manager, live)
            tasks.start_soon(Replies(live, manager.review, callbacks, tasks).run)
            try:
                yield session
            except Exception as error:
                refused = error
        tasks.cancel_scope.cancel()
    if refused:
        raise refused


async def _open_session(manager: SessionManager, resume: str, new: SessionSpec) -> LiveSession:
    """Create a session with the options `new`, or open the stored session `resume` and apply the options to it."""
    if not resume:
        return await manager.new_session(new)
    live = await manager.open_session(resume)
    await live.configure(
        provider=new.provider, model=new.model, effort=new.effort, mode=new.mode, review=new.review
    )
    return live


def _rename_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the given settings under the names of docs/configuration.md.

    Raises:
        BadChoiceError: a setting is unknown or invalid.
    """
    parsed, problems = parse_settings(settings)
    if problems:
        raise BadChoiceError("; ".join(problems), "`agent-ls docs configuration` lists the settings")
    return parsed.model_dump(by_alias=True, exclude_unset=True)
