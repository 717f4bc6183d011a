"""Handlers for stored permissions: rules with their use counts, and trusted workspaces."""

from __future__ import annotations

from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.server import protocol as wire
from agent_ls.server.lsp import to_lsp
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route
from agent_ls.services.permissions.session_rules import HeldRule


async def rules(context: Context, params: wire.Rules) -> wire.RulesResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    found = await context.manager.rules.rules(params.session_id, folder)
    return wire.RulesResult(rules=tuple(_info(rule) for rule in found))


async def remove_rule(context: Context, params: wire.RemoveRule) -> wire.RemoveRuleResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    removed = await context.manager.rules.remove(params.rule_id, params.session_id, folder)
    return wire.RemoveRuleResult(removed=removed)


def _info(rule: HeldRule) -> wire.RuleInfo:
    return wire.RuleInfo.of(
        rule, workspace=rule.workspace or None, created=rule.created or None, used=rule.used or None
    )


_Kept: TypeAlias = Literal["trusted", "restricted"]
_DECISIONS: dict[str, _Kept | None] = {"trust": "trusted", "restrict": "restricted", "forget": None}


async def trust(context: Context, params: wire.Trust) -> wire.TrustResult:
    folder, workspaces = context.folder(params.workspace_folder), context.manager.trust
    if params.decision:
        trust_state = await workspaces.decide(folder, _DECISIONS[params.decision], context.client_id)
    else:
        trust_state = await anyio.to_thread.run_sync(workspaces.get_trust, folder)
    kept = await anyio.to_thread.run_sync(workspaces.folders)
    found = tuple(map(wire.TrustedFolder.of, kept))
    return wire.TrustResult(workspace_folder=to_lsp.uri(folder), trust=trust_state, folders=found)


ROUTES = (route(wire.Rules, rules), route(wire.RemoveRule, remove_rule), route(wire.Trust, trust))
