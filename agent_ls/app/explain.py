"""What policy says of a command in a folder, in words: the same judgement that a session comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from agent_ls.app.bounds import look, places_of
from agent_ls.app.state_folder import state_folder
from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.commands import understood
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, Situation
from agent_ls.store.rules import RuleStore


def explained(line: str, folder: str, modes: Sequence[str]) -> Iterator[str]:
    """Sentences, the stored rules of the user applied. Nothing is run. Blocks."""
    places = places_of(folder)
    effect = CommandEffect(line, folder)
    found = understood(effect, places.home)
    seen = look(effect, places)
    for argv in found.commands:
        yield f"would run: {' '.join(argv)}"
    if found.is_read_only:
        yield "it only looks"
    grants = frozenset(rule.id for rule in RuleStore(state_folder()).rules(folder))
    for mode in modes:
        situation = Situation(cast("Mode", mode), places, grants, seen.resolved, seen.leads, seen.doubt)
        yield from _said(mode, judge(effect, situation))


def _said(mode: str, judgement: Judgement) -> Iterator[str]:
    match judgement:
        case Allow(reason):
            yield f"{mode}: allowed: {reason}"
        case Refuse(reason):
            yield f"{mode}: refused: {reason}"
        case Ask(reason, rules):
            yield f"{mode}: asked: {reason}"
            for rule in rules:
                yield f"    may be stored: {rule.label}"
                yield from (f"        would allow: {text}" for text in rule.allows)
                yield from (f"        would still ask: {text}" for text in rule.still_asked)
