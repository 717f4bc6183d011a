"""Create the sandboxes of a session's MCP servers: one for each server that is configured to run in one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.wrappers.sandboxed import SandboxedCommand
from agent_ls.policy.places import Places
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.settings.model import SandboxSettings

if TYPE_CHECKING:
    from agent_ls.mcp.config import ServerSandboxLimits


@dataclass(slots=True)
class ServerConfinement:
    """Creates one sandbox for each MCP server of a session that is configured to run in one.

    `places` returns the session's folders. `state`, the folder of keys, rules and sessions, is hidden from servers.
    """

    places: Callable[[], Places]
    state: Path
    _raised: list[tuple[SessionSandbox, SandboxedCommand]] = field(default_factory=list)

    async def confine(
        self, wanted: ServerSandboxLimits, command: str, options: CommandOptions, folder: str
    ) -> tuple[str, CommandOptions]:
        """Return the command that runs a server in its own sandbox.

        Raises:
            ProcessStartError: this machine has no sandbox. The server is not run without one.
        """
        settings = SandboxSettings(enabled=True, network=wanted.network, writable=list(wanted.writable))
        read_only = ReadOnlySandbox(self.state)
        sandbox = SessionSandbox(settings, self.places, str(self.state), lambda event: None, read_only)
        why = await sandbox.start_sandbox()

        def within() -> SandboxedCommand | None:
            return sandbox.wrap_command(command, options, os.path.realpath(folder), is_read_only=False)

        inside = await anyio.to_thread.run_sync(within)
        if inside is None:
            await anyio.to_thread.run_sync(sandbox.take_down)
            raise ProcessStartError(
                f"The settings require a sandbox for this server, but none is available: {why}."
            )
        self._raised.append((sandbox, inside))
        return inside.command, inside.options

    async def close(self) -> None:
        """Remove all sandboxes, once their servers have ended."""

        def remove() -> None:
            while self._raised:
                sandbox, inside = self._raised.pop()
                sandbox.rename_forbidden_files(inside)
                sandbox.take_down()

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove)
