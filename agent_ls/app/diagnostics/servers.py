"""Report the configuration of MCP servers for `agent-ls doctor`: the SDK, and errors in each file. Starts no server."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from agent_ls.app.clock import SystemClock
from agent_ls.app.diagnostics.findings import Finding
from agent_ls.app.permissions.trust import WorkspaceTrust
from agent_ls.app.settings.model import Settings
from agent_ls.app.settings.state_folder import state_folder
from agent_ls.mcp.cache import FactsCache
from agent_ls.mcp.sources import Given, find_servers
from agent_ls.store.trust import TrustStore


def server_findings(settings: Settings) -> list[Finding]:
    """Return the findings; empty if no server is configured. Blocks: run in a thread."""
    folder = Path().resolve()
    is_trusted = WorkspaceTrust(TrustStore(state_folder()), SystemClock()).standing(str(folder)) == "trusted"
    project = folder if is_trusted and settings.mcp.project_files else None
    entries = {
        name: entry.model_dump(by_alias=True, exclude_unset=True)
        for name, entry in settings.mcp.servers.items()
    }
    found = find_servers(state_folder(), project, Given(entries, {}))
    problems = [Finding("mcp", "bad", text, "correct the entry, see docs/mcp.md") for text in found.problems]
    if found.servers and importlib.util.find_spec("mcp") is None:
        hint = "pip install 'agent-ls[mcp]'"
        problems.append(
            Finding(
                "mcp", "bad", f"{len(found.servers)} servers are configured, and the SDK is missing", hint
            )
        )
    cache = FactsCache(state_folder())
    for config in found.servers:
        known = cache.read(config.digest)
        invalid = known.invalid if known else ()
        problems += [
            Finding("mcp", "note", f"{config.name}: {it}", "report it to the author of the server")
            for it in invalid
        ]
    if found.servers and not problems:
        names = ", ".join(config.name for config in found.servers)
        return [Finding("mcp", "good", f"{names}; `agent-ls mcp test NAME` connects with one")]
    return problems
