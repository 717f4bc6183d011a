"""Log in to servers of oauth_server.py as the commands of agent-ls do, and play the user's browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2

from agent_ls.features.mcp.trial import log_in, try_server
from agent_ls.mcp.config import ServerConfig, parse_server
from agent_ls.mcp.descriptions import ServerTool
from tests.mcp.oauth_server import Seen

NAME = "closed"
DEADLINE_S = 100


async def browse(address: str) -> None:
    """Play the user, who allows everything."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(address)


def entry_of(seen: Seen, **more: Any) -> ServerConfig:
    return parse_server(NAME, {"url": seen.url, **more}, "user")


async def logged_in(
    tmp_path: Path,
    config: ServerConfig,
    environ: Mapping[str, str] | None = None,
    show: Callable[[str], Awaitable[None]] = browse,
) -> None:
    with anyio.fail_after(DEADLINE_S):
        await log_in(config, tmp_path / "state", tmp_path, environ or {}, show)


async def tried(
    tmp_path: Path, config: ServerConfig, environ: Mapping[str, str] | None = None
) -> Sequence[ServerTool]:
    """Connect with the stored login; return the tools."""
    return (await try_server(config, tmp_path / "state", tmp_path, environ or {})).tools


def asked_for(seen: Seen) -> Mapping[str, str]:
    """Return what the last login asked for."""
    return dict(parse_qsl(urlsplit(seen.authorizations[-1]).query))
