"""Commands of a session that end, or are stopped, between two steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import anyio
import pytest

from agent_ls.environments.base import ProcessInfo
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.loop.calls.terminals import SessionTerminals
from agent_ls.loop.emission import DeltaKind
from agent_ls.loop.events.types import Envelope, RecordedEvent
from agent_ls.tools.base import ToolOutput
from tests.support.fake_clock import FakeClock

EFFECT = CommandEffect("serve", "/", background=True)


class RecordedEvents:
    """Records the events of a session's commands."""

    turn_id = "t-1"
    waiting_calls: Collection[str] = ()

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []

    def emit(self, event: RecordedEvent) -> Envelope:
        self.events.append(event)
        return Envelope("s-1", len(self.events), "", event)

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None: ...

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "") -> None: ...

    def close_part(self, part_id: str) -> None: ...

    def text_of(self, part_id: str) -> str:
        return ""


class OneProcess(ForwardingEnvironment):
    """An environment with one command, which prints "last" after the first query and ends."""

    def __init__(self) -> None:
        super().__init__(MemoryEnvironment({}))
        self.killed: list[str] = []
        self._is_over = False

    async def list_processes(self) -> Sequence[ProcessInfo]:
        was_over, self._is_over = self._is_over, True
        return [ProcessInfo("p1", "serve", 7, 0 if was_over else None, 0)]

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        text = "first last" if self._is_over else "first"
        self._is_over = True
        return text[offset:], len(text)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        await anyio.sleep_forever()
        raise AssertionError

    async def kill_process(self, process_id: str) -> ProcessInfo:
        self.killed.append(process_id)
        return ProcessInfo(process_id, "serve", 7, -15, 0)


async def start() -> ToolOutput:
    return ToolOutput("Started.", process_id="p1")


@pytest.mark.req("T5")
async def test_reading_an_ended_command_returns_all_of_its_output() -> None:
    terminals = SessionTerminals(OneProcess(), RecordedEvents(), FakeClock())
    await terminals.run("c1", EFFECT, start)
    found = await terminals.read("c1", 0)
    if found.running:
        found = await terminals.read("c1", 0)

    assert not found.running and found.text == "first last"


@pytest.mark.req("T5")
async def test_a_background_command_stopped_during_its_start_is_ended() -> None:
    environment, has_begun, may_end = OneProcess(), anyio.Event(), anyio.Event()
    terminals = SessionTerminals(environment, RecordedEvents(), FakeClock())

    async def start_slowly() -> ToolOutput:
        # a process start cannot be cancelled, because then no owner would end the process
        with anyio.CancelScope(shield=True):
            has_begun.set()
            await may_end.wait()
        return await start()

    with anyio.fail_after(240):
        async with anyio.create_task_group() as group:
            terminals.use_task_group(group)
            group.start_soon(terminals.run, "c1", EFFECT, start_slowly)
            await has_begun.wait()
            await terminals.kill("c1")
            may_end.set()
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    assert environment.killed == ["p1"]
