"""Pure: decide whether an effect is allowed, needs approval, or is refused.

The first row that matches decides:

    reads inside the workspace folders             allow, all modes
    plan, or a workspace that is not trusted       refuse every other effect
    edits of ordinary files inside the folders     allow in `edits` and `full`, and if hunks are reviewed before
                                                   they are applied; mode `ask` asks once per session
    commands                                       policy/commands.py
    web pages                                      policy/fetches.py
    calls of added tools                           policy/calls.py
    everything else                                ask

In addition, a call of a tool of category `read` that would change something needs approval in every mode.

A path is checked as given *and* as resolved (symlinks followed): the stricter decision applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from agent_ls.environments.effects import (
    AskCause,
    CallEffect,
    CommandEffect,
    Effect,
    FetchEffect,
    NoEffect,
    ProcessEffect,
    ReadEffect,
    ServerEffect,
    TrustEffect,
    WriteEffect,
)
from agent_ls.policy.named_places import DENIED_BY, IGNORED_BY
from agent_ls.policy.rules import EDITS_RULE, Rule
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation

_READ_CAUSES: Mapping[AskCause, str] = {
    "outside": "is outside the workspace",
    "sensitive": "looks like a file with secrets",
}


def judge(effect: Effect, situation: Situation) -> Judgement:
    """Decide whether an effect is allowed, needs approval, or is refused."""
    judgement = _judge(effect, situation)
    if (
        situation.category == "read"
        and isinstance(judgement, Allow)
        and _changes_something(effect, situation)
    ):
        return Ask(
            "The tool is of category read, and this call would change something.",
            needs_approval_in_every_mode=True,
            cause="tool",
        )
    return judgement


def _changes_something(effect: Effect, situation: Situation) -> bool:
    if isinstance(effect, CommandEffect):
        from agent_ls.policy.commands import analyse_command

        return bool(situation.config) or not analyse_command(effect, situation.places.home).is_read_only
    return isinstance(effect, WriteEffect)


def _judge(effect: Effect, situation: Situation) -> Judgement:
    match effect:
        case NoEffect():
            return Allow()
        case ProcessEffect():
            return Allow("a process that this session started")
        case ReadEffect(paths):
            return _judge_read(paths, situation)
        case WriteEffect(files):
            return _judge_write([f.path for f in files], any(f.action == "delete" for f in files), situation)
        case CommandEffect():
            from agent_ls.policy.commands import judge_command  # imported here: its grammar loads slowly

            return judge_command(effect, situation)
        case TrustEffect(folder):
            return Ask(f"{folder} is not trusted yet", needs_approval_in_every_mode=True, cause="trust")
        case ServerEffect(name):
            why = f"the MCP server {name} was not approved yet"
            return Ask(why, needs_approval_in_every_mode=True, cause="trust")
        case FetchEffect():
            from agent_ls.policy.fetches import judge_fetch  # imported here because it is rarely needed

            return judge_fetch(effect, situation)
        case CallEffect(server=server) if server:
            # imported here because most sessions have no MCP servers
            from agent_ls.policy.servers import judge_server_call

            return judge_server_call(effect, situation)
        case CallEffect():
            from agent_ls.policy.calls import judge_call  # imported here because it is rarely needed

            return judge_call(effect, situation)
        case _:
            assert_never(effect)


def _judge_read(paths: Sequence[str], situation: Situation) -> Judgement:
    """Decide whether paths may be read. Paths outside the workspace and files with secrets need approval."""
    if own := situation.own_state(paths):
        return Refuse(
            f"{own} is the state folder of agent-ls with keys, rules and sessions, which its tools never read"
        )
    if denied := situation.denied(paths):
        return Refuse(f"{denied} {DENIED_BY}: agent-ls never reads it")
    if ignored := situation.ignored(paths):
        return Refuse(f"{ignored} is blocked by policy: {IGNORED_BY}")
    places: dict[str, AskCause] = {}  # each path that needs approval
    used: list[str] = []
    for path in paths:
        if situation.resolved.get(path, path) == situation.places.memory:
            continue  # the system prompt names this file with the user's notes, so that the model can read it
        outside, secret = situation.outside([path]), situation.secret([path])
        if not (view := outside or secret):
            continue
        if rule_id := _read_rule(path, view, situation):
            used.append(rule_id)
        else:
            places[view] = "outside" if outside else "sensitive"
    if not places:
        rules = tuple(dict.fromkeys(used))
        return Allow("allowed by your rule" if rules else "inside the workspace", rules)
    # A rule that covers only one of several paths would not cover the request, so no rule is offered.
    view, cause = next(iter(places.items()))
    return Ask(
        f"{view} {_READ_CAUSES[cause]}",
        _read_offers(view, situation) if len(places) == 1 else (),
        needs_approval_in_every_mode=True,
        cause=cause,
    )


def _read_rule(path: str, view: str, situation: Situation) -> str:
    """Return the granted rule that covers reading `path`, "" for none.

    `view` is the form of the path (as given or as resolved) that needs approval.
    """
    exact = f"read:{view}"
    if exact in situation.grants:
        return exact
    if not any(rule_id.startswith("read:") for rule_id in situation.grants):
        return ""
    from agent_ls.policy.path_rules import covering_rule  # imported here because it is rarely needed

    asked = [it for it in situation.views([path]) if situation.places.is_secret(it)]
    is_secret = bool(asked)
    asked += [it for it in situation.views([path]) if not situation.places.is_inside(it)]
    grants, places, beside = situation.grants, situation.places, situation.beside
    return covering_rule("read", asked, grants, places, literal=is_secret, beside=beside)


def _read_offers(view: str, situation: Situation) -> tuple[Rule, ...]:
    one = Rule(f"read:{view}", f"Allow reading {view} in this session", "session")
    if situation.places.is_secret(view):
        return (one,)
    from agent_ls.policy.path_rules import read_offers  # imported here because it is rarely needed

    return (one, *read_offers(view, situation.places, is_folder=view in situation.folders))


def _judge_write(paths: Sequence[str], deletes: bool, situation: Situation) -> Judgement:
    """Decide whether files may be changed; `deletes`: a file is deleted."""
    own = situation.own_state(paths)
    denied = situation.denied([path for path in paths if not situation.own_state([path])])
    if denied:
        return Refuse(f"{denied} {DENIED_BY}: agent-ls never writes there")
    if ignored := situation.ignored(paths):
        return Refuse(f"{ignored} is blocked by policy: {IGNORED_BY}")
    if why := situation.held_back:
        return Refuse(f"{why}: nothing is changed. Describe the change instead.")
    if situation.places.memory in situation.views(paths):
        why = "contains your notes for all projects, which every later session reads at its start"
        return Ask(f"{situation.places.memory} {why}", needs_approval_in_every_mode=True, cause="sensitive")
    if own:
        return Ask(
            f"{own} is the state folder of agent-ls with keys, rules and sessions",
            needs_approval_in_every_mode=True,
            cause="sensitive",
        )
    allowed = _write_rules(paths, situation)
    uncovered = [path for path in paths if path not in allowed]
    if outside := situation.outside(uncovered):
        return Ask(f"{outside} is outside the workspace", needs_approval_in_every_mode=True, cause="outside")
    if sensitive := situation.sensitive([*uncovered, *(situation.leads if uncovered else ())]):
        why = f"{sensitive} configures tools that run by themselves"
        return Ask(why, needs_approval_in_every_mode=True, cause="sensitive")
    if situation.doubt:
        return Ask(situation.doubt, needs_approval_in_every_mode=True, cause="unclear")
    if situation.review == "before":
        return Allow("each change needs your approval as a hunk before it is made")
    if deletes:
        return Ask("the edit deletes a file", needs_approval_in_every_mode=True, cause="danger")
    if situation.mode in ("edits", "full"):
        return Allow("edits are reviewed as hunks")
    if EDITS_RULE in situation.grants:
        return Allow("edits are reviewed as hunks", (EDITS_RULE,))
    if paths and not uncovered:
        return Allow("allowed by your rule", tuple(dict.fromkeys(allowed.values())))
    from agent_ls.policy.path_rules import write_offers  # imported here because only offers need it

    every = Rule(EDITS_RULE, "Allow edits in the workspace for this session; review them as hunks", "session")
    offers = write_offers([situation.resolved.get(path, path) for path in paths], situation.places)
    return Ask(f"Mode {situation.mode.capitalize()}: edits need your approval.", (every, *offers))


def _write_rules(paths: Sequence[str], situation: Situation) -> dict[str, str]:
    """Return the granted rules that cover changes of `paths`, by path. Paths without a rule are left out."""
    if not any(rule_id.startswith("write:") for rule_id in situation.grants):
        return {}
    from agent_ls.policy.path_rules import covering_rule  # imported here because it is rarely needed

    found = {}
    for path in paths:
        literal = bool(situation.sensitive([path]))
        views = [*situation.views([path])]
        grants, places, beside = situation.grants, situation.places, situation.beside
        if rule_id := covering_rule("write", views, grants, places, literal=literal, beside=beside):
            found[path] = rule_id
    return found
