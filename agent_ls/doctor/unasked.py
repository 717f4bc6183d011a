"""List what may run in a folder without a question today: for `agent-ls policy log`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from agent_ls.features.hooks.config import load_hooks
from agent_ls.features.hooks.confirmed import ConfirmedHooks, describe, state_of
from agent_ls.mcp.approvals import ApprovalStore
from agent_ls.mcp.sources import SuppliedServers, find_servers
from agent_ls.services.clock import SystemClock
from agent_ls.services.permissions.trust import WorkspaceTrust, trusted_by_variable
from agent_ls.services.settings.model import Settings
from agent_ls.store.rules import RuleStore
from agent_ls.store.trust import TrustStore

UnaskedKind: TypeAlias = Literal["trust", "hook", "server", "rule"]


@dataclass(frozen=True, slots=True)
class Unasked:
    """Something that may act in the folder without a question. `decided` is ISO 8601, "" if the user never decided.

    `shown` is what was displayed when the user decided. `undo` is the command that takes the decision back.
    """

    kind: UnaskedKind
    what: str
    decided: str
    shown: str
    undo: str


def list_unasked(folder: str, state: Path, settings: Settings) -> Iterator[Unasked]:
    """Yield what may run without a question in a folder. Blocks."""
    trust = TrustStore(state)
    is_trusted = WorkspaceTrust(trust, SystemClock(), "kept").get_trust(folder) == "trusted"
    if is_trusted:
        known = next((it for it in trust.folders() if it.path == str(Path(folder).resolve())), None)
        if known:
            yield Unasked("trust", known.path, known.decided, known.path, "agent-ls trust forget")
        else:
            places = ", ".join(trusted_by_variable()) or folder
            yield Unasked(
                "trust", f"{folder} (AGENT_LS_TRUSTED_FOLDERS)", "", places, "unset AGENT_LS_TRUSTED_FOLDERS"
            )
    yield from _hooks(folder, state, settings, is_trusted=is_trusted)
    yield from _servers(folder, state, settings, is_trusted=is_trusted)
    for number, rule in enumerate(RuleStore(state).rules(folder), 1):
        undo = (
            f"agent-ls policy remove {rule.id}"
            if " " not in rule.id
            else f"agent-ls policy remove '{rule.id}'"
        )
        yield Unasked("rule", rule.label or f"rule {number}", rule.created, rule.id, undo)


def _hooks(folder: str, state: Path, settings: Settings, *, is_trusted: bool) -> Iterator[Unasked]:
    found = load_hooks(settings.hooks, str(state), folder if is_trusted else None, folder=folder)
    confirmed = ConfirmedHooks(state).read()
    for hook in found.hooks:
        its = state_of(hook, folder, confirmed)
        if its == "changed" or (its == "new" and hook.is_of_project):
            continue  # it does not run
        shown = "\n".join(describe(hook))
        decided = next((it.decided for it in confirmed if it.shown == shown), "")
        undo = "agent-ls hooks --withdraw" if hook.is_of_project else f"remove the hook from {hook.path}"
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
    for config in find_servers(state, project, SuppliedServers(entries, {})).servers:
        known = store.find_known(config.digest, folder if config.source == "project" else "")
        is_allowed = not config.needs_approval or (known is not None and known.decision == "allowed")
        if config.is_enabled and is_allowed and not (known and known.is_off):
            from agent_ls.features.mcp.of_session import effect_of

            effect = effect_of(config)
            shown = "\n".join((effect.command or effect.url, *effect.variables))
            undo = f"agent-ls mcp remove {config.name}"
            yield Unasked(
                "server",
                f"{config.name}: {effect.command or effect.url}",
                known.decided if known else "",
                shown,
                undo,
            )
