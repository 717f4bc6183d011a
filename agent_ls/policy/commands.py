"""May this command run? What it would do is read from it (policy/shell); where it would act is judged as places.

what wipes a root or a disk                     refuse, all modes (X7)
plan, or a workspace that is not trusted        refuse
the very command that the user allowed          allow
what is on the short list, leads out, touches what configures tools, or is not understood      ask, all modes
what only looks, and is not typed into a process    allow
full                                            allow
what rules of the user cover                    allow
everything else                                 ask, and offer a rule
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy import rules
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.policy.rules import Rule
from agent_ls.policy.shell.cmd import is_windows, understood_by_cmd
from agent_ls.policy.shell.understand import Understanding, understand
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation


@lru_cache(maxsize=64)
def understood(effect: CommandEffect, home: str) -> Understanding:
    """What the command would do, as far as its text tells."""

    def read(command: str) -> Understanding:
        return understand(command, working_dir=effect.working_dir, home=home, env_vars=effect.env_vars)

    if is_windows(effect.working_dir):
        return understood_by_cmd(effect.command, read)
    return read(effect.command)


def judge_command(effect: CommandEffect, situation: Situation) -> Judgement:
    found = understood(effect, situation.places.home)
    if found.refusal:
        return Refuse(f"{found.refusal}; agent-ls never runs that")
    if why := situation.held_back:
        return Refuse(f"{why}: no command is run")
    places = [effect.working_dir, *found.paths, *situation.leads]
    if ignored := situation.ignored(places):
        return Refuse(f"{ignored} is blocked by policy: {IGNORE_FILE} names it")
    if why := "; ".join(
        filter(None, (_never_silent(found, effect.working_dir, situation), _outside(effect)))
    ):
        return _asked_always(effect, why, places, situation)
    exact = f"command:{effect.digest}"
    if exact in situation.grants:
        return Allow("this exact command was allowed by the user", (exact,))
    if not situation.is_walled:
        return Ask("a sandbox was asked for, and there is none on this machine", _exact(exact))
    if effect.input_of and not _is_whole(effect.command):
        why = f"a line typed into process {effect.input_of} is not whole, so that it cannot be judged"
        return _asked_always(effect, why, places, situation)
    if found.is_read_only and not effect.input_of:  # what reads it need not be a shell
        return Allow("it only looks")
    if situation.mode == "full":
        return Allow("mode full")
    return _by_rules(effect, found, situation, exact)


def _outside(effect: CommandEffect) -> str:
    return "it runs outside of the sandbox, once more from its beginning" if effect.outside_sandbox else ""


def _is_whole(text: str) -> bool:
    """Whether typed lines can be judged by themselves: none goes on with what is typed next."""
    return text.endswith("\n") and not any(line.endswith("\\") for line in text.split("\n"))


def _never_silent(found: Understanding, working_dir: str, situation: Situation) -> str:
    """Why it is asked about in every mode, "" for nothing."""
    if outside := situation.outside([working_dir]):
        return f"it runs in {outside}, outside the workspace"
    return found.danger or situation.doubt or found.doubt or why_by_place(found, working_dir, situation)


def why_by_place(found: Understanding, working_dir: str, situation: Situation) -> str:
    """The same for where it would act, whatever it is that acts there."""
    places = [*found.paths, *situation.leads]
    if denied := situation.denied(places):
        return f"{denied} holds credentials"
    if outside := situation.outside(places):
        return f"{outside} is outside the workspace"
    if not found.is_read_only and (sensitive := situation.sensitive(places)):
        return f"{sensitive} configures tools that run by themselves"
    if secret := situation.secret(places):
        return f"{secret} holds secrets, by its name"
    if holding := next((p for p in (working_dir, *places) if situation.places.holds_denied(p)), ""):
        return f"credentials lie below {holding}" if found.is_read_only else ""
    return ""


def _asked_always(effect: CommandEffect, why: str, places: Sequence[str], situation: Situation) -> Judgement:
    """Only a rule for this very command, leading where it leads now, makes it silent."""
    leading = sorted({view for view in situation.views(places) if not situation.places.is_inside(view)})
    mark = hashlib.sha256("\0".join((why, *leading)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    exact = f"command:{effect.digest}:{mark}"
    if exact in situation.grants:
        return Allow("this exact command was allowed by the user", (exact,))
    return Ask(why, _exact(exact), is_never_silent=True)


def _exact(rule_id: str) -> tuple[Rule, ...]:
    # The digest holds command, folder and environment: the rule is exactly what the user saw, nothing wider.
    return (
        Rule(rule_id, "Allow exactly this command for this session", "session"),
        Rule(rule_id, "Allow exactly this command for this turn", "turn"),
    )


def _by_rules(effect: CommandEffect, found: Understanding, situation: Situation, exact: str) -> Judgement:
    can_be_ruled = found.is_general and not effect.background and not effect.input_of
    used = rules.matching(found.commands, situation.grants) if can_be_ruled else None
    if used:
        return Allow(f"allowed by your rule {' and '.join(map(rules.described, used))}", used)
    general = rules.general_id(found.commands) if can_be_ruled else ""
    offered = _general(general, effect, situation) if general else ()
    what = f"input for process {effect.input_of} is" if effect.input_of else "commands are"
    return Ask(f"in this mode {what} asked about", (*offered, *_exact(exact)))


def _general(rule_id: str, effect: CommandEffect, situation: Situation) -> tuple[Rule, ...]:
    """The rule for each time that it may hold, with examples that were judged as it would have them judged."""
    granted = replace(situation, grants=frozenset((rule_id,)), leads=(), doubt="", resolved={})
    may, must_not = rules.examples(rule_id)
    allowing = tuple(text for text in may if _is_allowed(text, effect, granted))
    asking = tuple(text for text in must_not if not _is_allowed(text, effect, granted))
    told = rules.described(rule_id)
    return (
        Rule(rule_id, f"Allow {told} in this session", "session", allowing, asking),
        Rule(rule_id, f"Allow {told} in this project, from now on", "project", allowing, asking),
        Rule(rule_id, f"Allow {told} in all projects, from now on", "user", allowing, asking),
    )


def _is_allowed(text: str, effect: CommandEffect, situation: Situation) -> bool:
    found = understood(CommandEffect(text, effect.working_dir), situation.places.home)
    if found.refusal or not found.is_general or _never_silent(found, effect.working_dir, situation):
        return False
    return bool(rules.matching(found.commands, situation.grants))
