"""Pure: decide whether a tool of an MCP server may be called.

A server may annotate a tool as read-only or harmless. The annotation counts only if the user's settings trust
annotations of this server.

                                       plan      ask       edits     full
trusted annotation: read-only          allow     allow     allow     allow
trusted annotation: harmless           refuse    ask       allow     allow
other tools                            refuse    ask       ask       allow

A tool that changed since the user approved it needs approval in every mode. In mode full a call that names a host
needs approval until the user has allowed this host, because the arguments may send data to it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from agent_ls.environments.effects import CallEffect
from agent_ls.policy.rules import Rule, tool_ids
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation

_PATTERN = "tools:"


def judge_server_call(effect: CallEffect, situation: Situation) -> Judgement:
    if not situation.is_trusted or (situation.mode == "plan" and effect.annotated != "read"):
        return Refuse(f"{situation.held_back}: no tool is called that may have an effect")
    exact = f"call:{effect.digest}"
    if exact in situation.grants:
        return Allow("the user allowed exactly this call", (exact,))
    if effect.change:
        why = f"the server {effect.server} has changed this tool since you approved it"
        return Ask(why, _offers(effect), needs_approval_in_every_mode=True, cause="trust")
    covering = (*tool_ids(effect), *((effect.reads_rule,) if effect.reads_rule else ()))
    granted = tuple(rule_id for rule_id in covering if rule_id in situation.grants)
    if granted := granted or tuple(it for it in situation.grants if _is_pattern_for(it, effect)):
        return Allow(f"allowed by your rule for tools of {effect.server}", granted)
    if effect.annotated == "read":
        return Allow(f"{effect.server} says that it only reads, and your settings trust its annotations")
    if effect.annotated == "safe" and situation.mode == "edits":
        return Allow(
            f"{effect.server} says that it destroys nothing, and your settings trust its annotations"
        )
    if situation.mode == "full":
        return _in_full(effect, situation)
    return Ask(f"tools of the server {effect.server} need your approval in this mode", _offers(effect))


def pattern_id(server: str, pattern: str) -> str:
    """Return the id of the rule that allows the tools of a server whose names match a pattern."""
    return f"{_PATTERN}{server}/{pattern}"


def _is_pattern_for(rule_id: str, effect: CallEffect) -> bool:
    start = pattern_id(effect.server, "")
    return rule_id.startswith(start) and fnmatchcase(effect.title, rule_id.removeprefix(start))


def _in_full(effect: CallEffect, situation: Situation) -> Judgement:
    rules = tuple(f"host:{effect.server}/{host}" for host in effect.hosts)
    if all(rule_id in situation.grants for rule_id in rules):
        return Allow("mode full", rules)
    host = next(it for it in effect.hosts if f"host:{effect.server}/{it}" not in situation.grants)
    offer = Rule(
        f"host:{effect.server}/{host}",
        f"Allow calls of {effect.server} that name {host} in this session",
        "session",
    )
    why = f"the call names {host}, and you have not allowed tools of {effect.server} to use this host"
    return Ask(why, (offer, *_offers(effect)), needs_approval_in_every_mode=True, cause="network")


def _offers(effect: CallEffect) -> tuple[Rule, ...]:
    one, exact = tool_ids(effect)[0], f"call:{effect.digest}"
    label = f"the tool {effect.title or effect.tool} of {effect.server}, with any arguments,"
    reads = (
        Rule(
            effect.reads_rule,
            f"Allow all tools of {effect.server} that only read, in this session",
            "session",
        ),
    )
    return (
        Rule(one, f"Allow {label} in this session", "session"),
        Rule(one, f"Allow {label} in this project, from now on", "project"),
        Rule(one, f"Allow {label} in all projects, from now on", "user"),
        *(reads if effect.reads_rule and not effect.change else ()),
        Rule(exact, "Allow exactly this call for this session", "session"),
        Rule(exact, "Allow exactly this call for this turn", "turn"),
    )
