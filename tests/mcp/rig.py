"""Sessions with MCP servers for tests. The time limits are long, because a busy machine may start servers slowly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

import agent_ls.mcp.session  # noqa: F401  # imported before the time of a test runs
from agent_ls.llm.messages import ToolResultPart
from agent_ls.mcp.managed_server import ManagedServer, State
from agent_ls.mcp.session_servers import SessionServers
from agent_ls.services.settings.model import Settings
from tests.mcp.plans import raw_server, user_file
from tests.support import session_rig
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import SessionRig, Talk

DEADLINE_S = 240


@asynccontextmanager
async def running(
    tmp_path: Path,
    script: Sequence[Piece | Sequence[Piece]] = (),
    *,
    options: dict[str, Any] | None = None,
    **mcp: Any,
) -> AsyncIterator[SessionRig]:
    """Run a session manager. `mcp` are settings of the section `mcp`; `options` are passed to the session rig."""
    section = {"firstWaitMs": DEADLINE_S * 1000, "startTimeoutMs": DEADLINE_S * 1000, **mcp}
    settings = Settings.model_validate({"mcp": section, "walkthroughPauseMs": 0})
    async with session_rig.running(tmp_path, script, settings=settings, **(options or {})) as rig:
        yield rig


def servers_of(talk: Talk) -> SessionServers:
    assert talk.live.servers
    return talk.live.servers.made[0]


async def until_state(talk: Talk, name: str, *states: State) -> ManagedServer:
    """Wait until a server has one of these states."""
    with anyio.fail_after(DEADLINE_S):
        while True:
            news = servers_of(talk).news
            server = servers_of(talk).server(name)
            if server and server.state in states:
                return server
            await news.wait()


async def echoed(tmp_path: Path, **plan: Any) -> ToolResultPart:
    """Call the tool `echo` of a server with this plan. Return the result that the model gets."""
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk("full", say="go")
        (found,) = rig.results()
        return found
