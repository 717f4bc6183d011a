"""A server stops in the middle of writing files, and its session is taken over by force (docs/durability.md)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from tests.e2e.test_owners import owner, taken
from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.processes import eventually
from tests.support.served import Served, served

pytestmark = [pytest.mark.req("R4", "R7"), pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")]

FILES = 40
PATCH = "".join(f"*** Add File: many/{at}.txt\n+new\n" for at in range(FILES))
COMMAND = f"apply_patch <<'EOF'\n*** Begin Patch\n{PATCH}*** End Patch\nEOF"


STOPPING = (sys.executable, "-m", "tests.e2e.stopping_server", ".txt", "serve", "--stdio")
"""A server that stops when all temporary files are written and the first one is about to be renamed."""


def is_stopped(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None


async def stopped_when_all_is_staged(first: Served) -> None:
    folder = first.project / "many"
    await eventually(lambda: is_stopped(first.server.process.pid))
    assert not list(folder.glob("*.txt"))
    assert len(list(folder.glob(".agent-ls-*"))) == FILES


async def test_a_file_write_interrupted_by_a_forced_take_over_is_never_completed(tmp_path: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": COMMAND})], "By the other."]) as provider:
        async with (
            served(tmp_path, provider=provider, command=STOPPING) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic", mode="full")
            await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            try:
                await stopped_when_all_is_staged(first)
                await taken(second, session_id, force=True)
                found = sorted(os.listdir(first.project / "many"))
                assert not found, "what was staged is swept"
            finally:
                os.kill(first.server.process.pid, signal.SIGCONT)
            await first.client.event("access", access="readOnly", owner=owner(second))
            # The writing thread has ended too, or the process could not exit.
            with anyio.fail_after(DEADLINE_S):
                await first.client.request("shutdown")
                await first.client.notify("exit")
                assert await first.server.exit_code() == 0
            assert sorted(os.listdir(first.project / "many")) == []
