"""A session of the agent in a program of yours: opened, told what to do, followed event by event (H13, E2)."""

from __future__ import annotations

import os.path
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.app.errors import BadChoiceError
from agent_ls.app.keys import load_credentials
from agent_ls.app.live_session import LiveSession
from agent_ls.app.rolling_back import RolledBack, Wanted
from agent_ls.app.settings import Settings, parse_settings
from agent_ls.app.workbench import Workbench
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.messages import ImagePart
from agent_ls.loop import event_codec
from agent_ls.loop.approval import Answer, UnknownApprovalError
from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.events import (
    ApprovalRequested,
    AssistantTextEnd,
    Envelope,
    Error,
    Hunk,
    ProcessingEnd,
    SessionEvent,
    ToolCallEnd,
)
from agent_ls.loop.tool_records import ToolRecord, tool_records
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.family import ProfileOptions
from agent_ls.tools.base import Tool

Approver: TypeAlias = Callable[[ApprovalRequested], Awaitable[Answer | bool]]
"""Asked what the mode does not allow by itself. An exception of it denies."""

NOBODY = "nobody is here to approve it: this program gave no `approve`"
FAILED = "the program's approver failed"


@dataclass(frozen=True, slots=True)
class Event:
    """One event (docs/protocol.md, Events). `data` is one of agent_ls.loop.events; `seq` None: a piece of a text.

    `timestamp` is ISO 8601.
    """

    kind: str
    data: SessionEvent
    seq: int | None
    turn_id: str
    timestamp: str
    _session: AgentSession

    async def output(self) -> str:
        """The whole output of a call that has ended, also where the event has only its head and tail (E3).

        Raises:
            TypeError: it is no tool_call_end.
        """
        if not isinstance(self.data, ToolCallEnd):
            raise TypeError(f"an event of kind {self.kind} has no output; tool_call_end has")
        if not self.data.output_ref:
            return self.data.output
        return await self._session.whole_output(self.data.output_ref)


class AgentSession:
    """Made by `open_session`. Everything is called from one event loop."""

    def __init__(
        self, bench: Workbench, live: LiveSession, approve: Approver | None, tasks: TaskGroup
    ) -> None:
        self._bench = bench
        self._live = live
        self._approve = approve
        self._tasks = tasks

    @property
    def id(self) -> str:
        """To open it again by."""
        return self._live.session.id

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return self._live.session.profile.registry.names()

    @property
    def is_busy(self) -> bool:
        return self._live.session.is_busy

    async def run(self, text: str, *, images: Sequence[ImagePart] = ()) -> AsyncGenerator[Event]:
        """Works off one input; the events of it, up to `processing_end`. Who stops listening does not stop the turn:
        `interrupt` does.

        Raises:
            SessionBusyError: a turn runs already; `steer` or `follow_up` speak to it. SessionClosedError.
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
        """Works off one input; what the model said last.

        Raises:
            RuntimeError: the turn failed; in its words.
        """
        said, problem = "", ""
        async for event in self.run(text):
            match event.data:
                case AssistantTextEnd(text=words):
                    said = words
                case Error(message=message):
                    problem = message
        if problem:
            raise RuntimeError(problem)
        return said

    async def events(self) -> AsyncIterator[Event]:
        """All events from now on, whatever begins them, until the session is closed."""
        with self._live.session.subscribe() as events:
            async for item in events:
                yield self._event(item.envelope)

    def steer(self, text: str) -> None:
        """For the model's next call, while a turn runs."""
        self._live.session.steer(text)

    def follow_up(self, text: str) -> None:
        """For after the running turn."""
        self._live.session.follow_up(text)

    def interrupt(self, *, keep_processes: bool = True) -> None:
        """The turn ends, the session lives; what the turn started in the background does if it is to be kept."""
        session = self._live.session
        turn_id = session.turn_id
        session.interrupt()
        if turn_id and not keep_processes:
            session.terminals.end_turn(turn_id)

    async def configure(
        self,
        *,
        model: str | None = None,
        effort: str | None = None,
        mode: Mode | None = None,
        review: ReviewSetting | None = None,
    ) -> None:
        """Changes what is given. Model and effort hold from the next call of the model on, also within a turn; `effort`
        "" is the model's own.
        """
        await self._live.configure(model=model, effort=effort, mode=mode, review=review)

    def hunks(self) -> dict[str, list[Hunk]]:
        """Changes that wait for a verdict, by absolute path."""
        return self._bench.review.open_hunks(session_id=self.id)

    async def review(
        self, verdict: Literal["keep", "undo"], hunk_ids: Sequence[str] | None = None
    ) -> list[str]:
        """Keeps or undoes changes (None: all); the reasons of those that were left alone."""
        session_id = self.id if hunk_ids is None else None
        _, refused = await self._bench.review.review(
            verdict=verdict, hunk_ids=hunk_ids, session_id=session_id
        )
        return [reason for _, reason in refused]

    async def roll_back(
        self,
        turn_id: str,
        *,
        conversation: bool = True,
        files: Literal["restore", "keep", "preview"] = "restore",
    ) -> RolledBack:
        """To before the input of this turn (`Event.turn_id`), or to before another roll back (its `revert_id`).

        Raises:
            BadChoiceError: no such turn. SessionBusyError: a turn runs.
        """
        _, done = await self._bench.revert(self.id, Wanted(turn_id, conversation, files))
        return done

    async def calls(self) -> tuple[ToolRecord, ...]:
        """The record of each tool call that has ended, in the order of their starts (T9)."""
        encoded = await anyio.to_thread.run_sync(self._live.events_since, 0)
        decoded = map(event_codec.decode, encoded)
        return tool_records(envelope for envelope in decoded if envelope)

    async def whole_output(self, output_ref: str) -> str:
        """As Event.output, by reference."""
        parts, offset = [], 0
        while True:
            part = await self._bench.archive.output(self.id, output_ref, offset, 1 << 20)
            parts.append(part.text)
            if part.next_offset is None:
                return "".join(parts)
            offset = part.next_offset

    def _event(self, envelope: Envelope) -> Event:
        return Event(envelope.kind, envelope.event, envelope.seq, envelope.turn_id, envelope.timestamp, self)

    async def answer_approvals(self) -> None:
        """Until the session ends; each question in a task of its own."""
        for request in self._live.desk.pending():
            self._tasks.start_soon(self._answer, request)
        with self._live.session.subscribe() as events:
            async for item in events:
                if isinstance(item.envelope.event, ApprovalRequested):
                    self._tasks.start_soon(self._answer, item.envelope.event)

    async def _answer(self, request: ApprovalRequested) -> None:
        if self._approve is None:
            answer: Answer | bool = Answer("deny", reason=NOBODY, decided_by="program")
        else:
            try:
                answer = await self._approve(request)
            except Exception as error:  # the program's own code: what it cannot decide is not allowed
                answer = Answer("deny", reason=f"{FAILED}: {error}", decided_by="program")
        if isinstance(answer, bool):
            answer = Answer("allow" if answer else "deny", decided_by="program")
        try:
            self._live.desk.answer(request.request_id, answer)
        except UnknownApprovalError:
            return  # the turn was stopped meanwhile


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
    tools: Sequence[Tool[Any]] = (),
    environment: ExecutionEnvironment | None = None,
    resume: str = "",
    without_tools: Sequence[str] = (),
    base_prompt: str = "",
    settings: Mapping[str, Any] | None = None,
    state_dir: Path | None = None,
    adapters: Mapping[str, ProviderAdapter] | None = None,
    trusted: bool = False,
    beside: Sequence[str | Path] = (),
) -> AsyncGenerator[AgentSession]:
    """A session in `folder`, new or (`resume`) stored; leaving the block ends it, and it stays stored.

    `provider` "" is the first that has a key. `mode` says what runs without being asked; what would be asked goes to
    `approve`, without which it is denied. `tools` come on top of those of the model's family; the latest of a name
    counts (P6). `without_tools` are left out of the family's. `base_prompt` stands in place of the family's own, which
    says who the model is and how it works (P9); what it is told of the project, its tools and the user's wishes comes
    all the same. `environment` is where tools act, in place of this machine; `folder` is then not looked at.
    `trusted`: your program knows whose files these are. Without, and where the user has not decided, `approve` is asked
    about the folder (an effect of type TrustEffect); without that nothing is changed or run in it.
    `beside` are folders to work in besides, trusted like `folder`; the model names them by their absolute paths.
    `settings` are those of docs/configuration.md; `adapters` are providers of your own, by name.

    Raises:
        AppError: no such folder, provider or session; `hint` says what to do.
    """
    parsed, problems = parse_settings(settings or {})
    if problems:
        raise BadChoiceError("; ".join(problems), "docs/configuration.md lists the settings")
    bench = Workbench(
        settings=parsed if settings else Settings(),
        credentials=load_credentials(),
        state_dir=state_dir,
        adapters=adapters,
        tools=tools,
        environment=environment,
        trusting="trusted" if trusted else "asked" if approve else "kept",
        profile_options=ProfileOptions(base_prompt=base_prompt, without=tuple(without_tools)),
    )
    others = [str(await anyio.Path(place).expanduser()) for place in beside]
    bench.folders = lambda: [os.path.abspath(place) for place in others]
    where = environment.working_directory() if environment else str(await anyio.Path(folder).expanduser())
    refused: Exception | None = None
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.run)
        try:
            live = await _opened(bench, resume, where, provider, model, effort, mode, review)
        except Exception as error:  # raised out here: a task group would wrap it
            refused = error
        else:
            session = AgentSession(bench, live, approve, tasks)
            tasks.start_soon(session.answer_approvals)
            try:
                yield session
            except Exception as error:
                refused = error
        tasks.cancel_scope.cancel()
    if refused:
        raise refused


async def _opened(
    bench: Workbench,
    resume: str,
    folder: str,
    provider: str,
    model: str,
    effort: str | None,
    mode: Mode,
    review: ReviewSetting,
) -> LiveSession:
    if not resume:
        return await bench.new_session(
            workspace_folder=folder,
            provider=provider or None,
            model=model or None,
            effort=effort,
            mode=mode,
            review=review,
        )
    live = await bench.open_session(resume)
    await live.configure(
        provider=provider or None, model=model or None, effort=effort, mode=mode, review=review
    )
    return live
