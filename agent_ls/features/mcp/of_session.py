"""Create the MCP servers of a session when they are first needed, with the session's approvals, trust and settings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.environments.effects import ServerEffect
from agent_ls.features.base import SessionFeature
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, PendingApprovals, PolicyJudgement
from agent_ls.loop.calls.redaction import Known, redacted
from agent_ls.loop.seams import Clock
from agent_ls.mcp.names import LIST_OF_COMMAND, LIST_OF_EDITORS, command_for
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.permissions.trust import UNSTORED_SOURCES
from agent_ls.services.settings.model import Settings
from agent_ls.services.turn_reads import TurnReads

if TYPE_CHECKING:
    from agent_ls.environments.base import CommandOptions
    from agent_ls.features.mcp.confinement import ServerConfinement
    from agent_ls.mcp.config import ServerConfig, ServerSandboxLimits
    from agent_ls.mcp.managed_server import ServerContext
    from agent_ls.mcp.session_servers import SessionServers
    from agent_ls.mcp.sources import FoundServers
    from agent_ls.policy.places import Places

FILES = ("mcp.json",)
PROJECT_FILES = (".mcp.json", os.path.join(".vscode", "mcp.json"))

REASON = (
    "An MCP server is a separate program. agent-ls neither sees nor limits what it does on this machine, and "
    "`.agent-ls-ignore` does not apply to it. Approve the server only if you know it."
)
HANDED_OVER = " Your editor configured it for this session."
FETCHED = " This command downloads the program that it runs, so the program may be different each time."


def has_own_servers(account: Path) -> bool:
    """Return whether the user's own file has servers, or entries that are none. Blocks."""
    from agent_ls.mcp.sources import find_servers

    found = find_servers(account, None)
    return bool(found.servers or found.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersOfSession:
    """The MCP servers of one session, started when they are first needed.

    `account` is the folder with the user's own file of servers, None to leave it out. `client` returns the servers
    that the session's client configured. `is_trusted` returns whether the user trusts `folder`; it blocks. `warn`
    displays a warning to the user. `has_list`: the client shows a list of servers. `made` is empty until the
    servers are created.
    """

    folder: str
    state: Path
    account: Path | None
    settings: Callable[[], Settings]
    environ: Mapping[str, str]
    secrets: Known
    hide: Callable[[Sequence[str]], None]
    clock: Clock
    approvals: PendingApprovals
    turn_id: Callable[[], str]
    is_trusted: Callable[[], bool]
    roots: Callable[[], Sequence[str]]
    start: TaskStarter
    warn: Callable[[str], None]
    changed: Callable[[], None]
    client: Callable[[], Mapping[str, Mapping[str, Any]]]
    made: list[SessionServers]
    places: Callable[[], Places]
    has_list: bool
    boxes: list[ServerConfinement] = field(default_factory=list)

    @property
    def server_list(self) -> str:
        """Where the user finds the servers, for a message."""
        return LIST_OF_EDITORS if self.has_list else LIST_OF_COMMAND

    def are_configured(self) -> bool:
        """Return True if servers may be configured, False if none is. Blocks: checks whether some files exist."""
        if self.made or self.client() or self.settings().mcp.servers:
            return True
        return any(map(os.path.exists, self.looks()))

    def looks(self) -> Sequence[str]:
        """Return the files at which `are_configured` looks."""
        paths = [os.path.join(self.account, name) for name in FILES] if self.account else []
        if self.settings().mcp.project_files:
            paths += [os.path.join(self.folder, name) for name in PROJECT_FILES]
        return paths

    async def get(self) -> SessionServers:
        """Return the servers of this session. The first call creates them, and imports their modules in a thread,
        because the import takes long.
        """
        if not self.made:
            made = await anyio.to_thread.run_sync(self._make)
            if not self.made:
                self.made.append(made)
        return self.made[0]

    def names(self) -> Sequence[str]:
        """Return the names of the configured servers. Blocks."""
        return [it.name for it in self._find().servers]

    async def close(self) -> None:
        for servers in self.made:
            await servers.close()
        for box in self.boxes:
            await box.close()

    def _make(self) -> SessionServers:
        from agent_ls.mcp.approvals import ApprovalStore
        from agent_ls.mcp.cache import DescriptionCache
        from agent_ls.mcp.session_servers import ServerLimits, SessionServers, SessionServices

        def limits() -> ServerLimits:
            settings = self.settings().mcp
            return ServerLimits(settings.defer_at_percent, settings.call_timeout_ms, settings.first_wait_ms)

        services = SessionServices(
            find=self._find,
            approve=self._approve,
            start=self.start,
            warn=self.warn,
            now=self.clock.now,
            keep_folder=self.folder,
            approvals=ApprovalStore(self.state),
            cache=DescriptionCache(self.state),
            limits=limits,
            redact=lambda text: redacted(text, self.secrets()),
            changed=self.changed,
            server_list=self.server_list,
        )
        return SessionServers(services, self._context)

    def _find(self) -> FoundServers:
        from agent_ls.mcp.sources import FoundServers, SuppliedServers, find_servers

        if not self.is_trusted():
            return FoundServers()
        settings = self.settings().mcp
        entries = {
            name: entry.model_dump(by_alias=True, exclude_unset=True)
            for name, entry in settings.servers.items()
        }
        folder = Path(self.folder) if settings.project_files else None
        return find_servers(self.account, folder, SuppliedServers(entries, self.client()), self._code_of)

    def _code_of(self, config: ServerConfig) -> str:
        from agent_ls.features.mcp.project_files import digest_of_code

        return digest_of_code(config, self.folder)

    def _context(self, changed: Callable[[], None]) -> ServerContext:
        from agent_ls.features.mcp.login import authenticate, read_entered, server_secrets, why_not_asked
        from agent_ls.mcp.config import VariableValues
        from agent_ls.mcp.managed_server import ServerContext
        from agent_ls.mcp.process import ServerProcesses

        secrets = server_secrets(self.state)
        return ServerContext(
            processes=ServerProcesses(self.environ, self.folder, self._confine),
            values=VariableValues(self.environ.get, partial(read_entered, secrets), self.folder),
            sleep=self.clock.sleep,
            start_timeout_s=self.settings().mcp.start_timeout_ms / 1000,
            protect=self.hide,
            roots=self.roots,
            changed=changed,
            authenticate=lambda config: authenticate(config, self.state, self.hide),
            judge=why_not_asked,
            code_of=self._code_of,
            login_stamp=secrets.stamp,
        )

    async def _confine(
        self, wanted: ServerSandboxLimits, command: str, options: CommandOptions, folder: str
    ) -> tuple[str, CommandOptions]:
        from agent_ls.features.mcp.confinement import ServerConfinement

        if not self.boxes:
            self.boxes.append(ServerConfinement(self.places, self.state))
        return await self.boxes[0].confine(wanted, command, options, folder)

    async def _approve(self, config: ServerConfig) -> bool | None:
        """Ask the user whether a server may start. Returns the decision, or None if the user did not decide."""
        effect = effect_of(config)
        question = ApprovalQuestion("", self.turn_id(), "mcp", f"start the MCP server {config.name}", effect)
        reason = _limits(config) + (FETCHED if effect.is_fetched else "")
        if config.source == "client":
            reason = f"{reason}{HANDED_OVER}"
        decision = await self.approvals.ask(question, PolicyJudgement("ask", reason, cause="trust"))
        if isinstance(decision, Allowed):
            return True
        if decision.by in UNSTORED_SOURCES:
            self.warn(
                f"the MCP server {config.name} is not started, because you have not approved it; "
                f"{command_for('test', config.name)} asks for your approval"
            )
            return None
        return False


def _limits(config: ServerConfig) -> str:
    sandbox = getattr(config.target, "sandbox", None)
    if sandbox is None:
        return REASON
    network = "with network access" if sandbox.network else "without network access"
    writes = ", ".join(("the folder of the session", *sandbox.writable))
    return (
        f"The server runs in a sandbox, {network}, and can only write below {writes}. Approve the server "
        "only if you know it."
    )


def effect_of(config: ServerConfig) -> ServerEffect:
    """Return the effect that the approval request for a server displays."""
    from agent_ls.mcp.config import StdioTarget, shown_variables
    from agent_ls.mcp.visible import visible

    target = config.target
    is_program = isinstance(target, StdioTarget)
    place = f"cd {shlex.quote(target.cwd)} && " if isinstance(target, StdioTarget) and target.cwd else ""
    return ServerEffect(
        name=visible(config.name),
        config=config.digest,
        file=config.file,
        command=visible(place + shlex.join((target.command, *target.args)))
        if isinstance(target, StdioTarget)
        else "",
        url="" if isinstance(target, StdioTarget) else visible(target.url),
        variables=tuple(map(visible, shown_variables(config))),
        is_fetched=is_program and config.is_fetched,
    )


class OfferedServers(SessionFeature):
    """The MCP servers of a session as a feature.

    `reads` are the blocking reads that run together at the start of a turn. This class adds one to `reads`: the
    check whether servers are configured.
    """

    def __init__(self, servers: ServersOfSession, reads: TurnReads) -> None:
        self.servers = servers
        self._are_configured = reads.add(lambda: servers.are_configured, servers.looks)
        self._layer = ""

    async def prepare(self, profile: ProviderProfile) -> None:
        self._layer = ""
        if await self._are_configured.get():
            servers = await self.servers.get()
            self._layer = await servers.offer(profile.registry, profile.context_window_tokens)

    def layer(self) -> str:
        return self._layer

    async def close(self) -> None:
        await self.servers.close()
