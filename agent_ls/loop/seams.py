"""Interfaces that the session calls: log, clock, model, system prompt, editor context, review."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState
from agent_ls.llm.messages import ImagePart, ToolResultPart
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.calls.approval import ApprovalQuestion, Denied
from agent_ls.loop.clock import Clock as Clock
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.events.editor import EditNews
from agent_ls.loop.events.types import Envelope
from agent_ls.loop.turns import Turn
from agent_ls.profiles.base import ProviderProfile


class Recorder(Protocol):
    """Interface to the session's log. The session calls the methods in order; each returns when the kernel
    has the bytes.

    No method except `sync` awaits: each line is written with one write() and survives SIGKILL of this
    process. `sync` calls fsync. A disk error must not end the session: an implementation reports it once
    and continues.
    """

    @property
    def problem(self) -> str:
        """Why the last record could not be written, "" if everything was written."""
        ...

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        """Record an event, before it is published."""
        ...

    def turn(self, turn: Turn) -> None:
        """Record a turn, before the events that the turn causes."""
        ...

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        """Record a turn of a subagent's own history."""
        ...

    def prompt(self, system_prompt: str) -> None:
        """Record the system prompt of the following model calls if it changed.

        A resumed session sends the recorded bytes again, so that the provider's cache stays valid.
        """
        ...

    def prefix(self, prefix: Prefix) -> None:
        """Record the tools of the following model calls, and the sources of the prompt and of the tools, if
        they changed.

        The text of the system prompt is recorded by `prompt`.
        """
        ...

    def partial(self, part_id: str, text: str) -> None:
        """Record the current text of an open part, at most once a second. SIGKILL can lose only newer text."""
        ...

    async def output(self, call_id: str, text: str, missing_bytes: int = 0) -> str:
        """Store a call's output. Returns its `output_ref`.

        `missing_bytes` is the number of bytes by which the complete output is longer than `text`.
        """
        ...

    def result(self, call_id: str, result: ToolResultPart) -> None:
        """Record the result that the model receives, before the call's end event. Called only if the event
        does not contain the whole result.

        The turn with all results of the round is recorded only when all calls of the round have ended.
        """
        ...

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        """Record the images of a queued message before the event about the message, because the event has
        only the text.
        """
        ...

    def record_read(self, path: str, digest: str) -> None:
        """Record that the model has seen this file with this content."""
        ...

    async def sync(self) -> None: ...


class NoticeBoard(Protocol):
    """Interface to messages for the model that other services collect, for example decisions about hunks.

    `take_messages` returns and removes all messages. Each message becomes one SteeringTurn of source `review`.
    """

    async def collect(self) -> None:
        """Collect new messages. Called before each model call and at the session's end.

        Takes a bounded time and may be cancelled. Must not raise.
        """
        ...

    def take_messages(self) -> Sequence[str]: ...


class EditorContext(Protocol):
    """Interface to the editor context of the session: the user's cursor, selection and language tools."""

    def news(self) -> str:
        """Return the text about the editor to add to the next message of the user, "" if nothing changed.

        Must not raise.
        """
        ...

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        """Start observing the effects of an edit; called before the files `paths` (absolute) are changed.

        The returned function is awaited once after the edit and returns what the edit caused, for
        example diagnostics. It waits for a bounded time, may be cancelled and must not raise.
        """
        ...


class NoEditorContext:
    """Editor context of a session without an editor."""

    def news(self) -> str:
        return ""

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        return _make_empty


async def _make_empty() -> EditNews:
    return EditNews()


class Reviews(Protocol):
    """Interface to proposed changes: they are displayed, and applied only after the user's decisions."""

    async def resume(
        self, question: ApprovalQuestion, attribution: Attribution
    ) -> Sequence[FileState] | Denied:
        """Check a suspended call against the policy again after a resume, and wait until all its hunks are
        decided.

        `question.effect` is not set yet, because the effect is computed again here. Returns the states of the call's
        files after the decisions. If the call is denied or the user stops the turn, the proposed changes are
        dropped.
        """
        ...


class NoReviews:
    """Reviews of a session that applies changes without displaying them first."""

    async def resume(self, question: ApprovalQuestion, attribution: Attribution) -> Sequence[FileState]:
        return ()


class ModelClient(Protocol):
    """Interface to the model layer: the client, or the adapter of one provider. Raises LlmError only."""

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Stream the events of the model's answer, ending with StreamFinish. Raises ConfigurationError if no
        provider can handle the request.
        """
        ...

    async def complete(self, request: Request) -> Response:
        """Return the complete response. Used for profiles without streaming."""
        ...


class PromptSource(Protocol):
    """Interface that builds the system prompt from its layers, for example base prompt, project documents and
    user's instructions.
    """

    async def prepare(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> None:
        """Read the project's documents, and add the tools that the session has from now on to the profile.

        Called at the start of each input, so it must be fast. Must not raise.
        """
        ...

    def documents(self) -> str:
        """Return the text that the last `prepare` found for the system prompt, "" for none."""
        ...

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        """Build the system prompt. Called when model, tools, user instructions or `documents` changed. Must not raise.

        `documents` is the result of the method `documents`.
        """
        ...


class BasePrompt:
    """The smallest PromptSource: the model family's base prompt, the documents, then the user's
    instructions."""

    async def prepare(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> None:
        return None

    def documents(self) -> str:
        return ""

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        return "\n\n".join(part for part in (profile.base_prompt, documents, user_instructions) if part)


class NestedDocuments(Protocol):
    """Interface to the project's instruction files in folders below the working directory."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        """Return the instructions for the folders of the files `paths` (absolute) that the agent has not
        received yet; "" for none.

        Called after a tool call that read or changed the files. `family` has the names of instruction files
        that the model family uses, for example CLAUDE.md. `agent_id` is "" for the main agent. Must not
        raise.
        """
        ...

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        """Forget which instructions the agent has received, except those that a text in `kept` contains.

        Called after a compaction; `kept` are the texts of the tool results that remain. `for_paths` returns
        the forgotten instructions again. Must not raise.
        """
        ...


class NoNestedDocuments:
    """NestedDocuments that never returns any instructions."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        return ""

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        pass


NO_NESTED_DOCUMENTS = NoNestedDocuments()
