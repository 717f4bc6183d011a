"""The smoke test of the loop specification, section 9.13: seven steps against the real service.

The real services cost money: they run with AGENT_LS_SMOKE=1, for each provider whose key is in the
environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls import AgentSession, Event
from agent_ls.loop.events.types import Error, SteeringInjected, SubagentChanged, ToolCallEnd, ToolCallStart
from tests.parity.cell import SERVERS, cell, yes
from tests.support.loopback import ToolCall
from tests.support.services import use_service

SERVICE_DEADLINE_S = 300  # for one input
DEFAULT_TIMEOUT_MS = 10_000  # of a command
BIG = "x" * 100_000
CREATE = "Create a file called hello.py that prints 'Hello World'"
EDIT = "Read hello.py and add a second print statement that says 'Goodbye'"
RUN = "Run hello.py and show the output"
READ = "Read big.txt"
BUILD = "Create a Flask web application with multiple routes"
STEER = "Actually, just create a single /health endpoint for now"
DELEGATE = "Spawn a subagent to write tests for hello.py, then review its output"
WAIT = "Run 'sleep 30' with the default timeout"
WAIT_NAMED = "Run 'sleep 30' with a timeout of {} milliseconds"


@dataclass(frozen=True)
class Smoke:
    """The seven steps in one session. `timeout_ms` is the expected time limit of a command."""

    provider: str
    session: AgentSession
    folder: Path
    state: Path
    timeout_ms: int

    async def run(self) -> None:
        await self.creation()
        await self.editing()
        await self.command()
        await self.truncation()
        await self.steering()
        await self.subagent()
        await self.timeout()

    async def creation(self) -> None:
        await self.say(CREATE)
        assert "Hello" in self.hello()

    async def editing(self) -> None:
        await self.say(EDIT)
        assert "Hello" in self.hello() and "Goodbye" in self.hello()

    async def command(self) -> None:
        ends = ended(await self.say(RUN), "shell")
        assert any("Hello" in end.output and "Goodbye" in end.output for end in ends)

    async def truncation(self) -> None:
        (self.folder / "big.txt").write_text(BIG)
        end, *_ = ended(await self.say(READ), "read_file")
        assert BIG in await self.session.output(end)
        # The log has the model's text of a result if it differs from the event's text.
        logs = [path.read_text() for path in self.state.rglob("*.jsonl")]
        assert any("[WARNING: Tool output was truncated." in log for log in logs)

    async def steering(self) -> None:
        seen = await self.say(BUILD, steer=STEER)
        assert [event.text for event in seen if isinstance(event, SteeringInjected)] == [STEER]
        written = [path.read_text() for path in self.folder.rglob("*.py")]
        assert any("/health" in text for text in written)

    async def subagent(self) -> None:
        seen = await self.say(DELEGATE)
        names = [event.name for event in seen if isinstance(event, ToolCallStart)]
        assert "spawn_agent" in names
        states = [event.status for event in seen if isinstance(event, SubagentChanged)]
        assert states[0] == "running" and states[-1] == "completed"

    async def timeout(self) -> None:
        by_itself = self.provider != "anthropic"
        seen = await self.say(WAIT if by_itself else WAIT_NAMED.format(self.timeout_ms))
        end, *_ = ended(seen, "shell")
        assert end.error_kind == "shell_timeout"
        assert f"timed out after {self.timeout_ms}ms" in end.output

    async def say(self, text: str, *, steer: str = "") -> list[Event]:
        seen: list[Event] = []
        with anyio.fail_after(SERVICE_DEADLINE_S):
            async for event in self.session.run(text):
                seen.append(event)
                if steer and event.kind == "tool_call_start":
                    self.session.steer(steer)
                    steer = ""
        assert [event for event in seen if isinstance(event, Error)] == []
        assert seen[-1].kind == "processing_end"
        return seen

    def hello(self) -> str:
        return (self.folder / "hello.py").read_text()


def ended(seen: list[Event], tool: str) -> list[Any]:
    return [event for event in seen if isinstance(event, ToolCallEnd) and event.name == tool]


@pytest.mark.req("P8", "L2")
async def test_a_command_is_ended_after_the_default_of_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 7 as specified, with all providers at once: no setting shortens the limit. Anthropic's models have a
    default of 120 s and request 10 s.
    """

    async def run(provider: str) -> None:
        given = {"timeout_ms": DEFAULT_TIMEOUT_MS} if provider == "anthropic" else {}
        own = tmp_path / provider
        own.mkdir()
        async with cell(provider, own, monkeypatch) as it:
            it.answers([ToolCall("shell", {"command": "sleep 30", **given})], "It takes too long.")
            await Smoke(provider, it.session, it.folder, own / "state", DEFAULT_TIMEOUT_MS).timeout()
            assert f"timed out after {DEFAULT_TIMEOUT_MS}ms" in it.results[0].text

    async with anyio.create_task_group() as group:
        for provider in SERVERS:
            group.start_soon(run, provider)


@pytest.mark.smoke
@pytest.mark.timeout(1800)
@pytest.mark.req("P8")
@pytest.mark.parametrize("provider", SERVERS)
async def test_smoke_steps_succeed_on_the_real_provider_service(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_service(provider, monkeypatch)
    folder, state = tmp_path / "project", tmp_path / "state"
    folder.mkdir()
    async with agent_ls.open_session(folder, provider=provider, approve=yes, state_dir=state) as session:
        await Smoke(provider, session, folder, state, DEFAULT_TIMEOUT_MS).run()
