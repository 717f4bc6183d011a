"""SEAMS of the session: what it needs of a log, a clock, a model, and of whoever tells it of the world."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState
from agent_ls.llm.messages import ImagePart, ToolResultPart
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.approval import ApprovalQuestion, Denied
from agent_ls.loop.editor_events import EditNews
from agent_ls.loop.events import Envelope
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.turns import Turn
from agent_ls.profiles.base import ProviderProfile


class Recorder(Protocol):
    """Where a session is written. Calls are made in order and return when the kernel has the bytes.

    None of them awaits: a line is handed over by one write() (it survives our being killed); fsync is `sync`.
    A failing disk must not end the session: an implementation reports once and goes on.
    """

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        """A recorded event, before anyone else sees it."""
        ...

    def turn(self, turn: Turn) -> None:
        """A turn, before the events that follow from it."""
        ...

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        """As `turn`, of a subagent's own history."""
        ...

    def prompt(self, system_prompt: str) -> None:
        """The system prompt of the calls that follow, when it is new (a resumed session sends the same bytes)."""
        ...

    def prefix(self, prefix: Prefix) -> None:
        """The tools of the calls that follow, and what prompt and tools were made of, when any of it is new.

        The prompt itself is told by `prompt`.
        """
        ...

    def partial(self, part_id: str, text: str) -> None:
        """The text so far of an open part, at most once a second: all that kill -9 can lose is newer."""
        ...

    def output(self, call_id: str, text: str) -> str:
        """Keeps a call's whole output; the `output_ref` to find it by."""
        ...

    def result(self, call_id: str, result: ToolResultPart) -> None:
        """What the model will be told of a call whose end event does not say it all, before that event.

        The other calls of its round have not ended: the turn that holds all results comes when they have.
        """
        ...

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        """The pictures of a message that waits, before the event that tells of it: the event holds its text only."""
        ...

    def shown(self, path: str, digest: str) -> None:
        """The model has seen this file with this content."""
        ...

    async def sync(self) -> None: ...


class Clock(Protocol):
    def now(self) -> str:
        """ISO 8601 with milliseconds, UTC."""
        ...

    def monotonic_ms(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...

    def random(self) -> float:
        """In [0, 1): for jitter."""
        ...


class NoticeBoard(Protocol):
    """What the model is to be told at the next safe boundary, collected by others (verdicts on hunks).

    `take` empties it. Each text becomes one SteeringTurn of source `review`.
    """

    async def look(self) -> None:
        """Called at each safe boundary before `take`: what is to be looked for is looked for now. Takes a bounded time,
        and may be cancelled. Must not raise."""
        ...

    def take(self) -> Sequence[str]: ...


class Surroundings(Protocol):
    """What is around the session and not of its making: an editor, its user's cursor, its tools."""

    def news(self) -> str:
        """What the model is to be told beside the next input, "" for nothing new. Must not raise."""
        ...

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        """Called before these files (absolute paths) are edited. What it returns is awaited once after the edit: it
        tells what the edit brought. It waits for a bounded time, may be cancelled, must not raise.
        """
        ...


class NoSurroundings:
    """A session with no editor around it."""

    def news(self) -> str:
        return ""

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        return _nothing


async def _nothing() -> EditNews:
    return EditNews()


class Reviews(Protocol):
    """Where changes that are shown before they are made wait for verdicts (H6)."""

    async def resume(
        self, question: ApprovalQuestion, attribution: Attribution
    ) -> Sequence[FileState] | Denied:
        """Of a call that waited when its process ended: it is judged anew, then waited for until the last verdict.

        `question` lacks the effect. The states are those of its files then, with what was decided. When it is cancelled
        by a stop of the user, or denied, what it proposes is dropped.
        """
        ...


class NoReviews:
    """A session whose changes are never shown before they are made."""

    async def resume(self, question: ApprovalQuestion, attribution: Attribution) -> Sequence[FileState]:
        return ()


class ModelClient(Protocol):
    """The model layer as the session uses it: the client, or one provider's adapter. Raises LlmError only."""

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """As ProviderAdapter.stream; also ConfigurationError when no provider can take the request."""
        ...

    async def complete(self, request: Request) -> Response:
        """For profiles that do not stream."""
        ...


class PromptSource(Protocol):
    """Who puts the layers of the system prompt together (000 section 6.1)."""

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        """The layer of the project's documents as they are now, "" for none. Asked at the start of each input, so it
        is quick. Must not raise.
        """
        ...

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        """Asked when model, tools, `documents` (what the method of that name gave) or user instructions are new (O6).

        Must not raise.
        """
        ...


class BasePrompt:
    """The smallest PromptSource: the family's base prompt, then the user's instructions."""

    async def documents(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> str:
        return ""

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        return "\n\n".join(part for part in (profile.base_prompt, documents, user_instructions) if part)
