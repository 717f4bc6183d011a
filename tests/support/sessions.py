"""A real Session with fakes for all its interfaces, and tools whose behaviour the test defines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.effects import Effect, NoEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm.messages import ImagePart, ToolResultPart
from agent_ls.loop.calls.approval import Approver
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.events.types import Envelope, RecordedEvent, ToolCallEnd, ToolCallStart
from agent_ls.loop.ids import SessionId
from agent_ls.loop.ports import Ports
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.seams import BasePrompt, Clock, ModelClient, PromptSource, Recorder
from agent_ls.loop.session import Session
from agent_ls.loop.turns import Turn
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.registry import ToolRegistry
from tests.support.fake_approver import FakeApprover
from tests.support.fake_clock import FakeClock

DEADLINE_S = 240
E = TypeVar("E", bound=RecordedEvent)


class MemoryRecorder:
    """A Recorder in memory. `order` has the kinds of events and turns; `on_event` is called with each event."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.turns: list[Turn] = []
        self.agent_turns: dict[str, list[Turn]] = {}
        self.prompts: list[str] = []
        self.prefixes: list[Prefix] = []
        self.partials: list[tuple[str, str]] = []
        self.outputs: dict[str, str] = {}
        self.results: dict[str, ToolResultPart] = {}
        self.pictures: dict[str, tuple[ImagePart, ...]] = {}
        self.seen: dict[str, str] = {}
        self.order: list[str] = []
        self.syncs = 0
        self.on_event: Callable[[Envelope], None] = lambda _: None
        self.problem = ""

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        self.envelopes.append(envelope)
        self.order.append(envelope.kind)
        self.on_event(envelope)

    def turn(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.order.append(f"turn:{turn.type}")

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        self.agent_turns.setdefault(agent_id, []).append(turn)

    def prompt(self, system_prompt: str) -> None:
        self.prompts.append(system_prompt)

    def prefix(self, prefix: Prefix) -> None:
        self.prefixes.append(prefix)

    def partial(self, part_id: str, text: str) -> None:
        self.partials.append((part_id, text))

    async def output(self, call_id: str, text: str, missing_bytes: int = 0) -> str:
        self.outputs[call_id] = text
        return f"ref-{call_id}"

    def result(self, call_id: str, result: ToolResultPart) -> None:
        self.results[call_id] = result

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        self.pictures[message_id] = tuple(images)

    def record_read(self, path: str, digest: str) -> None:
        self.seen[path] = digest

    async def sync(self) -> None:
        self.syncs += 1
        await checkpoint()

    @property
    def kinds(self) -> list[str]:
        return [envelope.kind for envelope in self.envelopes]

    def of(self, kind: type[E]) -> list[E]:
        return [envelope.event for envelope in self.envelopes if isinstance(envelope.event, kind)]


class Notices:
    """A NoticeBoard that returns each notice once."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def collect(self) -> None:
        await checkpoint()

    def take_messages(self) -> Sequence[str]:
        taken, self.texts = self.texts, []
        return taken


class AnyArguments(Arguments):
    value: str = ""


async def _quiet(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
    return ToolOutput(f"did {arguments.value}".strip())


Run = Callable[[Any, ToolContext], Awaitable[ToolOutput]]


def tool(
    name: str,
    run: Run = _quiet,
    *,
    category: Category = "read",
    effect: Effect | Callable[[], Effect] | None = None,
    terminal: bool = False,
    arguments: type[Arguments] = AnyArguments,
) -> Tool[Any]:
    """Return a tool that runs `run`. A callable `effect` is called at each preparation."""

    async def prepare(parsed: Any, context: ToolContext) -> Prepared:
        await checkpoint()
        now = effect() if callable(effect) else effect or NoEffect()
        return Prepared(now, lambda: run(parsed, context))

    return Tool(
        name=name,
        description=f"The tool {name}.",
        category=category,
        arguments=arguments,
        prepare=prepare,
        summarize=lambda parsed: f"{name} {getattr(parsed, 'value', '')}".strip(),
        terminal=terminal,
    )


def profile(*tools: Tool[Any], **changes: Any) -> ProviderProfile:
    values: dict[str, Any] = {
        "id": "fake",
        "model": "model-1",
        "base_prompt": "You are a test.",
        "registry": ToolRegistry(tools),
        "context_window_tokens": 100_000,
    }
    return ProviderProfile(**(values | changes))


@dataclass
class RunningSession:
    """A session and its fakes."""

    session: Session
    recorder: MemoryRecorder
    clock: FakeClock
    notices: Notices
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def kinds(self) -> list[str]:
        return self.recorder.kinds

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until `count` events of this kind are recorded."""
        with anyio.fail_after(DEADLINE_S), self.session.subscribe() as events:
            while self.kinds.count(kind) < count:
                await events.__anext__()

    async def idle(self, turns: int = 1) -> None:
        await self.until("processing_end", turns)

    async def say(self, text: str) -> None:
        """Submit a message and wait for the end of processing."""
        before = self.kinds.count("processing_end")
        self.session.submit(text)
        await self.until("processing_end", before + 1)


def make_session(
    client: ModelClient,
    *tools: Tool[Any],
    approver: Approver | None = None,
    config: SessionConfig | None = None,
    environment: ExecutionEnvironment | None = None,
    recorder: Recorder | None = None,
    clock: Clock | None = None,
    notices: Notices | None = None,
    restored: RestoredSession | None = None,
    prompts: PromptSource | None = None,
    **profile_changes: Any,
) -> Session:
    return Session(
        session_id=SessionId("s-1"),
        profile=profile(*tools, **profile_changes),
        config=config or SessionConfig(),
        ports=Ports(
            client=client,
            environment=environment or MemoryEnvironment(),
            approver=approver or FakeApprover(),
            recorder=recorder or MemoryRecorder(),
            clock=clock or FakeClock(),
            notices=notices or Notices(),
            prompts=prompts or BasePrompt(),
        ),
        restored=restored,
    )


@asynccontextmanager
async def running_session(
    client: ModelClient, *tools: Tool[Any], **options: Any
) -> AsyncIterator[RunningSession]:
    """Run a session; abort it at the end of the block and wait until it has ended."""
    recorder, clock, notices = MemoryRecorder(), FakeClock(), Notices()
    session = make_session(client, *tools, recorder=recorder, clock=clock, notices=notices, **options)
    made = RunningSession(session, recorder, clock, notices)

    async def run() -> None:
        await session.run()
        made.ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            yield made
        finally:
            session.abort()
            with anyio.CancelScope(shield=True), anyio.fail_after(DEADLINE_S):
                await made.ended.wait()


def started_and_ended(recorder: MemoryRecorder) -> tuple[list[str], list[str]]:
    """Return the ids of calls in the order of their starts, and in the order of their ends."""
    starts = [event.call_id for event in recorder.of(ToolCallStart)]
    return starts, [event.call_id for event in recorder.of(ToolCallEnd)]
