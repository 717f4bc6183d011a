"""Explain how the policy judges a command in a folder, with the same functions as a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import anyio

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.commands import analyse_command
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, Situation
from agent_ls.services.permissions.paths import DEFAULT_PATHS, places_of, read_effect_facts
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.settings.model import PathSettings
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.store.rules import RuleStore


def explain_command(
    line: str, folder: str, modes: Sequence[str], paths: PathSettings = DEFAULT_PATHS
) -> Iterator[str]:
    """Yield sentences about a command, with the user's stored rules applied. Runs nothing. Blocks."""
    places = places_of(folder, settings=paths)
    effect = CommandEffect(line, folder)
    found = analyse_command(effect, places.home)
    seen = read_effect_facts(effect, places)
    for argv in found.commands:
        yield f"would run: {' '.join(argv)}"
    if found.is_read_only:
        yield "it is read-only"
    grants = frozenset(rule.id for rule in RuleStore(state_folder()).rules(folder))
    can_confine = anyio.run(ReadOnlySandbox(state_folder()).find) is not None
    for mode in modes:
        situation = Situation(
            cast("Mode", mode),
            places,
            grants,
            seen.resolved,
            seen.leads,
            seen.doubt,
            config=seen.config,
            folders_exist=seen.folders_exist,
            confinement="available" if can_confine else "unavailable",
        )
        yield from _explain_judgement(mode, judge(effect, situation))


def _explain_judgement(mode: str, judgement: Judgement) -> Iterator[str]:
    match judgement:
        case Allow(reason, is_confined=is_confined):
            yield f"{mode}: allowed: {reason}{' The command runs confined.' if is_confined else ''}"
        case Refuse(reason):
            yield f"{mode}: refused: {reason}"
        case Ask(reason, rules):
            yield f"{mode}: needs approval: {reason}"
            for rule in rules:
                yield f"    you could store the rule: {rule.label}"
                yield from (f"        would allow: {text}" for text in rule.allows)
                yield from (f"        would still need approval: {text}" for text in rule.still_asked)
