"""The local channel of a real server: another process of the same user decides in the sessions of an editor."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.e2e.channel_client import channel_client, hello, opened, socket_of
from tests.support.editor import new_key
from tests.support.framed_client import DEADLINE_S, ResponseError
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.processes import eventually
from tests.support.served import Served, served, served_session

pytestmark = [
    pytest.mark.req("H29"),
    pytest.mark.skipif(os.name != "posix", reason="Windows has no local channel"),
]


MAKE_FILE = ToolCall("shell", {"command": "touch made-by-agent"})


@asynccontextmanager
async def editing(tmp_path: Path, script: Sequence[Answer]) -> AsyncIterator[Served]:
    """Run an editor with a server whose model answers with this script."""
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            yield found


async def test_only_the_user_can_reach_the_socket_and_the_token(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        path = await socket_of(found.state, found.server.process.pid)
        modes = [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path, path.parent / "token")]
        assert modes == [0o700, 0o600, 0o600]
        await found.client.shut_down()
        assert await found.server.exit_code() == 0
        assert not path.exists()


async def test_a_channel_client_without_the_token_gets_an_error_and_is_disconnected(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        for token in ("", "x" * 43):
            async with opened(await socket_of(found.state, found.server.process.pid)) as client:
                with pytest.raises(ResponseError, match="token"):
                    await client.request("initialize", hello(token))
                with anyio.fail_after(DEADLINE_S):
                    await client.ended.wait()
        session_id = await found.editor.new_session()  # the editor is not affected
        async with opened(await socket_of(found.state, found.server.process.pid)) as client:
            await client.notify("agent/abort", {"sessionId": session_id})
            with anyio.fail_after(DEADLINE_S):
                await client.ended.wait()


async def test_a_socket_left_by_a_killed_server_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        left = await socket_of(found.state, found.server.process.pid)
        found.server.process.kill()
        await found.server.exit_code()
        assert left.exists()
    async with served(tmp_path) as found:
        await socket_of(found.state, found.server.process.pid)
        assert not left.exists()


async def test_a_channel_client_that_disconnects_leaves_the_approval_pending(tmp_path: Path) -> None:
    script: list[Answer] = [[MAKE_FILE], "Done."]
    async with editing(tmp_path, script) as found:
        session_id = await found.editor.new_session(provider="anthropic", mode="ask")
        await found.editor.submit(session_id, "Make it.")
        asked = await found.client.event("approval_requested")
        async with channel_client(found.state, found.server.process.pid) as panel:
            await panel.request("agent/subscribe", {"sessionId": session_id})
        (pending,) = (await found.editor.subscribe(session_id))["pending"]["approvals"]
        assert pending["requestId"] == asked["data"]["requestId"]
        assert not (found.project / "made-by-agent").exists()
        await found.change(
            "approve", session_id, requestId=asked["data"]["requestId"], decision="deny", scope="once"
        )
        await found.client.event("processing_end")
        assert not (found.project / "made-by-agent").exists()


REFUSED: list[tuple[str, dict[str, Any] | None]] = [
    ("agent/setCredential", {"provider": "anthropic", "key": "sk-stolen", "clientKey": "k"}),
    ("agent/trust", {"folder": "file:///", "clientKey": "k"}),
    ("agent/deleteSession", {"clientKey": "k"}),
    ("agent/draft", {"text": "theirs"}),
    ("agent/editorState", {}),
    ("workspace/didChangeConfiguration", {"settings": {}}),
    ("shutdown", None),
]


async def test_the_channel_rejects_requests_for_keys_trust_deletion_drafts_settings_and_shutdown(
    tmp_path: Path,
) -> None:
    async with served_session(tmp_path) as (found, session_id):
        async with channel_client(found.state, found.server.process.pid) as panel:
            for method, params in REFUSED:
                with pytest.raises(ResponseError) as refused:
                    await panel.request(method, params and {"sessionId": session_id, **params})
                assert refused.value.data["kind"] == "unknown_method", method
        assert (await found.editor.subscribe(session_id))["session"]["access"] == "owner"


CHANGED = "workspace/didChangeConfiguration"


@pytest.mark.req("H2")
async def test_the_channel_socket_exists_only_while_the_panel_setting_is_on(tmp_path: Path) -> None:
    def has_socket(pid: int) -> bool:
        return any((tmp_path / "state" / "channels").glob(f"*-{pid}-*.sock"))

    async with served(tmp_path, panel=False) as found:
        pid = found.server.process.pid
        session_id = await found.editor.new_session()
        async with served(tmp_path) as later:
            await socket_of(later.state, later.server.process.pid)
            assert not has_socket(pid)
        await found.client.request("agent/trust", {"sessionId": session_id, "clientKey": new_key()})
        await found.client.notify(CHANGED, {"settings": {"agentLs": {"panel": True}}})
        async with channel_client(found.state, pid) as panel:
            await panel.request("agent/subscribe", {"sessionId": session_id})
            await found.client.notify(CHANGED, {"settings": {"agentLs": {"panel": False}}})
            with anyio.fail_after(DEADLINE_S):
                await panel.ended.wait()
        await eventually(lambda: not has_socket(pid))
        assert (await found.editor.subscribe(session_id))["session"]["access"] == "owner"
