"""May this effect happen? Pure: an effect, a mode and what was granted in; allow, ask or refuse out (X8).

The table of PROTOCOL, "Review and permission are two settings", read from the top:

    reads inside the roots                          allow, all modes
    plan                                            refuse every other effect
    edits of ordinary files inside the roots        allow in `edits` and `full`, and where they are reviewed before
                                                    they are made; else `ask` asks once a session
    commands                                        allow in `full` when nothing of them is never-silent
    everything else                                 ask

A path is judged as given *and* as resolved (symlinks followed): the stricter answer holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import path as ospath
from typing import Literal, TypeAlias, assert_never

from agent_ls.environments.effects import (
    CommandEffect,
    Effect,
    NoEffect,
    ProcessEffect,
    ReadEffect,
    WriteEffect,
)
from agent_ls.policy.places import Places
from agent_ls.policy.rules import never_silent

Mode: TypeAlias = Literal["plan", "ask", "edits", "full"]
ReviewSetting: TypeAlias = Literal["after", "before"]
Scope: TypeAlias = Literal["turn", "session"]

EDITS_RULE = "edits"
"""Grants edits of ordinary files inside the roots."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A permission that an approval may store: `id` is what is granted, `label` what the user reads."""

    id: str
    label: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Allow:
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    reason: str
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuse:
    reason: str


Judgement: TypeAlias = Allow | Ask | Refuse


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known besides the effect.

    `roots` and `home` as in Places. `resolved` maps each path of the effect to its real path. `grants` are ids of
    rules that the user stored and that still hold. `review` before: edits are shown hunk by hunk before they are made.
    """

    mode: Mode
    roots: Sequence[str]
    home: str
    grants: frozenset[str] = frozenset()
    resolved: Mapping[str, str] = field(default_factory=dict)
    review: ReviewSetting = "after"

    @property
    def places(self) -> Places:
        return Places(self.roots, self.home)

    def views(self, paths: Sequence[str]) -> Iterator[str]:
        """Each path as resolved, and as given with `..` folded: the real one is what is shown and granted."""
        for path in paths:
            given = ospath.normpath(path)
            real = self.resolved.get(path, given)
            yield real
            if given != real:
                yield given


def judge(effect: Effect, situation: Situation) -> Judgement:
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
            return _judge_command(effect, situation)
        case _:
            assert_never(effect)


def _judge_read(paths: Sequence[str], situation: Situation) -> Judgement:
    if denied := _denied(paths, situation):
        return Refuse(f"{denied} holds credentials; agent-ls never reads it")
    outside = [view for path in paths if (view := _outside([path], situation))]
    if not outside:
        return Allow("inside the workspace")
    rules = [Rule(f"read:{view}", f"Allow reading {view} in this session", "session") for view in outside]
    asked = [rule for rule in rules if rule.id not in situation.grants]
    if not asked:
        return Allow("allowed by the user in this session")
    # A rule is what the user reads: with several places none of them would say it all.
    return Ask(f"{outside[0]} is outside the workspace", tuple(asked) if len(asked) == 1 else ())


def _judge_write(paths: Sequence[str], deletes: bool, situation: Situation) -> Judgement:
    if denied := _denied(paths, situation):
        return Refuse(f"{denied} holds credentials; agent-ls never writes there")
    if situation.mode == "plan":
        return Refuse("plan mode: nothing is changed. Describe the change instead.")
    if outside := _outside(paths, situation):
        return Ask(f"{outside} is outside the workspace")
    if sensitive := _sensitive(paths, situation):
        return Ask(f"{sensitive} configures tools that run by themselves")
    if situation.review == "before":
        return Allow("each change is asked about as a hunk before it is made")
    if deletes:
        return Ask("it deletes a file")
    if situation.mode in ("edits", "full") or EDITS_RULE in situation.grants:
        return Allow("edits are reviewed as hunks")
    return Ask(
        "edits are asked about until you allow them for the session",
        (Rule(EDITS_RULE, "Allow edits in the workspace for this session; review them as hunks", "session"),),
    )


def _judge_command(effect: CommandEffect, situation: Situation) -> Judgement:
    if situation.mode == "plan":
        return Refuse("plan mode: no command is run")
    if outside := _outside([effect.working_dir], situation):
        return Ask(f"it runs in {outside}, outside the workspace")
    rule_id = f"command:{effect.digest}"
    # The digest holds command, folder and environment: the rule is exactly what the user saw, nothing wider.
    rules = (
        Rule(rule_id, "Allow exactly this command for this session", "session"),
        Rule(rule_id, "Allow exactly this command for this turn", "turn"),
    )
    if rule_id in situation.grants:
        return Allow("this exact command was allowed by the user")
    if why := never_silent(effect.command):
        return Ask(why)
    if situation.mode == "full":
        return Allow("mode full")
    return Ask("in this mode commands are asked about", rules)


def _outside(paths: Sequence[str], situation: Situation) -> str:
    """The first view that lies in no root, "" when all lie inside."""
    places = situation.places
    return next((view for view in situation.views(paths) if not places.is_inside(view)), "")


def _denied(paths: Sequence[str], situation: Situation) -> str:
    places = situation.places
    return next((view for view in situation.views(paths) if places.is_denied(view)), "")


def _sensitive(paths: Sequence[str], situation: Situation) -> str:
    places = situation.places
    return next((view for view in situation.views(paths) if places.is_sensitive(view)), "")
