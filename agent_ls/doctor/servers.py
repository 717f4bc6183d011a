"""Check for `agent-ls doctor` whether the MCP SDK is installed, and whether server files have errors. Starts no
server.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from agent_ls.doctor.findings import DoctorFinding
from agent_ls.features.mcp.project_files import digest_of_code
from agent_ls.features.mcp.trial import environ_without_keys, values_for
from agent_ls.installation import extra_command
from agent_ls.mcp.cache import DescriptionCache
from agent_ls.mcp.config import ConfigError, ServerConfig, StdioTarget, VariableValues, fill_variables
from agent_ls.mcp.sources import PROJECT_FILES, SuppliedServers, find_servers
from agent_ls.program_lookup import find_on
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.permissions.trust import read_trust
from agent_ls.services.settings.model import Settings
from agent_ls.services.settings.state_folder import state_folder


def _unusable(config: ServerConfig, values: VariableValues) -> Iterator[DoctorFinding]:
    """Yield why a server that is configured correctly cannot be started on this machine."""
    where = f"{config.file or 'agentLs.mcp.servers'}: the server {config.name}"
    try:
        target = fill_variables(config, values).target
    except ConfigError as error:
        hint = "set the variable, or write a default: ${NAME:-default}"
        yield DoctorFinding("mcp", "note", f"{where}: {error}", "" if "login" in str(error) else hint)
        return
    if isinstance(target, StdioTarget) and not find_on(os.path.expanduser(target.command), _path(target)):
        if os.sep not in target.command:  # may be relative to the server's folder, unknown here
            hint = f"install {target.command}, or set `command` to its full path"
            yield DoctorFinding("mcp", "note", f"{where}: {target.command} is not found on PATH", hint)
        elif os.path.isabs(os.path.expanduser(target.command)):
            hint = "write the path of a program of this machine"
            yield DoctorFinding("mcp", "note", f"{where}: no program is at {target.command}", hint)


def _path(target: StdioTarget) -> str | None:
    return dict(target.env).get("PATH") or os.environ.get("PATH")


def _unread(folder: Path, settings: Settings, *, is_trusted: bool) -> Iterator[DoctorFinding]:
    """Report MCP server files of a project that are not read, because the user has not trusted the project's folder."""
    present = [name for name in PROJECT_FILES if (folder / name).exists()]
    if present and settings.mcp.project_files and not is_trusted:
        text = f"{', '.join(present)}: not read, because you have not trusted {folder}"
        yield DoctorFinding(
            "mcp", "note", text, "`agent-ls trust add` in the folder, if you know its contents"
        )


def server_findings(settings: Settings) -> list[DoctorFinding]:
    """Return the findings; empty if no server is configured. Blocks: run in a thread."""
    folder = Path().resolve()
    is_trusted = read_trust(str(folder)) == "trusted"
    project = folder if is_trusted and settings.mcp.project_files else None
    entries = {
        name: entry.model_dump(by_alias=True, exclude_unset=True)
        for name, entry in settings.mcp.servers.items()
    }

    def code_of(config: ServerConfig) -> str:
        return digest_of_code(config, folder)

    found = find_servers(state_folder(), project, SuppliedServers(entries, {}), code_of)
    problems = [
        DoctorFinding("mcp", "bad", text, "correct the entry, see `agent-ls docs mcp`")
        for text in found.problems
    ]
    problems += _unread(folder, settings, is_trusted=is_trusted)
    environ = environ_without_keys(list(load_credentials().known_secrets())) if found.servers else {}
    values = values_for(state_folder(), folder, environ)
    for config in found.servers:
        problems += _unusable(config, values) if config.is_enabled else ()
    if found.servers and importlib.util.find_spec("mcp") is None:
        hint = extra_command("mcp")
        problems.append(
            DoctorFinding(
                "mcp",
                "bad",
                f"{len(found.servers)} MCP servers are configured, but the MCP SDK is not installed",
                hint,
            )
        )
    cache = DescriptionCache(state_folder())
    for config in found.servers:
        known = cache.read(config.digest)
        invalid = known.invalid if known else ()
        problems += [
            DoctorFinding(
                "mcp", "note", f"{config.name}: {it}", "report the problem to the author of the server"
            )
            for it in invalid
        ]
    if found.servers and not problems:
        names = ", ".join(config.name for config in found.servers)
        return [DoctorFinding("mcp", "good", f"{names}; `agent-ls mcp test NAME` connects to a server")]
    return problems
