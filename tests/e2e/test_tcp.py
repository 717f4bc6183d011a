"""Editors that connect by TCP: each needs the token, has its own state, and does not affect the others."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agent_ls.services.store_errors import STATE_VARIABLE
from tests.e2e.two_clients import one_has_a_session_until_it_leaves
from tests.support.editor import Editor
from tests.support.framed_client import DEADLINE_S, FramedClient, ResponseError, ServerProcess, server_process

pytestmark = pytest.mark.req("H1")


@asynccontextmanager
async def listening(token: Path) -> AsyncIterator[tuple[ServerProcess, int]]:
    command = (sys.executable, "-m", "agent_ls", "serve", "--tcp", "0", "--token-file", str(token))
    async with server_process(command) as server:
        log = await server.logged("listening on")
        yield server, int(log.partition("127.0.0.1:")[2].partition(",")[0])


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[FramedClient]:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream, anyio.create_task_group() as tasks:
        client = FramedClient(stream, stream)
        tasks.start_soon(client.run)
        yield client
        tasks.cancel_scope.cancel()


async def test_two_editors_have_separate_state_and_share_only_closed_sessions(
    tmp_path: Path,
) -> None:
    token, project = tmp_path / "token", tmp_path / "project"
    project.mkdir()
    async with listening(token) as (_, port):
        secret = token.read_text().strip()
        assert token.stat().st_mode & 0o777 == 0o600 and len(secret) >= 32
        async with connected(port) as one, connected(port) as two:
            first, second = Editor(one), Editor(two)
            for editor in (first, second):
                await editor.start(project, token=secret)
            await one_has_a_session_until_it_leaves(first, second, "What is here?")
            assert not any(m.get("method") == "window/showMessage" for m in one.received + two.received)


@pytest.mark.req("R2", "R4")
async def test_sigterm_to_the_listener_ends_the_sessions_of_its_servers_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, project, state = tmp_path / "token", tmp_path / "project", tmp_path / "state"
    project.mkdir()
    monkeypatch.setenv(STATE_VARIABLE, str(state))
    async with listening(token) as (server, port), connected(port) as client:
        editor = Editor(client)
        await editor.start(project, token=token.read_text().strip())
        session_id = await editor.new_session()
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0
    (log,) = state.glob(f"workspaces/*/sessions/{session_id}/log.jsonl")
    assert '"kind":"session_end"' in log.read_text()


async def test_a_connection_without_the_token_is_refused_and_new_connections_are_still_accepted(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    async with listening(token) as (server, port):
        for given in (None, "", "wrong", 7):
            async with connected(port) as client:
                with pytest.raises(ResponseError) as refused:
                    await client.initialize(initializationOptions={"agentLs": {"token": given}})
                assert "token" in refused.value.message
                with anyio.fail_after(DEADLINE_S):
                    await client.ended.wait()
        async with connected(port) as client:
            options = {"agentLs": {"token": token.read_text().strip()}}
            result = await client.initialize(initializationOptions=options)
            assert result["serverInfo"]["name"] == "agent-ls"
        assert token.read_text().strip() not in server.log
