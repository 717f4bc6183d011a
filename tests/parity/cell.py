"""One cell of the parity matrix: a session of the library in a folder, with a strict server of one provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls import AgentSession, Event
from agent_ls.loop.events.types import Error, ToolCallEnd, ToolCallStart, Warning
from agent_ls.tools.base import Tool
from tests.parity import wires
from tests.support.commands import provider_variables
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    GeminiServer,
    LoopbackProvider,
    OpenAIResponsesServer,
    Script,
    ToolCall,
)
from tests.support.sdk_bodies import faults_of

DEADLINE_S = 240
SERVERS: Mapping[str, Callable[..., LoopbackProvider]] = {
    "openai": OpenAIResponsesServer,
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
}
SKIPPED_SIGNATURE = "skip_thought_signature_validator"


@dataclass
class Cell:
    """A session and its server. `script` are the model's next answers, `events` all events of the session."""

    provider: str
    server: LoopbackProvider
    folder: Path
    session: AgentSession
    script: list[Answer]
    events: list[Event]

    def answers(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def say(self, text: str) -> list[Event]:
        """Run one input to its end; return its events."""
        with anyio.fail_after(DEADLINE_S):
            seen = [event async for event in self.session.run(text)]
        self.events += seen
        troubles = [event for event in seen if isinstance(event, Error | Warning)]
        assert troubles == [], troubles
        return seen

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.server.requests]

    @property
    def results(self) -> list[wires.Result]:
        """Return the results of all calls in the model's last request."""
        return wires.results(self.provider, self.bodies[-1])

    @property
    def user_texts(self) -> list[str]:
        return wires.user_texts(self.provider, self.bodies[-1])

    def write(self, path: str, text: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    def edit(self, path: str, *changes: tuple[str, str]) -> list[ToolCall]:
        """Return calls that replace single lines, in the edit format of the model family."""
        return edit_calls(self.provider, path, *changes)


async def yes(request: agent_ls.ApprovalRequested) -> bool:
    return True


def edit_calls(provider: str, path: str, *changes: tuple[str, str]) -> list[ToolCall]:
    if provider == "openai":
        hunks = "".join(f"@@\n-{old}\n{added(new)}" for old, new in changes)
        return [patch(f"*** Update File: {path}\n{hunks}")]
    return [
        ToolCall("edit_file", {"file_path": path, "old_string": old, "new_string": new})
        for old, new in changes
    ]


def added(text: str) -> str:
    return "".join(f"+{line}\n" for line in text.split("\n"))


def patch(sections: str) -> ToolCall:
    return ToolCall("apply_patch", {"patch": f"*** Begin Patch\n{sections}*** End Patch\n"})


@asynccontextmanager
async def cell(
    provider: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    model: Callable[[Any], Answer] | None = None,
    tools: Sequence[Tool[Any]] = (),
    settings: Mapping[str, Any] | None = None,
    effort: str = "low",
) -> AsyncIterator[Cell]:
    """Run a cell. At its end the server must have refused nothing, each call must have one result, and all
    bodies must be valid for the SDK.

    `model` answers by the content of the request, instead of a script.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    script: list[Answer] = []
    answering: Script = model or script
    with SERVERS[provider](answering, key="test-key") as server:
        for name, value in provider_variables(server).items():
            monkeypatch.setenv(name, value)
        async with agent_ls.open_session(
            folder,
            provider=provider,
            approve=yes,
            effort=effort,
            tools=tools,
            settings=settings,
            state_dir=tmp_path / "state",
        ) as session:
            made = Cell(provider, server, folder, session, script, [])
            yield made
            check_calls(made.events)
    assert (faults := faults_of(server, provider)) == [], faults
    assert model or len(server.requests) == len(script), (
        "the model was asked more or less often than it has answers"
    )
    assert SKIPPED_SIGNATURE not in str(made.bodies), "a signature that the service gave was lost"


def check_calls(events: Sequence[Event]) -> None:
    starts = [event.call_id for event in events if isinstance(event, ToolCallStart)]
    ends = [event.call_id for event in events if isinstance(event, ToolCallEnd)]
    assert sorted(starts) == sorted(ends), (starts, ends)
    assert len(set(ends)) == len(ends)
