"""A server that stands still in the middle of writing files, and whose session is taken by force (PROTOCOL, Rules)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio.lowlevel
import pytest

from tests.e2e.test_owners import owner, taken
from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = [pytest.mark.req("R4", "R7"), pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")]

FILES = 400
PATCH = "".join(f"*** Add File: many/{at}.txt\n+new\n" for at in range(FILES))
COMMAND = f"apply_patch <<'EOF'\n*** Begin Patch\n{PATCH}*** End Patch\nEOF"


async def stopped_while_it_stages(first: Served) -> None:
    """Before the first of them has its name: staging them all, each put safely on the disk, takes a while."""
    folder = first.project / "many"
    with anyio.fail_after(DEADLINE_S):
        while not folder.exists() or not any(folder.iterdir()):
            await anyio.lowlevel.checkpoint()
    os.kill(first.server.process.pid, signal.SIGSTOP)
    assert not list(folder.glob("*.txt")), "it was stopped too late to tell anything"
    assert list(folder.glob(".agent-ls-*")), "it has staged some"


async def test_what_it_was_about_to_write_comes_never(tmp_path: Path) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": COMMAND})], "By the other."]) as provider:
        async with (
            served(tmp_path, provider=provider) as first,
            served(tmp_path, provider=provider) as second,
        ):
            session_id = await first.editor.new_session(provider="anthropic", mode="full")
            await second.editor.subscribe(session_id)
            await first.editor.submit(session_id, "go")
            try:
                await stopped_while_it_stages(first)
                await taken(second, session_id, force=True)
                found = sorted(os.listdir(first.project / "many"))
                assert not found, "what was staged is swept"
            finally:
                os.kill(first.server.process.pid, signal.SIGCONT)
            await first.client.event("access", access="readOnly", owner=owner(second))
            with anyio.fail_after(DEADLINE_S):  # the commit's thread has given up, too
                await first.client.request("shutdown")
                await first.client.notify("exit")
                assert await first.server.exit_code() == 0
            assert sorted(os.listdir(first.project / "many")) == []
