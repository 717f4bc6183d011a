"""Pure: decide whether a command may run, by its effects and the paths that it would read or change.

policy/shell parses the command line. The first row that matches decides:

wipes a root folder or a disk                     refuse, all modes
plan, or a workspace that is not trusted          refuse
exactly this command was allowed by the user      allow
mode full: deletes only files that this session
  created, or runs ordinary code from its words   allow (policy/full.py)
is listed as dangerous, leaves the workspace,
  touches tool configuration, or is not parsed    ask, all modes
read-only, and no input for a running process     allow, confined; if confinement is not available, the setting
                                                  `unconfinedCommands` decides
mode full                                         allow
covered by rules of the user                      allow
everything else                                   ask, and offer a rule
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from os import path as ospath

from agent_ls.environments.effects import AskCause, CommandEffect
from agent_ls.patterns import regex
from agent_ls.policy import rules
from agent_ls.policy.named_places import DENIED_BY, IGNORE_FILE
from agent_ls.policy.rules import Rule
from agent_ls.policy.shell.cmd import is_windows, understood_by_cmd
from agent_ls.policy.shell.understand import CommandAnalysis, understand
from agent_ls.policy.shell.wrappers import runs_file_of_folder
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation


@lru_cache(maxsize=64)
def analyse_command(effect: CommandEffect, home: str, *, folders_exist: bool = False) -> CommandAnalysis:
    """Return the effects of a command, as far as they can be determined from its text.

    `folders_exist` is explained at `understand`.
    """

    def read(command: str) -> CommandAnalysis:
        return understand(
            command,
            working_dir=effect.working_dir,
            home=home,
            env_vars=effect.env_vars,
            folders_exist=folders_exist,
        )

    if is_windows(effect.working_dir):
        return understood_by_cmd(effect.command, read)
    return read(effect.command)


OUTSIDE_SANDBOX = "The command runs again from its start, outside of the sandbox."


def judge_command(effect: CommandEffect, situation: Situation) -> Judgement:
    """Decide whether a command may run, by the table in the module docstring."""
    found = analyse_command(effect, situation.places.home, folders_exist=situation.folders_exist)
    if found.refusal:
        return Refuse(f"{found.refusal}; agent-ls never runs that.")
    if why := situation.held_back:
        return Refuse(f"{why}: no command is run.")
    places = [effect.working_dir, *found.paths, *situation.leads]
    if ignored := situation.own_ignored(places):
        return Refuse(f"{ignored} is blocked by policy: {IGNORE_FILE} names it.")
    why, cause = _explain_always_ask(found, effect.command, effect.working_dir, situation)
    if effect.outside_sandbox:
        why, cause = " ".join(filter(None, (why, OUTSIDE_SANDBOX))), cause if why else "sandbox"
    if why:
        return _always_ask(effect, why, cause, places, situation)
    exact = f"command:{effect.digest}"
    if exact in situation.grants:
        return Allow("You allowed this exact command.", (exact,))
    if not situation.is_sandbox_available:
        return Ask(
            "The settings enable the sandbox, but no sandbox is available on this machine.",
            _make_exact_rules(exact),
            cause="sandbox",
        )
    if effect.input_of and not _is_whole(effect.command):
        why = (
            f"The text for process {effect.input_of} is not a whole line, so agent-ls cannot check the text."
        )
        return _always_ask(effect, why, "unclear", places, situation)
    is_read_only = found.is_read_only and not effect.input_of and not situation.config
    if is_read_only and (looks := _allow_read_only(found, situation)):
        return looks
    if situation.mode == "full":
        return Allow("Mode Full: commands run without your approval.")
    return _by_rules(effect, found, situation, exact)


def _allow_read_only(found: CommandAnalysis, situation: Situation) -> Allow | None:
    """Allow a read-only command, with confinement if possible.

    Return None if the command cannot be confined here and may not run without confinement. In that case the
    command is judged like one that is not read-only.
    """
    match situation.confinement:
        case "available":
            return Allow("It is read-only.", is_confined=True)
        case "unavailable" if found.needs_confinement:
            return None
        case "unavailable" if situation.unconfined == "trust" or found.is_on_short_list:
            return Allow("It is read-only.")
    return None


def _is_whole(text: str) -> bool:
    """Return whether text that is typed into a process consists of complete lines.

    The last line must be complete, and no line may continue on the next line.
    """
    return text.endswith("\n") and not any(line.endswith("\\") for line in text.split("\n"))


def _explain_always_ask(
    found: CommandAnalysis, command: str, working_dir: str, situation: Situation
) -> tuple[str, AskCause]:
    """Return the reason why a command needs approval in every mode, "" for none, and its kind."""
    if outside := situation.outside([working_dir]):
        return f"The command runs in {outside}, outside the workspace.", "outside"
    if situation.mode == "full" and (found.danger or found.doubt):
        from agent_ls.policy.full import without_needless_reasons  # imported here because it is rarely needed

        found = without_needless_reasons(found, command, working_dir, situation)
    if found.danger:
        return found.danger, "danger"
    if doubt := situation.doubt or found.doubt:
        return doubt, "unclear"
    return find_path_reason(found, working_dir, situation)


def find_path_reason(found: CommandAnalysis, working_dir: str, situation: Situation) -> tuple[str, AskCause]:
    """Return the reason why the paths of a command need approval in every mode, "" for none, and its kind."""
    places = [*found.paths, *situation.leads]
    if denied := situation.denied(places):
        return f"{denied} {DENIED_BY}.", "sensitive"
    others = [it for it in places if not (found.is_read_only and _is_public(it))]
    if outside := situation.outside(others):
        return f"{outside} is outside the workspace.", "outside"
    if not found.is_read_only and (sensitive := situation.sensitive(places)):
        return f"{sensitive} configures tools that run by themselves.", "sensitive"
    read = [it for it in found.paths if not (found.is_read_only and it in found.named)]
    if secret := situation.secret([*read, *situation.leads]):
        return f"{secret} looks like a file with secrets.", "sensitive"
    if ignored := situation.ignored([*read, *situation.leads]):
        return f"The ignore file of another agent names {ignored}.", "sensitive"
    if holding := next((p for p in (working_dir, *places) if situation.places.holds_denied(p)), ""):
        return f"{holding} contains files with credentials." if found.is_read_only else "", "sensitive"
    return "", "mode"


_PUBLIC = regex(
    r"/etc/(os-release|lsb-release|debian_version|[a-z]+-release|issue|timezone|shells)"
    r"|/proc/(cpuinfo|meminfo|version|loadavg|uptime|filesystems)"
    r"|/usr(/local)?/(bin|sbin|lib|lib64|include|share)(/[^/].*)?|/bin|/sbin|/usr(/local)?"
)
"""Places outside the workspace that are the same for all users of a system: programs and facts about the machine."""


def _is_public(place: str) -> bool:
    return bool(_PUBLIC.fullmatch(ospath.normpath(place))) and ".." not in place


def _always_ask(
    effect: CommandEffect, why: str, cause: AskCause, places: Sequence[str], situation: Situation
) -> Judgement:
    """Ask in every mode, unless a rule allows exactly this command with the same resolved paths."""
    leading = sorted({view for view in situation.views(places) if not situation.places.is_inside(view)})
    mark = hashlib.sha256("\0".join((why, *leading)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    exact = f"command:{effect.digest}:{mark}"
    if exact in situation.grants:
        return Allow("You allowed this exact command.", (exact,))
    return Ask(why, _make_exact_rules(exact), needs_approval_in_every_mode=True, cause=cause)


def _make_exact_rules(rule_id: str) -> tuple[Rule, ...]:
    # The digest covers command, folder and environment, so the rule allows exactly the request that the user
    # saw.
    return (
        Rule(rule_id, "Allow exactly this command for this session", "session"),
        Rule(rule_id, "Allow exactly this command for this turn", "turn"),
    )


def _by_rules(effect: CommandEffect, found: CommandAnalysis, situation: Situation, exact: str) -> Judgement:
    is_bound = any(runs_file_of_folder(argv[0]) for argv in found.commands)
    is_placed = effect.working_dir in situation.places.roots or not is_bound
    can_be_ruled = found.is_general and is_placed and not effect.background and not effect.input_of
    used = rules.find_matching(found.acts, situation.grants) if can_be_ruled else None
    if used:
        return Allow(f"Allowed by your rule {' and '.join(map(rules.describe_rule, used))}", used)
    general = rules.general_id(found.acts) if can_be_ruled else ""
    offered = _general(general, effect, situation) if general else ()
    cause: AskCause = "sandbox" if found.is_read_only and not effect.input_of else "mode"
    return Ask(
        _why_in_this_mode(effect, found, situation), (*offered, *_make_exact_rules(exact)), cause=cause
    )


def _why_in_this_mode(effect: CommandEffect, found: CommandAnalysis, situation: Situation) -> str:
    if found.is_read_only and situation.config:
        return situation.config
    if found.is_read_only and not effect.input_of and situation.confinement == "failed":
        return "The command failed while it was confined to reading, and would now run again without confinement."
    if found.is_read_only and not effect.input_of:
        return "The command seems to be read-only, but the machine that runs it cannot confine it to reading."
    what = (
        f"input for process {effect.input_of}"
        if effect.input_of
        else "every command that can change something"
    )
    return f"Mode {situation.mode.capitalize()}: {what} needs your approval."


def _general(rule_id: str, effect: CommandEffect, situation: Situation) -> tuple[Rule, ...]:
    """Return the rule once for each scope, with example commands.

    If this rule were the only stored rule, the policy would allow each example in `allows` and none in
    `still_asked`.
    """
    granted = replace(situation, grants=frozenset((rule_id,)), leads=(), doubt="", resolved={})
    may, must_not = rules.examples(rule_id)
    allowing = tuple(text for text in may if _is_allowed(text, effect, granted))
    asking = tuple(text for text in must_not if not _is_allowed(text, effect, granted))
    label = rules.describe_rule(rule_id)
    return (
        Rule(rule_id, f"Allow {label} in this session", "session", allowing, asking),
        Rule(rule_id, f"Allow {label} in this project, from now on", "project", allowing, asking),
        Rule(rule_id, f"Allow {label} in all projects, from now on", "user", allowing, asking),
    )


def _is_allowed(text: str, effect: CommandEffect, situation: Situation) -> bool:
    found = analyse_command(CommandEffect(text, effect.working_dir), situation.places.home)
    if (
        found.refusal
        or not found.is_general
        or _explain_always_ask(found, text, effect.working_dir, situation)[0]
    ):
        return False
    return bool(rules.find_matching(found.acts, situation.grants))
