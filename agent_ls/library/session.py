"""A session of the agent in your own program: open it, send inputs, and follow its events."""

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
from agent_ls.app.sessions.rollback import RolledBack, Wanted
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
from agent_ls.loop.inbox import Edit, Move, Remove, StartNow
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool


@dataclass(frozen=True, slots=True)
class Event:
    """One event (docs/protocol/events.md). `data` is a class of agent_ls.loop.events.types; `seq` is None for deltas.

    `timestamp` is ISO 8601.
    """

    kind: str
    data: SessionEvent
    seq: int | None
    turn_id: str
    timestamp: str
    _session: AgentSession

    async def output(self) -> str:
        """Return the complete output of a call that has ended, even if the event has only its head and tail.

        Raises:
            TypeError: the event is not a tool_call_end.
        """
        if not isinstance(self.data, ToolCallEnd):
            raise TypeError(f"an event of kind {self.kind} has no output; tool_call_end has")
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
        """The id, for opening the session again."""
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
        """Run one input, and yield its events up to `processing_end`. The first run may begin with `session_start`.

        Leaving the loop early does not stop the turn; `interrupt` does.

        Raises:
            SessionBusyError: a turn is running already; use `steer` or `follow_up`.
            SessionClosedError: the session is closed.
            BadChoiceError: the input is empty.
        """
        if not text.strip() and not images:
            raise BadChoiceError("the input is empty", "say what to do")
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
        """Run one input and return the model's last text.

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
        """Add a message to the model's next call while a turn runs. Returns its id for `unsteer`."""
        return self._live.session.steer(text)

    def unsteer(self, steer_id: str) -> bool:
        """Remove a steering message. Returns False if the model has it already."""
        return self._live.session.unsteer(steer_id)

    def follow_up(self, text: str) -> str:
        """Queue a message for after the running turn. Returns its id for the queue methods."""
        return self._live.session.follow_up(text)

    @property
    def queue(self) -> tuple[QueueItem, ...]:
        """The queued messages, in order."""
        return tuple(item.told() for item in self._live.session.queue)

    def edit_queued(self, queued_id: str, text: str) -> bool:
        """Replace the text of a queued message. All queue methods return False if the message is no longer queued."""
        return self._live.session.change_queue(Edit(queued_id, text, keeps_images=True))

    def move_queued(self, queued_id: str, before: str = "") -> bool:
        """Move a queued message before another one, or to the end."""
        return self._live.session.change_queue(Move(queued_id, before))

    def remove_queued(self, queued_id: str) -> bool:
        return self._live.session.change_queue(Remove(queued_id))

    def start_queued(self, queued_id: str) -> bool:
        """Interrupt the running turn and start this message."""
        return self._live.session.change_queue(StartNow(queued_id))

    def interrupt(self, *, keep_processes: bool = True) -> None:
        """End the turn; the session stays open. `keep_processes` False also ends its background processes."""
        session = self._live.session
        turn_id = session.turn_id
        session.interrupt()
        if turn_id and not keep_processes:
            session.terminals.end_turn(turn_id)

    async def bring_changes(self) -> list[WorktreeFile]:
        """Bring the changes of the session's worktree to its folder. Returns each changed file, also those left.

        Raises:
            AppError: the session has no worktree, or its changes cannot be brought.
        """
        return await self._live.bring_changes()

    def abort(self) -> None:
        """End the session, and its turn first. It stays stored and can be resumed."""
        self._live.session.abort()

    async def compact(self, instructions: str = "") -> Compaction:
        """Compact the conversation, before the next model call of a running turn. Returns the final event.

        Raises:
            CompactionOffError, NothingToCompactError, SessionClosedError.
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
        """Change the given options. docs/configuration.md documents when each of them takes effect.

        `effort` "" selects the model's default. `limits` and `settings` use the names of docs/configuration.md;
        omitted ones keep their values. Provider, model, effort, mode and review in `settings` apply to new
        sessions only.

        Raises:
            BadChoiceError: an unknown provider, limit or setting, or an invalid value. Nothing is changed.
        """
        check_choices(mode, review)
        allowed = limits_of(limits or {})
        given = _given(settings or {})
        check_limits(parse_settings(given)[0], self._live.session.profile.registry)
        merged = layered(self._manager.settings.model_dump(by_alias=True), given)
        await self._live.configure(
            provider=provider, model=model, effort=effort, mode=mode, review=review, limits=allowed
        )
        if settings:
            self._manager.change_settings(merged)

    # --- pending requests

    def pending(self) -> tuple[ApprovalRequested | QuestionAsked, ...]:
        """Return what waits for an answer: approvals, then questions. Proposed changes are in `hunks`."""
        return (*self._live.approver.pending(), *self._live.session.questions.pending())

    def approve(self, request_id: str, answer: ApprovalAnswer | bool) -> None:
        """Answer an approval request. The first answer wins.

        Raises:
            UnknownApprovalError.
        """
        if isinstance(answer, bool):
            answer = ApprovalAnswer("allow" if answer else "deny", decided_by="program")
        self._live.approver.answer(request_id, answer)

    def reply(self, question_id: str, *answers: str) -> None:
        """Answer a question of the model or of a limit, with one of its `choices` or free text. Without answers:
        decline.

        Raises:
            UnknownQuestionError, BadAnswerError.
        """
        questions = self._live.session.questions
        questions.answer(question_id, answers, declined=not answers, by="program")

    async def trust(self, trusted: bool = True) -> None:
        """Trust the session's folder, or restrict it, while this program runs."""
        folder = self._live.stored.header.workspace_folder
        await self._manager.trust.decide(folder, "trusted" if trusted else "restricted", "program")

    def hunks(self) -> dict[str, list[Hunk]]:
        """Return the changes that are not reviewed yet, by absolute path."""
        return self._manager.review.open_hunks(session_id=self.id)

    async def review(
        self, verdict: Literal["keep", "undo"], hunk_ids: Sequence[str] | None = None
    ) -> list[str]:
        """Keep or undo changes (None: all). Returns the reasons of those that were not decided."""
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
    ) -> RolledBack:
        """Go back to the state before the input of turn `turn_id` (`Event.turn_id`), or before another revert (its
        `revert_id`).

        Raises:
            BadChoiceError: unknown turn.
            SessionBusyError: a turn is running.
        """
        _, done = await self._manager.revert(self.id, Wanted(turn_id, conversation, files))
        return done

    async def calls(self) -> tuple[ToolRecord, ...]:
        """Return the record of each tool call that has ended, in order of their start."""
        encoded = await anyio.to_thread.run_sync(self._live.events_since, 0)
        decoded = map(event_codec.decode, encoded)
        return tool_records(envelope for envelope in decoded if envelope)

    async def whole_output(self, output_ref: str) -> str:
        """Return the complete output with this reference, as Event.output does."""
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
    """Open a session in `folder`, a new one or (`resume`) a stored one. Leaving the block ends it; it stays stored.

    `provider` "" selects the first provider that has a key. `mode` decides what runs without approval.

    Requests of the session are answered by callbacks, which may be plain functions (called in a thread) or async
    ones: `approve` decides what the mode does not allow, `answer` answers questions of the model, `extend_limit`
    decides whether a turn continues past a limit, `review_changes` decides about proposed changes
    (`review="before"`). A request without a callback is declined at once, and the model is informed. With
    `answers_later` it waits for `session.approve`, `reply` or `review` instead.

    `tools` are added to those of the model's family; the latest definition of a name is used. `without_tools` are
    removed. `base_prompt` replaces the family's base prompt; the layers about project, tools and user instructions
    follow it. `environment` replaces this machine as the place where tools act; `folder` is ignored then.
    `trusted`: the program trusts the folder. Otherwise, and if the user has not decided before, `approve` is asked
    about the folder (an effect of type TrustEffect); without approval nothing is changed or run in it. `beside`
    are additional workspace folders, trusted like `folder`; the model refers to them by absolute paths. `settings`
    are those of docs/configuration.md. `adapters` are the program's own providers, and `profiles` describe how to
    use their models, both by name. A provider without a profile gets that of Chat Completions servers. `worktree`: a
    new session works in a git worktree of its own, which begins with the folder's uncommitted changes or with its
    last commit (docs/worktrees.md).

    Raises:
        AppError: an unknown folder, provider, mode or session, or an invalid tool or adapter; `hint` says what to do.
    """
    given = _given(settings or {})
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
            live = await _opened(manager, resume, new)
            check_limits(manager.settings, live.session.profile.registry)
        except Exception as error:  # raised below, because a task group would wrap it in an ExceptionGroup
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


async def _opened(manager: SessionManager, resume: str, new: SessionSpec) -> LiveSession:
    """Create the session, or open a stored one and give it the same options."""
    if not resume:
        return await manager.new_session(new)
    live = await manager.open_session(resume)
    await live.configure(
        provider=new.provider, model=new.model, effort=new.effort, mode=new.mode, review=new.review
    )
    return live


def _given(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the given settings under the names of docs/configuration.md.

    Raises:
        BadChoiceError: a setting is unknown or invalid.
    """
    parsed, problems = parse_settings(settings)
    if problems:
        raise BadChoiceError("; ".join(problems), "`agent-ls docs configuration` lists the settings")
    return parsed.model_dump(by_alias=True, exclude_unset=True)
