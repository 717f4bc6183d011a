"""Pure: decide whether a tool that the user or the host program added may be called.

The category of the tool and the commands that it runs decide:

                    plan      ask       edits     full
    read, write     refuse    ask       ask       allow     a rule may allow the tool with this definition
    admin           refuse    ask       ask       ask       a rule may allow exactly this call

A call of a tool in NETWORK_TOOLS needs approval in mode full too, until a rule allows the tool.

If the user lists a tool by name for one run, the tool is allowed in every mode except plan, as long as the
paths in its arguments are allowed.

If the program that the tool runs is known, the rules for commands apply to its command line too, and the
stricter decision counts. So the declared category never allows a command that would need approval. A tool
needs no approval if its command is known to be read-only, except a tool of category admin.
"""

from __future__ import annotations

import shlex
from os import path as ospath

from agent_ls.environments.effects import AskCause, CallEffect, CommandEffect
from agent_ls.policy.rules import Rule, tool_id, tool_ids
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation

NETWORK_TOOLS = frozenset(("web_search",))
"""Built-in tools that send text from the model to servers on the internet."""


def judge_call(effect: CallEffect, situation: Situation) -> Judgement:
    """Decide whether a call is allowed, by the table in the module docstring."""
    if effect.argv:
        runs = _to_command(effect)
        # Imported here, because importing the bash grammar takes long.
        from agent_ls.policy.commands import analyse_command, judge_command

        if tool_id(effect.tool) in situation.grants and not situation.held_back:
            return _judge_listed(effect, runs, situation)
        judgement = judge_command(runs, situation)
        if isinstance(judgement, Refuse) or (
            isinstance(judgement, Ask) and judgement.needs_approval_in_every_mode
        ):
            return judgement
        is_known = analyse_command(runs, situation.places.home).is_read_only or bool(judgement.rules)
        if isinstance(judgement, Allow) and is_known and effect.category != "admin":
            return judgement
    elif why := situation.held_back:
        return Refuse(f"{why}: tools that may have an effect are not called")
    granted = tuple(rule_id for rule_id in tool_ids(effect) if rule_id in situation.grants)
    if granted:
        return Allow(f"allowed by your rule for the tool {effect.tool}", granted)
    if effect.category == "admin":
        return _always_ask(effect, situation)
    if not situation.is_sandbox_available:
        return Ask(
            "The settings enable the sandbox, but no sandbox is available on this machine.",
            _make_exact_rules(effect),
            cause="sandbox",
        )
    leaves = effect.tool in NETWORK_TOOLS
    if situation.mode == "full" and not leaves:
        return Allow("mode full")
    exact = _make_exact_rules(effect)
    if exact[0].id in situation.grants:
        return Allow("the user allowed exactly this call", (exact[0].id,))
    why = (
        "The call searches the web."
        if leaves
        else f"Mode {situation.mode.capitalize()}: tools that may change something need your approval."
    )
    cause: AskCause = "network" if leaves else "mode"
    return Ask(why, (*_general(effect), *exact), needs_approval_in_every_mode=leaves, cause=cause)


def _judge_listed(effect: CallEffect, runs: CommandEffect, situation: Situation) -> Judgement:
    """Decide about a call of a tool that the user allowed by name for this run.

    The call is allowed unless its command is refused in every mode, or a path in its arguments needs
    approval.
    """
    from agent_ls.policy.commands import analyse_command, find_path_reason, judge_command

    judgement = judge_command(runs, situation)
    found = analyse_command(runs, situation.places.home)
    outside = situation.outside([effect.working_dir])
    if isinstance(judgement, Refuse) or outside or find_path_reason(found, effect.working_dir, situation)[0]:
        return judgement
    return Allow(f"you listed the tool {effect.tool} for this run", (tool_id(effect.tool),))


def _to_command(effect: CallEffect) -> CommandEffect:
    """Return the command that a tool runs, as an effect for `judge_command`.

    The program is named without its folder. With the folder, `judge_command` would ask about a program
    outside the workspace, but the user chose this program when they defined the tool.
    """
    program, *words = effect.argv
    name = ospath.basename(program) if ospath.isabs(program) else program
    return CommandEffect(shlex.join((name, *words)), effect.working_dir, effect.env_vars)


def _always_ask(effect: CallEffect, situation: Situation) -> Judgement:
    exact = _make_exact_rules(effect)
    if exact[0].id in situation.grants:
        return Allow("the user allowed exactly this call", (exact[0].id,))
    return Ask(
        "The tool is of category admin, which needs your approval in every mode.",
        exact,
        needs_approval_in_every_mode=True,
        cause="tool",
    )


def _make_exact_rules(effect: CallEffect) -> tuple[Rule, ...]:
    rule_id = f"call:{effect.digest}"
    return (
        Rule(rule_id, "Allow exactly this call for this session", "session"),
        Rule(rule_id, "Allow exactly this call for this turn", "turn"),
    )


def _general(effect: CallEffect) -> tuple[Rule, ...]:
    """Return the rules to offer, one for each scope. Each allows the tool with any arguments.

    A rule does not cover a tool that has the same name but another definition.
    """
    rule_id, label = tool_ids(effect)[0], f"the tool {effect.tool}, with any arguments,"
    return (
        Rule(rule_id, f"Allow {label} in this session", "session"),
        Rule(rule_id, f"Allow {label} in this project, from now on", "project"),
        Rule(rule_id, f"Allow {label} in all projects, from now on", "user"),
    )
