"""A scripted model that plays the main agent and its subagents."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from agent_ls.llm.messages import Role
from agent_ls.llm.requests import Request
from agent_ls.llm.stream import StreamEvent
from tests.support.fake_provider import CallTool, FakeProvider, Piece, tool_call

Script: TypeAlias = Iterable[Piece | Sequence[Piece]]


class Cast:
    """A scripted model for the main agent and its subagents.

    If a word in `agents` occurs in the task of a request, the request follows the script of that word, else `main`.
    """

    name = "fake"

    def __init__(self, main: Script, agents: Mapping[str, Script]) -> None:
        self.main = FakeProvider(main)
        self.agents = {word: FakeProvider(script) for word, script in agents.items()}

    @property
    def requests(self) -> list[Request]:
        """Return the requests of the main agent."""
        return self.main.requests

    @property
    def open_streams(self) -> int:
        return sum(player.open_streams for player in (self.main, *self.agents.values()))

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        return self._player(request).stream(request)

    async def complete(self, request: Request) -> Any:
        return await self._player(request).complete(request)

    async def close(self) -> None:
        return None

    def _player(self, request: Request) -> FakeProvider:
        said = [message.text for message in request.messages if message.role is Role.USER]
        tasks = [text.partition("The task:\n\n")[2] for text in said]
        named = (player for word, player in self.agents.items() if any(word in task for task in tasks))
        return next(named, self.main)


def spawn(task: str, id: str = "spawn", **arguments: Any) -> CallTool:
    return tool_call("spawn_agent", json.dumps({"task": task, **arguments}), id=id)


def wait_for(agent_id: str, id: str = "wait") -> CallTool:
    return tool_call("wait", json.dumps({"agent_id": agent_id}), id=id)


def close(agent_id: str, id: str = "close") -> CallTool:
    return tool_call("close_agent", json.dumps({"agent_id": agent_id}), id=id)


def send(agent_id: str, message: str, id: str = "send") -> CallTool:
    return tool_call("send_input", json.dumps({"agent_id": agent_id, "message": message}), id=id)
