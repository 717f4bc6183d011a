"""ENGINE: may a tool that was added to ours be called? By its category, and by what it runs (004 section 6.1).

                    plan      ask       edits     full
read, write         refuse    ask       ask       allow     a rule may allow it: for this tool as it is defined
admin               refuse    ask       ask       ask       a rule for exactly this call

A tool that the user lists by its name for a run is allowed in any mode but plan, where its places allow it.

Where the program is known that it runs, the stricter of this and of what is said of the command holds: a declared
category never makes silent what its command would be asked about. A read is silent when its command is known to look.
"""

from __future__ import annotations

import shlex
from os import path as ospath

from agent_ls.environments.effects import CallEffect, CommandEffect
from agent_ls.policy.rules import Rule, tool_id, tool_ids
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation


def judge_call(effect: CallEffect, situation: Situation) -> Judgement:
    if effect.argv:
        runs = _judged_as(effect)
        from agent_ls.policy.commands import (
            judge_command,
            understood,
        )  # its grammar is loaded with the first command

        if tool_id(effect.tool) in situation.grants and not situation.held_back:
            return _listed(effect, runs, situation)
        judgement = judge_command(runs, situation)
        if isinstance(judgement, Refuse) or (isinstance(judgement, Ask) and judgement.is_never_silent):
            return judgement
        is_known = understood(runs, situation.places.home).is_read_only or bool(judgement.rules)
        if isinstance(judgement, Allow) and is_known and effect.category != "admin":
            return judgement
    elif why := situation.held_back:
        return Refuse(f"{why}: no tool is called that may have an effect")
    granted = tuple(rule_id for rule_id in tool_ids(effect) if rule_id in situation.grants)
    if granted:
        return Allow(f"allowed by your rule for the tool {effect.tool}", granted)
    if effect.category == "admin":
        return _asked_always(effect, situation)
    if not situation.is_walled:
        return Ask("the walls that you asked for do not stand on this machine", _exact(effect))
    if situation.mode == "full":
        return Allow("mode full")
    exact = _exact(effect)
    if exact[0].id in situation.grants:
        return Allow("this exact call was allowed by the user", (exact[0].id,))
    return Ask("in this mode tools that may have an effect are asked about", (*_general(effect), *exact))


def _listed(effect: CallEffect, runs: CommandEffect, situation: Situation) -> Judgement:
    """The user knows what his program does; where it would act by these arguments he has not seen."""
    from agent_ls.policy.commands import judge_command, understood, why_by_place

    judgement = judge_command(runs, situation)
    found = understood(runs, situation.places.home)
    outside = situation.outside([effect.working_dir])
    if isinstance(judgement, Refuse) or outside or why_by_place(found, effect.working_dir, situation):
        return judgement
    return Allow(f"you listed the tool {effect.tool} for this run", (tool_id(effect.tool),))


def _judged_as(effect: CallEffect) -> CommandEffect:
    """Where the program lies was the user's own choice when he defined the tool; what it is given was not."""
    program, *words = effect.argv
    name = ospath.basename(program) if ospath.isabs(program) else program
    return CommandEffect(shlex.join((name, *words)), effect.working_dir, effect.env_vars)


def _asked_always(effect: CallEffect, situation: Situation) -> Judgement:
    exact = _exact(effect)
    if exact[0].id in situation.grants:
        return Allow("this exact call was allowed by the user", (exact[0].id,))
    return Ask("the tool is one of category admin", exact, is_never_silent=True)


def _exact(effect: CallEffect) -> tuple[Rule, ...]:
    rule_id = f"call:{effect.digest}"
    return (
        Rule(rule_id, "Allow exactly this call for this session", "session"),
        Rule(rule_id, "Allow exactly this call for this turn", "turn"),
    )


def _general(effect: CallEffect) -> tuple[Rule, ...]:
    """With whatever arguments its definition takes; another definition under the same name is asked about again."""
    rule_id, told = tool_ids(effect)[0], f"the tool {effect.tool}, with any arguments,"
    return (
        Rule(rule_id, f"Allow {told} in this session", "session"),
        Rule(rule_id, f"Allow {told} in this project, from now on", "project"),
        Rule(rule_id, f"Allow {told} in all projects, from now on", "user"),
    )
