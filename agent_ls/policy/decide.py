"""May this effect happen? Pure: an effect, a mode and what was granted in; allow, ask or refuse out (X8).

The table of PROTOCOL, "Review and permission are two settings", read from the top:

    reads inside the roots                          allow, all modes
    plan, or a workspace that is not trusted        refuse every other effect
    edits of ordinary files inside the roots        allow in `edits` and `full`, and where they are reviewed before
                                                    they are made; else `ask` asks once a session
    commands                                        policy/commands.py
    pages of the web                                policy/fetches.py
    calls of tools that were added to ours          policy/calls.py
    everything else                                 ask

Before all of it: what a tool of category `read` is about to do, and is more than a look, is asked about in every mode.

A path is judged as given *and* as resolved (symlinks followed): the stricter answer holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from agent_ls.environments.effects import (
    CallEffect,
    CommandEffect,
    Effect,
    FetchEffect,
    NoEffect,
    ProcessEffect,
    ReadEffect,
    TrustEffect,
    WriteEffect,
)
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.policy.rules import EDITS_RULE, Rule
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation


def judge(effect: Effect, situation: Situation) -> Judgement:
    judgement = _judged(effect, situation)
    if (
        situation.category == "read"
        and isinstance(judgement, Allow)
        and _does_more_than_look(effect, situation)
    ):
        return Ask("the tool says of itself that it only looks, and this does more", is_never_silent=True)
    return judgement


def _does_more_than_look(effect: Effect, situation: Situation) -> bool:
    if isinstance(effect, CommandEffect):
        from agent_ls.policy.commands import understood

        return not understood(effect, situation.places.home).is_read_only
    return isinstance(effect, WriteEffect)


def _judged(effect: Effect, situation: Situation) -> Judgement:
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
            from agent_ls.policy.commands import judge_command  # its grammar is loaded with the first command

            return judge_command(effect, situation)
        case TrustEffect(folder):
            return Ask(f"{folder} is not trusted yet", is_never_silent=True)
        case FetchEffect():
            from agent_ls.policy.fetches import judge_fetch  # seldom wanted

            return judge_fetch(effect, situation)
        case CallEffect():
            from agent_ls.policy.calls import judge_call  # seldom wanted

            return judge_call(effect, situation)
        case _:
            assert_never(effect)


def _judge_read(paths: Sequence[str], situation: Situation) -> Judgement:
    if denied := situation.denied(paths):
        return Refuse(f"{denied} holds credentials; agent-ls never reads it")
    if ignored := situation.ignored(paths):
        return Refuse(f"{ignored} is blocked by policy: {IGNORE_FILE} names it")
    outside = [(view, "is outside the workspace") for path in paths if (view := situation.outside([path]))]
    secret = [(view, "holds secrets, by its name") for path in paths if (view := situation.secret([path]))]
    if not outside and not secret:
        return Allow("inside the workspace")
    places = dict([*secret, *outside])
    rules = [Rule(f"read:{view}", f"Allow reading {view} in this session", "session") for view in places]
    asked = [rule for rule in rules if rule.id not in situation.grants]
    if not asked:
        return Allow("allowed by the user in this session", tuple(rule.id for rule in rules))
    # A rule is what the user reads: with several places none of them would say it all.
    view, why = next(iter(places.items()))
    return Ask(f"{view} {why}", tuple(asked) if len(asked) == 1 else (), is_never_silent=True)


def _judge_write(paths: Sequence[str], deletes: bool, situation: Situation) -> Judgement:
    if denied := situation.denied(paths):
        return Refuse(f"{denied} holds credentials; agent-ls never writes there")
    if ignored := situation.ignored(paths):
        return Refuse(f"{ignored} is blocked by policy: {IGNORE_FILE} names it")
    if why := situation.held_back:
        return Refuse(f"{why}: nothing is changed. Describe the change instead.")
    if outside := situation.outside(paths):
        return Ask(f"{outside} is outside the workspace", is_never_silent=True)
    if sensitive := situation.sensitive(paths):
        return Ask(f"{sensitive} configures tools that run by themselves", is_never_silent=True)
    if situation.doubt:
        return Ask(situation.doubt, is_never_silent=True)
    if situation.review == "before":
        return Allow("each change is asked about as a hunk before it is made")
    if deletes:
        return Ask("it deletes a file", is_never_silent=True)
    if situation.mode in ("edits", "full"):
        return Allow("edits are reviewed as hunks")
    if EDITS_RULE in situation.grants:
        return Allow("edits are reviewed as hunks", (EDITS_RULE,))
    return Ask(
        "edits are asked about until you allow them for the session",
        (Rule(EDITS_RULE, "Allow edits in the workspace for this session; review them as hunks", "session"),),
    )
