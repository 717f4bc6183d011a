"""Find configured MCP servers and hooks that are not started, because a session works on another machine.

These programs are written for the machine on which they are configured. A server or a hook of the project must not run
on this machine, which does not have the project. A hook of the user would get remote paths, which name other
files, or no files, on this machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import anyio.to_thread

from agent_ls.environments.errors import EnvironmentLostError
from agent_ls.features.base import SessionFeature
from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.mcp.of_session import PROJECT_FILES, has_own_servers
from agent_ls.loop.events.types import RecordedEvent, Warning
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.workspaces.remote_sites import RemoteSite

_HOOKS = (os.path.join(".agent-ls", "hooks.json"),)
_FOREIGN_HOOKS = tuple(os.path.join(".claude", name) for name in ("settings.json", "settings.local.json"))


def find_not_started(
    site: RemoteSite,
    settings: Callable[[], Settings],
    state: Path,
    client: Callable[[], Mapping[str, object]],
) -> Iterator[str]:
    """Yield the name of each kind of program that is configured for a session at `site` but not started.
    Blocks.

    `client` returns the MCP servers that the session's client configured.

    Raises:
        EnvironmentLostError: the connection to the other machine is lost.
    """
    hooks, servers = settings().hooks, settings().mcp
    if hooks.enabled:
        if load_hooks(hooks, str(state), None).hooks:
            yield "your hooks"
        if _exists(site, _HOOKS) or (hooks.foreign and any(map(partial(_has_hooks, site), _FOREIGN_HOOKS))):
            yield "the project's hooks"
    if servers.servers or client() or has_own_servers(state):
        yield "your MCP servers"
    if servers.project_files and _exists(site, PROJECT_FILES):
        yield "the project's MCP servers"


def _exists(site: RemoteSite, names: tuple[str, ...]) -> bool:
    return any(facts.exists for facts in site.disk.read_facts([f"{site.root}/{name}" for name in names]))


def _has_hooks(site: RemoteSite, name: str) -> bool:
    """Return whether the settings file `name` of another agent has hooks. True if the file cannot be parsed."""
    if not _exists(site, (name,)):
        return False
    (found,) = site.host.instruction_texts([(f"{site.facts.root}/{name}", site.facts.root)])
    try:
        read = json.loads(found.text)
    except (ValueError, RecursionError):
        return True
    return not isinstance(read, dict) or bool(read.get("hooks"))


class NotStarted(SessionFeature):
    """Warns once, at the first input, about programs that are not started for a remote session.

    `find` returns the names of the programs, like `find_not_started`; it blocks. `emit` emits an event of the
    session.
    """

    def __init__(
        self,
        machine: str,
        find: Callable[[], Iterator[str]],
        emit: Callable[[RecordedEvent], object],
    ) -> None:
        self._machine = machine
        self._find = find
        self._emit = emit
        self._has_looked = False

    async def prepare(self, profile: ProviderProfile) -> None:
        if not self._has_looked:
            self._has_looked = True
            if names := await anyio.to_thread.run_sync(self._names):
                self._emit(Warning(_warning(self._machine, names), "place"))

    def _names(self) -> tuple[str, ...]:
        try:
            return tuple(self._find())
        except EnvironmentLostError:
            self._has_looked = False
            return ()


def _warning(machine: str, names: tuple[str, ...]) -> str:
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return (
        f"{listed[:1].upper()}{listed[1:]} are not started, because they would run on this machine, but the "
        f"project is on {machine}. If you need them, run agent-ls on {machine}."
    )
