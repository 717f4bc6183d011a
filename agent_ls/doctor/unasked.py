"""List what may run in a folder without a question today: for `agent-ls policy log`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.hooks.confirmed import ConfirmedHooks, describe, state_of
from agent_ls.features.mcp.project_files import digest_of_code
from agent_ls.features.tools.yaml_tools import PROJECT_FOLDER, load_cli_tools
from agent_ls.mcp.approvals import ApprovalStore
from agent_ls.mcp.config import ServerConfig, describe_server
from agent_ls.mcp.sources import SuppliedServers, find_servers
from agent_ls.services.clock import SystemClock
from agent_ls.services.permissions.trust import WorkspaceTrust, trusted_by_variable
from agent_ls.services.settings.layers import user_settings_path
from agent_ls.services.settings.model import Settings
from agent_ls.store.rules import RuleStore
from agent_ls.store.shown import digest_shown
from agent_ls.store.trust import TrustStore

UnaskedKind: TypeAlias = Literal["trust", "hook", "server", "rule", "tool", "place", "setting"]


@dataclass(frozen=True, slots=True)
class Unasked:
    """Something that may act in the folder without a question. `decided` is ISO 8601, "" if the user never decided.

    `shown` is what was displayed when the user decided, or the definition. `undo` is the command that takes the
    decision back, or which of the user's own files to edit.
    """

    kind: UnaskedKind
    what: str
    decided: str
    shown: str
    undo: str

    @property
    def digest(self) -> str:
        return digest_shown(self.shown)


def list_unasked(folder: str, state: Path, settings: Settings) -> Iterator[Unasked]:
    """Yield what may run without a question in a folder. Blocks.

    Skills are left out, because a skill allows no tool: `allowed-tools` in its header has no effect.
    """
    trust = TrustStore(state)
    is_trusted = WorkspaceTrust(trust, SystemClock(), "kept").get_trust(folder) == "trusted"
    if is_trusted:
        known = next((it for it in trust.folders() if it.path == str(Path(folder).resolve())), None)
        if known:
            yield Unasked(
                "trust", known.path, known.decided, known.shown or known.path, "agent-ls trust forget"
            )
        else:
            places = ", ".join(trusted_by_variable()) or folder
            yield Unasked(
                "trust", f"{folder} (AGENT_LS_TRUSTED_FOLDERS)", "", places, "unset AGENT_LS_TRUSTED_FOLDERS"
            )
    yield from _hooks(folder, state, settings, is_trusted=is_trusted)
    yield from _servers(folder, state, settings, is_trusted=is_trusted)
    for number, rule in enumerate(RuleStore(state).rules(folder), 1):
        undo = shlex.join(("agent-ls", "policy", "remove", rule.id))
        shown = f"{rule.label}\n{rule.id}"
        yield Unasked("rule", rule.label or f"rule {number}", rule.created, shown, undo)
    if is_trusted:
        yield from _tools(folder, state)
        yield from _settings(settings)
    if settings.place:
        shown = json.dumps(settings.place.model_dump(exclude_defaults=True))
        machine = settings.place.place().machine
        yield Unasked("place", f"sessions work in {machine}", "", shown, _edit("place"))


def _hooks(folder: str, state: Path, settings: Settings, *, is_trusted: bool) -> Iterator[Unasked]:
    found = load_hooks(settings.hooks, str(state), folder if is_trusted else None, folder=folder)
    confirmed = ConfirmedHooks(state).read()
    for hook in found.hooks:
        its = state_of(hook, folder, confirmed)
        if its == "changed" or (its == "new" and hook.is_of_project):
            continue  # it does not run
        shown = "\n".join(describe(hook))
        decided = next((it.decided for it in confirmed if it.shown == shown), "")
        undo = "agent-ls hooks --withdraw" if hook.is_of_project else f"edit {hook.path}"
        yield Unasked("hook", f"{hook.event}: {hook.command}", decided, shown, undo)


def _servers(folder: str, state: Path, settings: Settings, *, is_trusted: bool) -> Iterator[Unasked]:
    if not is_trusted:
        return  # no server is started
    project = Path(folder) if settings.mcp.project_files else None
    entries = {
        name: entry.model_dump(by_alias=True, exclude_unset=True)
        for name, entry in settings.mcp.servers.items()
    }
    store = ApprovalStore(state)

    def code_of(config: ServerConfig) -> str:
        return digest_of_code(config, folder)

    for config in find_servers(state, project, SuppliedServers(entries, {}), code_of).servers:
        known = store.find_known(config.digest, folder if config.source == "project" else "")
        is_allowed = not config.needs_approval or (known is not None and known.decision == "allowed")
        if config.is_enabled and is_allowed and not (known and known.is_off):
            shown = known.shown if known and known.shown else describe_server(config)
            name, run, *_ = describe_server(config).split("\n")
            undo = shlex.join(("agent-ls", "mcp", "remove", config.name))
            yield Unasked("server", f"{name}: {run}", known.decided if known else "", shown, undo)


def _tools(folder: str, state: Path) -> Iterator[Unasked]:
    """Yield the tools in YAML files. A call runs without a question if its command only reads."""
    project = os.path.join(folder, PROJECT_FOLDER, "")
    for tool in load_cli_tools(state, Path(folder), trusted=True).tools:
        if tool.category == "admin":
            continue  # each call is asked about
        is_of_project = tool.source.startswith(project)
        undo = "agent-ls trust forget" if is_of_project else f"edit {tool.source.rpartition(':')[0]}"
        yield Unasked("tool", f"{tool.name}, where it only reads: {tool.usage}", "", tool.usage, undo)


def _settings(settings: Settings) -> Iterator[Unasked]:
    """Yield the settings of the user that let more run without a question than the defaults."""
    found = {
        f"mode: {settings.mode}": settings.mode in ("edits", "full"),
        "unconfinedCommands: trust": settings.unconfined_commands == "trust",
        **{f"paths.roots: {root}": True for root in settings.paths.roots},
        **{f"sandbox.writable: {it}": settings.sandbox.enabled for it in settings.sandbox.writable},
    }
    for what in (it for it, holds in found.items() if holds):
        yield Unasked("setting", what, "", what, _edit(what.partition(":")[0]))


def _edit(setting: str) -> str:
    return f"edit {user_settings_path()}: {setting}"
