"""Rules of the user: what holds, how often it did, and taking it back."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.context import Context
from agent_ls.server.rpc import route
from agent_ls.server.seams import HeldRule


async def rules(context: Context, params: wire.Rules) -> wire.RulesResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    found = await context.bench.rules.rules(params.session_id, folder)
    return wire.RulesResult(rules=tuple(_info(rule) for rule in found))


async def remove_rule(context: Context, params: wire.RemoveRule) -> wire.RemoveRuleResult:
    folder = context.folder(params.workspace_folder) if params.workspace_folder else None
    removed = await context.bench.rules.remove(params.rule_id, params.session_id, folder)
    return wire.RemoveRuleResult(removed=removed)


def _info(rule: HeldRule) -> wire.RuleInfo:
    return wire.RuleInfo(
        id=rule.id,
        label=rule.label,
        scope=rule.scope,
        workspace=rule.workspace or None,
        hits=rule.hits,
        created=rule.created or None,
        used=rule.used or None,
    )


ROUTES = (route(wire.Rules, rules), route(wire.RemoveRule, remove_rule))
