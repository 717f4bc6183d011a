"""A real server process and a client (`Editor`) with the sample project open, for tests of session messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from agent_ls.cli.sample import copy_sample_project
from tests.support.editor import Editor, new_key
from tests.support.framed_client import SERVE, FramedClient, ResponseError, ServerProcess, server_process
from tests.support.loopback import LoopbackProvider

TASK = "Please fix the discount."


@dataclass
class Served:
    editor: Editor
    server: ServerProcess
    project: Path
    state: Path

    @property
    def client(self) -> FramedClient:
        return self.editor.client

    async def ask(self, method: str, session_id: str, **params: Any) -> dict[str, Any]:
        """Send a request about a session."""
        answer: dict[str, Any] = await self.client.request(
            f"agent/{method}", {"sessionId": session_id, **params}
        )
        return answer

    async def change(self, method: str, session_id: str, **params: Any) -> dict[str, Any]:
        """Send a request that changes a session, with a new client key."""
        return await self.ask(method, session_id, clientKey=new_key(), **params)

    async def refused(self, method: str, session_id: str, **params: Any) -> ResponseError:
        """Send a request with a client key; return the error that it must get."""
        try:
            answer = await self.change(method, session_id, **params)
        except ResponseError as error:
            assert error.data["hint"], f"the error has no hint: {error}"
            return error
        raise AssertionError(f"{method} was answered: {answer}")

    async def task_done(self, text: str = TASK) -> str:
        """Create a session, let the walkthrough do its task with all approvals allowed, and return its id."""
        session_id = await self.editor.new_session()
        await self.work_off(session_id, text)
        return session_id

    async def work_off(self, session_id: str, text: str) -> None:
        """Submit a message, allow all approvals, and wait for the end of processing."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.editor.approve_all)
            tasks.start_soon(self.editor.do_as_asked)
            await self.editor.say(session_id, text)
            tasks.cancel_scope.cancel()

    def folder(self, session_id: str) -> Path:
        """Return the folder in which the session is stored."""
        return next(self.state.glob(f"workspaces/*/sessions/{session_id}"))

    def recorded(self, session_id: str) -> list[dict[str, Any]]:
        """Return the received events of a session that are in its log."""
        return [e for e in self.client.events if e["sessionId"] == session_id and "seq" in e]


@asynccontextmanager
async def served(
    tmp_path: Path,
    name: str = "vscode",
    provider: LoopbackProvider | None = None,
    command: tuple[str, ...] = SERVE,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Run a server on the sample project. A later server with the same `tmp_path` finds the stored sessions.

    `provider` answers sessions of "anthropic"; `command` starts the server.
    """
    project, state = tmp_path / "project", tmp_path / "state"
    if not project.exists():
        copy_sample_project(project)
    env = {"AGENT_LS_STATE_DIR": str(state)}
    if provider:
        env |= {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
    async with server_process(command, env=env) as server:
        editor = Editor(server.client, name)
        await editor.start(project, **settings)
        yield Served(editor, server, project, state)


@asynccontextmanager
async def served_session(
    tmp_path: Path, provider: LoopbackProvider | None = None, *, say: str = "", **params: Any
) -> AsyncIterator[tuple[Served, str]]:
    """Run a server as `served` does, with a new session. `say` is its first message, `params` are its options."""
    async with served(tmp_path, provider=provider) as found:
        chosen = {"provider": "anthropic"} if provider else {}
        session_id = await found.editor.new_session(**chosen, **params)
        if say:
            await found.editor.submit(session_id, say)
        yield found, session_id
